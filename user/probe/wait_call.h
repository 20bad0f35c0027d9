/*
 * Calls that wait for a device or for other processes, some of them by spinning: the time in them is no work, although
 * it may be CPU time. Which functions of a mapped file these are, and where to probe them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

#define WAIT_MAX_SITES 64

struct wait_site {
	uint64_t
		offset; /* in the file, where the stack pointer is still that of the function's entry */
	uint64_t cookie; /* what a call costs, in those of cheap instructions */
};

/* Of one file. */
struct wait_plan {
	struct wait_site sites[WAIT_MAX_SITES];
	size_t count;
};

/* Whether the file at @path may have such functions, by its name. */
bool wait_likely(const char *path);

/* Lists those that @file, mapped as @path, exports. False if one of them cannot be probed. */
bool wait_plan_file(const struct elf_file *file, const char *path, struct wait_plan *ret);
