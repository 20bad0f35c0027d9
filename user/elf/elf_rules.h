/*
 * How to get from a function to its caller, as .eh_frame says for each instruction. In: the bytes of an ELF image,
 * hostile or not. Out: rules in terms of registers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/* DWARF's numbers (System V ABI for x86-64, "DWARF register number mapping"). */
enum { ELF_RBX = 3, ELF_RBP = 6, ELF_RSP = 7, ELF_R12 = 12, ELF_REGISTERS = 16 };

struct elf_rule {
	uint8_t frame_register; /* the canonical frame address is this one and … */
	int32_t frame_offset;	/* … so much; the return address lies 8 below it */
	uint16_t
		saved; /* bit by register: its value for the caller lies at the frame address and … */
	int32_t at[ELF_REGISTERS];
};

struct elf_rules;

/* As elf_lines_open(): an object's .eh_frame has been relocated. 0 or -errno: -ENODATA where there is none. */
int elf_rules_open(const void *bytes, size_t size, struct elf_rules **ret);
int elf_rules_of_file(const struct elf_file *file, struct elf_rules **ret);
void elf_rules_free(struct elf_rules *rules);

/*
 * The rule before the instruction at @vaddr. 0; -ENOENT: there is none, or no caller; -ENOTSUP: it is more than an
 * offset from a register.
 */
int elf_rules_find(struct elf_rules *rules, uint64_t vaddr, struct elf_rule *ret);
