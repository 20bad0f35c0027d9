/* Instructions out of an ELF file, one after the other, and what gctrace asks of each; on any machine that it knows. */
#pragma once

#include <capstone/capstone.h>

#include "elf_file.h"

struct elf_machine;

/* Argument register @n of a call, the stack pointer, and the register with the return address, as a set of bits. */
#define DECODE_ARGUMENT(n) (1u << (n))
#define DECODE_ARGUMENTS   0xffu
#define DECODE_SP	   (1u << 8)
#define DECODE_LINK	   (1u << 9)

struct decode {
	const struct elf_machine *machine;
	uint64_t at; /* of the current instruction */
	uint8_t size;
	const uint8_t *bytes; /* of it */
	csh handle;	      /* where Capstone decodes: elf_x86_64.c */
	cs_insn *insn;
	uint32_t word; /* where we do: elf_aarch64.c */
	const uint8_t *next;
	size_t left;
	uint64_t vaddr; /* of next */
};

/* Starts at @vaddr; @len is cut to what the file holds. 0, -EFAULT (nothing there) or -ENOMEM. */
int decode_init(struct decode *decode, const struct elf_file *file, uint64_t vaddr, uint64_t len);
void decode_release(struct decode *decode);

/* Decodes the next instruction; false at the end and at an invalid one. */
bool decode_next(struct decode *decode);

/* Which of those registers the current instruction writes, explicitly or not, or saves: the link register. */
unsigned int decode_writes(const struct decode *decode);

/* True for a call, direct or not, and for what enters the kernel and comes back. */
bool decode_calls(const struct decode *decode);

/* True for a jump, conditional or not, direct or not, which is no call. */
bool decode_jumps(const struct decode *decode);

bool decode_returns(const struct decode *decode);

/* True for a direct branch, of the current instruction, with where it goes. */
bool decode_jump_target(const struct decode *decode, uint64_t *ret);
bool decode_call_target(const struct decode *decode, uint64_t *ret);

/* True if execution does not continue with the next instruction (jmp, ret, hlt, ud2; b, br, brk). */
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
