/* Where a function ends its work: places for an end probe that touches no stack. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"

/*
 * The instructions of the function at @vaddr, emulated by the kernel, that come first on each way
 * once it has added to memory (a counter, say) for the last time: from each of them to every way
 * out it only stores words to memory that is not its stack (see elf_insn.adds), or calls others.
 * Proven of them: a way out that passes none of them calls nothing and adds to nothing at all. A way
 * may pass more than one: the first is the end.
 *
 * Returns how many, at most @max, in the order of the code; -ENOENT if no function begins there;
 * -ENOTSUP if its code is not fully understood, or some way out has no such place; -ENOMEM. @err is set.
 */
int elf_ends_find(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, size_t max,
	struct err *err);
