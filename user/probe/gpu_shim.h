/* The CUPTI shim (cupti/), mapped by a process: its USDT probe, and where that leaves its arguments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct gpu_shim_plan {
	uint64_t offset, semaphore; /* in the file */
	uint64_t cookie;	    /* GC_GPU_COOKIE */
};

/* Whether the file at @path may be the shim, or the driver that it watches, by its name. */
bool gpu_shim_likely(const char *path);
bool gpu_driver_likely(const char *path);

/* Fills *ret for the file open as @fd, which is taken over and called @name. 0 or -errno with a sentence. */
int gpu_shim_plan(int fd, const char *name, struct gpu_shim_plan *ret, struct err *err);
