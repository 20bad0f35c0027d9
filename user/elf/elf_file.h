/*
 * One view of an ELF file that may be hostile: what is in it, by name, and where its functions
 * begin and end. In: a descriptor. Out: virtual addresses and file offsets, all inside the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct elf_file;

/*
 * Opens @fd (taken over on success and failure alike), called @name in every message. Fails with
 * -ENOEXEC for what is not a 64-bit little-endian executable or shared object of the machine on which
 * gctrace runs, x86-64 or AArch64, and names what it is instead ("a 32-bit program", "built for
 * AArch64", "not an ELF file").
 */
int elf_file_open(int fd, const char *name, struct elf_file **ret, struct err *err);

/* The same for @size bytes that the caller keeps until the file is freed; of either machine. */
int elf_file_open_memory(const void *bytes, size_t size, const char *name, struct elf_file **ret,
	struct err *err);
void elf_file_free(struct elf_file *file);
const char *elf_file_name(const struct elf_file *file);

/* Its e_machine. */
unsigned int elf_file_machine(const struct elf_file *file);

/* Bytes of NT_GNU_BUILD_ID, at most @size; 0 when there is none. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t *ret, size_t size);

/* False: it has no section headers, so its symbols and notes cannot be found, though it can run. */
bool elf_file_has_sections(const struct elf_file *file);

/* Virtual address → offset in the file, through PT_LOAD. 0 or -ENOENT when no segment holds it. */
int elf_file_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret);

/* The reverse, for an offset inside an executable PT_LOAD. 0 or -ENOENT. */
int elf_file_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret);

/* Where in the file its first executable PT_LOAD begins. 0 or -ENOENT. */
int elf_file_code(const struct elf_file *file, uint64_t *ret);

/* The dynamic linker that it asks for (PT_INTERP); NULL: none. Valid while the file is open. */
const char *elf_file_interpreter(const struct elf_file *file);

/* Copies @len bytes that the file holds for virtual address @vaddr. 0 or -EFAULT. */
int elf_file_read(const struct elf_file *file, uint64_t vaddr, void *ret, size_t len);

struct elf_symbol {
	const char *name; /* valid while the file that holds it is open */
	size_t length;	  /* of the name */
	uint64_t vaddr, size;
	bool function, dynamic; /* dynamic: found in .dynsym */
};

/*
 * Calls @visit for every defined symbol of .dynsym and, if @all, also of .symtab; stops when it
 * returns non-zero and returns that; 0 at the end. A table that leaves the file is skipped.
 */
typedef int (*elf_visit_fn)(const struct elf_symbol *symbol, void *arg);
int elf_file_symbols(const struct elf_file *file, bool all, elf_visit_fn visit, void *arg);

/* The same for the functions of one table: of .dynsym, or else of .symtab. */
int elf_file_functions(const struct elf_file *file, bool dynamic, elf_visit_fn visit, void *arg);

/* One symbol by exact name. 0 or -ENOENT. */
int elf_file_symbol(const struct elf_file *file, const char *name, bool all,
	struct elf_symbol *ret);

/* The function whose bytes hold @vaddr, by .symtab or else .dynsym. 0 or -ENOENT. */
int elf_file_function_at(const struct elf_file *file, uint64_t vaddr, struct elf_symbol *ret);

/* True if the file keeps a .symtab with entries. */
bool elf_file_has_symtab(const struct elf_file *file);

/*
 * Opens the separate debug file: by build id under @root/usr/lib/debug/.build-id, else by
 * .gnu_debuglink next to @path and under @root/usr/lib/debug (its CRC is checked). @root is "" or a
 * prefix such as "/proc/123/root", which links cannot leave. Its symbols' addresses are those of
 * @file. 0 or -ENOENT.
 */
int elf_file_open_debug(const struct elf_file *file, const char *root, const char *path,
	struct elf_file **ret, struct err *err);
