/* Files with code that a process has mapped, each opened once. In: a pid. Out: what lies at an address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"
#include "elf_lines.h"
#include "elf_rules.h"
#include "proc.h"
#include "vec.h"

struct code_file {
	uint64_t device, inode;
	struct elf_file *elf;	 /* NULL: it cannot be read */
	struct elf_lines *lines; /* code_file_lines() */
	struct elf_rules *rules; /* code_file_rules() */
	bool asked_lines, asked_rules;
	bool searched; /* for the user's: julia_find.c */
};

struct code_files {
	pid_t pid;
	struct proc_maps maps;
	uint64_t read_ns; /* when they were read; 0: never */
	VEC(struct code_file) files;
};

void code_files_release(struct code_files *files);

/* Reads the maps, unless that was a moment ago. */
void code_files_refresh(struct code_files *files);

/* The mapping of code that holds @address, as of the last reading; NULL: none does, or it is the JIT's. */
const struct proc_map *code_files_map(const struct code_files *files, uint64_t address);

/* What is mapped there; NULL: memory is out. Valid until the next call. */
struct code_file *code_files_open(struct code_files *files, const struct proc_map *map);

/* The debug information of a file that can be read; NULL: it has none. */
struct elf_lines *code_file_lines(struct code_file *file);

/* Its rules for unwinding; NULL: likewise. */
struct elf_rules *code_file_rules(struct code_file *file);
