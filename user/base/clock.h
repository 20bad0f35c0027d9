/*
 * The clock of every record: CLOCK_MONOTONIC as the kernel itself counts, which is what BPF reads. In a time
 * namespace a process sees it shifted by an offset.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "err.h"

/* In ns. */
uint64_t now_ns(void);

/*
 * What to subtract from the CLOCK_MONOTONIC of @pid to get the kernel's, in ns. 0; or -ENOTSUP with
 * a sentence: it has left the time namespace that /proc describes.
 */
int clock_offset_of(pid_t pid, int64_t *ret, struct err *err);

/* The line "monotonic SECONDS NANOSECONDS" of @text, a /proc/PID/timens_offsets, in ns. 0 or -EBADMSG. */
int clock_parse_offsets(const char *text, int64_t *ret);
