/*
 * What differs from one processor to the next about machine code: a table for each, found by a file's e_machine. The file's
 * machine decides, not that on which gctrace runs, so that any of them can be looked into anywhere.
 */
#pragma once

#include "elf_code.h"
#include "elf_decode.h"
#include "elf_file.h"

#define MACHINE_REGISTERS 32

/* What registers hold at one point of a straight line, by the machine's own numbers for them: the first six pass arguments. */
struct machine_line {
	struct elf_argument registers[MACHINE_REGISTERS];
	bool framed; /* the frame pointer was pointed into the stack: true to the end of the function */
};

/* What an instruction does to memory outside its function's own stack. */
enum machine_write {
	MACHINE_LEAVES,	  /* nothing */
	MACHINE_ADDS,	  /* it may add to what is there; replacing a whole word is none of this */
	MACHINE_BY_FRAME, /* the same, unless the frame pointer points into the stack */
};

/* What it does to the frame pointer. */
enum machine_frame {
	MACHINE_KEEPS,	/* nothing, or it gives the caller's back */
	MACHINE_FRAMES, /* points it into the stack */
	MACHINE_USES,	/* puts something else into it */
};

/* How it refers to an address. */
enum machine_reference {
	MACHINE_UNRELATED,
	MACHINE_REFERS,
	MACHINE_PAGE, /* to its page: one that adds the rest may follow, or has come */
	MACHINE_REST, /* it adds the address's place in its page to something */
};

struct machine_register {
	const char *wide,
		*narrow; /* as probes call it whole, and its lower half; NULL: that is called the same */
	uint16_t offset; /* in what the kernel hands to BPF: struct pt_regs, or its public part */
};

struct elf_machine {
	uint16_t number;  /* e_machine */
	const char *name; /* "x86-64" */
	uint8_t insn_most, call_bytes;
	uint8_t insn_bytes; /* each instruction's size and alignment; 0: they differ */
	uint8_t dwarf_sp;   /* DWARF's number of the stack pointer */
	uint8_t dwarf_link; /* and of the register that a call leaves the return address in; 0: on the stack */
	const struct machine_register
		*registers; /* that USDT probes name; up to one without a name */

	/* See elf_decode.h, for functions of the same names. */
	int (*open)(struct decode *decode);
	void (*close)(struct decode *decode);
	bool (*next)(struct decode *decode);
	unsigned int (*writes)(const struct decode *decode);
	bool (*calls)(const struct decode *decode);
	bool (*jumps)(const struct decode *decode);
	bool (*returns)(const struct decode *decode);
	bool (*ends_block)(const struct decode *decode);
	bool (*is_emulated)(const struct decode *decode);
	bool (*jump_target)(const struct decode *decode, uint64_t *ret);
	bool (*call_target)(const struct decode *decode, uint64_t *ret);
	const char *(*mnemonic)(const struct decode *decode, char *buffer, size_t size);

	/* Carries @line over the current instruction, which is no call. */
	void (*step)(struct machine_line *line, const struct decode *decode);
	enum machine_write (*write)(const struct decode *decode);
	/*
	 * Whether it stores just what the instruction before it, which is the one before it in the file too, has loaded: that
	 * adds nothing. NULL: machine_write says all.
	 */
	bool (*copies)(const struct decode *decode);
	enum machine_frame (*frame)(const struct decode *decode);
	enum machine_reference (*refers)(const struct decode *decode, uint64_t vaddr);
	/* Whether the function at @vaddr does nothing but exchange a word of memory. NULL: none does. */
	bool (*exchanges)(const struct elf_file *file, uint64_t vaddr);
	/* For elf_syscall_results(). NULL: a call's result overwrites one of its arguments, so no place behind it can serve. */
	bool (*is_syscall)(const struct decode *decode);
	bool (*compares_result)(const struct decode *decode);
};

extern const struct elf_machine elf_x86_64, elf_aarch64;

/* By e_machine; NULL: gctrace cannot read its code. */
const struct elf_machine *elf_machine_find(unsigned int number);

/* Of an open file: never NULL. */
const struct elf_machine *elf_machine_of(const struct elf_file *file);
