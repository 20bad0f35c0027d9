/* Machine code read, never run: function bounds, call targets, and where a probe is cheap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/* The function that .eh_frame says holds @vaddr (survives strip). 0 or -ENOENT. */
int elf_code_bounds(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_start,
	uint64_t *ret_end);

/*
 * Of a function that calls another by the instruction at @vaddr: the distance in bytes from the stack
 * pointer, where that other is entered, to the first one's own return address. 0; -ENOENT when
 * .eh_frame does not give it in terms of the stack pointer, or it is in a register.
 */
int elf_code_frame(const struct elf_file *file, uint64_t vaddr, uint64_t *ret);

/*
 * Return addresses of the direct calls of the function at @vaddr; at most @max. Returns how many.
 */
size_t elf_code_callers(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, size_t max);

/*
 * Whether the file's data contains {"@name", @vaddr}, or will once relocated, as a table of methods
 * does.
 */
bool elf_code_is_method(const struct elf_file *file, uint64_t vaddr, const char *name);

/* What the straight-line code before a call says about one of its arguments. */
struct elf_argument {
	enum elf_value {
		ELF_VALUE_UNKNOWN,
		ELF_VALUE_CONSTANT, /* a number, or the address of something in the file */
		ELF_VALUE_STACK,    /* the address of a local variable */
	} kind;
	uint64_t value; /* of a constant */
};

/* One direct call of a function. */
struct elf_call {
	uint64_t vaddr, target;
	bool jump;			  /* a tail call: a jump that leaves the function */
	struct elf_argument arguments[6]; /* rdi, rsi, rdx, rcx, r8, r9; x0 to x5 */
};

/*
 * Lists at most @max direct calls in [start, end), in address order; returns how many or
 * -errno (-EFAULT: the range is not in the file; -E2BIG: more than a mebibyte; decoding stops at a
 * byte that is not an instruction).
 */
int elf_code_calls(const struct elf_file *file, uint64_t start, uint64_t end, struct elf_call *ret,
	size_t max);

/* How the kernel steps over the probed instruction; it decides what a hit costs (docs/overhead). */
enum elf_step {
	ELF_STEP_EMULATED, /* nop, push, call, jmp, jcc; b, bl, cbz, tbz, adr, ret: half a microsecond */
	ELF_STEP_SINGLE, /* everything else: single-stepped out of line, about ten */
};

/*
 * The best place for an entry probe of the function at @vaddr: the first instruction, or a later
 * one of the same straight line that the kernel emulates, as long as no skipped instruction moves
 * the stack pointer, writes an argument register, or writes or saves the link register, and nothing
 * jumps to it: a return probe can be put there, too. Usually vaddr, or vaddr+4 after endbr64; of
 * AArch64's functions that save x30 at once, vaddr, single-stepped. 0 or -EFAULT.
 */
int elf_code_probe_site(const struct elf_file *file, uint64_t vaddr, uint64_t *ret,
	enum elf_step *ret_step);

/*
 * The same of the function that @file exports as @name, as an offset in the file. 0; -ENOENT: there is none; -EFAULT: it
 * cannot be probed.
 */
int elf_code_function_site(const struct elf_file *file, const char *name, uint64_t *ret,
	enum elf_step *ret_step);

/* Whether the kernel emulates the instruction at @vaddr where it is probed. */
bool elf_code_is_emulated(const struct elf_file *file, uint64_t vaddr);

/* Whether a call leaves its return address in a register, and not on the stack. */
bool elf_code_links(const struct elf_file *file);

/* "push", "endbr64", …: the mnemonic at @vaddr, for doctor. Returns @buffer, "?" if undecodable. */
const char *elf_code_mnemonic(const struct elf_file *file, uint64_t vaddr, char *buffer,
	size_t size);
