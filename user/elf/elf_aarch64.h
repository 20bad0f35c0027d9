/*
 * A64 instructions, each a word of 32 bits, by their encodings: Arm ARM (DDI 0487), C4.1. Not by Capstone, whose version 4
 * knows neither the atomic instructions of Armv8.1 nor the authenticated branches of 8.3, and would end a function at the first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	A64_FRAME = 29,
	A64_LINK = 30,
	A64_SP = 31,
	A64_ZERO = 31
}; /* which 31 is, the instruction decides */

/* One that reads or writes memory. */
struct a64_access {
	bool store, load;
	bool vector;	 /* what it moves is no general register */
	bool exclusive;	 /* ldxr, stxr, … */
	bool exchange;	 /* cas, swp: replaces a value as a whole */
	bool writeback;	 /* changes its base register */
	uint8_t base;	 /* 31: the stack pointer */
	uint32_t values; /* set of general registers that it moves, without 31 */
	uint32_t status; /* set of those that it writes beside them */
};

enum a64_branch {
	A64_NONE,
	A64_JUMP,      /* b, br */
	A64_JUMP_IF,   /* b.cond, cbz, tbz */
	A64_CALL,      /* bl, blr */
	A64_RETURN,    /* ret, eret */
	A64_EXCEPTION, /* svc, hvc, smc: goes on behind it */
	A64_TRAP,      /* brk, hlt: does not */
};

/* False for what is no instruction. */
bool a64_is_valid(uint32_t word);

/* What kind of branch it is; *ret_target, at @vaddr, where it is direct, else UINT64_MAX. */
enum a64_branch a64_branch(uint32_t word, uint64_t vaddr, uint64_t *ret_target);

bool a64_access(uint32_t word, struct a64_access *ret);

/* Which general registers it writes, a bit each; bit 31: the stack pointer. What is not understood writes all. */
uint32_t a64_writes(uint32_t word);

/* adr, adrp: what they compute at @vaddr. */
bool a64_address(uint32_t word, uint64_t vaddr, uint64_t *ret);

/* add, sub of a number: with a sign. The registers 31 are the stack pointer. */
bool a64_add(uint32_t word, int64_t *ret);
