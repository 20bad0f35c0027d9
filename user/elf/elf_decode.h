/* Capstone, for this room: x86-64 instructions out of an ELF file, one after the other. */
#pragma once

#include <capstone/capstone.h>

#include "elf_file.h"

/* The argument registers in their order, and the stack pointer, as a set of bits. */
enum decode_register {
	DECODE_RDI = 1 << 0,
	DECODE_RSI = 1 << 1,
	DECODE_RDX = 1 << 2,
	DECODE_RCX = 1 << 3,
	DECODE_R8 = 1 << 4,
	DECODE_R9 = 1 << 5,
	DECODE_RSP = 1 << 6,
};

struct decode {
	csh handle;
	cs_insn *insn; /* the current instruction */
	const uint8_t *next;
	size_t left;
	uint64_t vaddr; /* of next */
};

/* Starts at @vaddr; @len is cut to what the file holds. 0, -EFAULT (nothing there) or -ENOMEM. */
int decode_init(struct decode *decode, const struct elf_file *file, uint64_t vaddr, uint64_t len);
void decode_release(struct decode *decode);

/* Decodes the next instruction; false at the end and at an invalid one. */
bool decode_next(struct decode *decode);

/* The register itself or a part of it, 0 for any other. */
unsigned int decode_register(unsigned int reg);

/* Which of them the current instruction writes, explicitly or not. */
unsigned int decode_writes(const struct decode *decode);

/* True for a direct branch, of the current instruction, with where it goes. */
bool decode_jump_target(const struct decode *decode, uint64_t *ret);
bool decode_call_target(const struct decode *decode, uint64_t *ret);

/* True if execution does not continue with the next instruction (jmp, ret, hlt, ud2). */
bool decode_ends_block(const struct decode *decode);

/* True if the kernel emulates the current instruction where it is probed (see enum elf_step). */
bool decode_is_emulated(const struct decode *decode);

/* A set of the addresses in [start, start + len) that direct jumps of this same range go to. */
struct decode_targets {
	uint64_t start, len;
	uint8_t *bits;
};
int decode_targets_init(struct decode_targets *targets, const struct elf_file *file, uint64_t start,
	uint64_t len);
void decode_targets_release(struct decode_targets *targets);
bool decode_targets_has(const struct decode_targets *targets, uint64_t vaddr);
