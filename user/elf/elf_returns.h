/* Where the callers of a function continue: places for an end probe that leaves the stack alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_code.h"
#include "elf_file.h"
#include "err.h"

/* One call of a function, and the place after it. */
struct elf_return {
	struct elf_call call;
	uint64_t vaddr; /* the first instruction after the call that the kernel emulates, … */
	bool emulated; /* … or, where the straight line has none, the very first, single-stepped */
};

/*
 * Finds the places after all calls of the function at @vaddr: whenever it returns, one of them is
 * the next to be passed, and nothing else has been called in between. It is proven that the file's
 * code refers to the function by these calls only, and its data not at all, so nobody has a pointer
 * to it.
 *
 * Returns how many, at most @max, in code order; -ENOTSUP if it is referred to in another way,
 * called from code that is not understood, or never called; -ENOMEM. @err is set then.
 */
int elf_returns_find(const struct elf_file *file, uint64_t vaddr, struct elf_return *ret,
	size_t max, struct err *err);

/*
 * The place after one direct call, in a function that ends at @end, of which nothing else is asked. 0, or -ENOENT: no
 * instruction is there.
 */
int elf_returns_behind(const struct elf_file *file, const struct elf_call *call, uint64_t end,
	struct elf_return *ret);
