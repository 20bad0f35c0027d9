/* Where a function's work ends: places for an end probe that leaves the stack alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"

/*
 * Finds the instructions of the function at @vaddr, emulated by the kernel, that come first on each
 * path after it has added to memory (such as a counter) for the last time: on every path from there
 * to a return it only stores words to memory outside its stack (see elf_insn.adds), or calls
 * others. It is proven that a path out that passes none of them calls nothing and adds to nothing
 * at all. A path may pass more than one: the first is the end.
 *
 * Returns how many, at most @max, in code order; -ENOENT if no function begins there; -ENOTSUP if
 * its code is not fully understood, or some path out has no such place; -ENOMEM. @err is set.
 */
int elf_ends_find(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, size_t max,
	struct err *err);

/*
 * The same for calls of the function that do a certain work, by passing one of the @work_count instructions at @work: it is
 * proven that a path out that passes none of the places passes none of these. Without any it is elf_ends_find().
 */
int elf_ends_find_of(const struct elf_file *file, uint64_t vaddr, const uint64_t *work,
	size_t work_count, uint64_t *ret, size_t max, struct err *err);
