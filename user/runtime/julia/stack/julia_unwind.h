/*
 * From where a thread was to who had called it. Code that Julia compiles need not keep a frame pointer (1.5's does only
 * where it needs a frame), so the kernel's walk along those would leave functions out. In: registers, a copy of the
 * stack. Out: addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_rules.h"
#include "julia_stack.h"

struct julia_snapshot {
	uint64_t ip,
		registers
			[ELF_REGISTERS]; /* by DWARF's numbers; those that calls preserve, and %rsp */
	const uint8_t *stack;		 /* @size bytes, from registers[ELF_RSP] on */
	size_t size;
};

/*
 * Where the thread was, then return addresses, outwards: as julia_stack() takes them. Returns how many, at most @max;
 * *ret_cut: there are more, beyond the copy or @max. Where nothing says how to go on, frame pointers are believed.
 */
size_t julia_unwind(struct julia_stacks *stacks, const struct julia_snapshot *snapshot,
	uint64_t *ret, size_t max, bool *ret_cut);
