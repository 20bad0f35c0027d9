/* Bounded reads of another process's memory, and the clock every record uses. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <sys/types.h>

#include "clock.h"

/*
 * Copies @len bytes at @address of process @pid. 0, or -errno: -EFAULT when not all of it could be
 * read, -ESRCH when the process is gone, -EPERM when it may not be read.
 */
int mem_read(pid_t pid, uint64_t address, void *ret, size_t len);

/* In ns; see now_ns(). */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
