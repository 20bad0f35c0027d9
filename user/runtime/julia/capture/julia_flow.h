/* The rest of a function from one of its instructions on: machine code → where it ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"

/* A place that is passed as a function ends, emulated by the kernel. */
struct julia_end {
	uint64_t vaddr;
	uint32_t when; /* GC_JULIA_ALWAYS, or IF, UNLESS a condition: julia_wire.h */
};

/*
 * The places at which the function that holds @vaddr ends once the instruction there is passed: on each way out from it
 * exactly one of them is passed as it says, and no call comes after it. A place is mostly a jump, of which one way leads
 * to further calls and the other out.
 *
 * Returns how many, at most @max; -ENOTSUP if the code is not understood, or some way out calls and then passes no
 * place; -ENOMEM. @err is set then.
 */
int julia_flow_ends(const struct elf_file *file, uint64_t vaddr, struct julia_end *ret, size_t max,
	struct err *err);

/*
 * The direct call, one that the kernel emulates, after which no other direct one comes on any way from @vaddr. 0; -ENOENT
 * if it is not one alone; -ENOTSUP or -ENOMEM as above.
 */
int julia_flow_last_call(const struct elf_file *file, uint64_t vaddr, uint64_t *ret);

/*
 * The instruction that the kernel emulates which is the first to come, on the straight line, after the call at @vaddr.
 * 0 or -ENOTSUP.
 */
int julia_flow_behind(const struct elf_file *file, uint64_t vaddr, uint64_t *ret);
