/*
 * CUDA's driver library: its functions that launch work, wait for a device, or allocate and free its memory, and where
 * to probe them. To these come down the calls of CUDA's runtime, and so those of PyTorch, JAX and CuPy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define DRIVER_MAX_SITES 32

struct driver_site {
	uint64_t
		offset; /* in the file, where the stack pointer is still that of the function's entry */
	uint32_t kind;		/* GC_DRIVER_…; 0: it launches */
	uint8_t address, bytes; /* which arguments; see GC_DRIVER_COOKIE() */
	bool single_stepped;	/* by the kernel, which makes a hit ten times as dear */
	const char *name;	/* static */
};

struct driver_plan {
	struct driver_site sites[DRIVER_MAX_SITES];
	size_t count;
};

/*
 * Fills *ret for the file open as @fd, which is taken over and called @name. 0, or -errno with a sentence: -ENOENT if it
 * launches nothing.
 */
int driver_plan(int fd, const char *name, struct driver_plan *ret, struct err *err);
