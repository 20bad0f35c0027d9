/* Where the callers of a function go on: places for an end probe that touches no stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_code.h"
#include "elf_file.h"
#include "err.h"

/* One call of a function, and the place behind it. */
struct elf_return {
	struct elf_call call;
	uint64_t vaddr; /* the first instruction after the call that the kernel emulates, … */
	bool emulated; /* … or, where the straight line has none, the very first, single-stepped */
};

/*
 * The places after all calls of the function at @vaddr: whenever it returns, one of them is the
 * next to be passed, and nothing else has been called in between. Proven of the file: its code
 * refers to the function by these calls only, and its data not at all: nobody has a pointer to it.
 *
 * Returns how many, at most @max, in the order of the code; -ENOTSUP if it is referred to
 * otherwise, called from code that is not understood, or by nobody; -ENOMEM. @err is set then.
 */
int elf_returns_find(const struct elf_file *file, uint64_t vaddr, struct elf_return *ret,
	size_t max, struct err *err);
