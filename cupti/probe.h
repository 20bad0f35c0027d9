/* The only way out of the traced process: records for whoever has attached to the USDT probe, of which none may be. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_wire.h"

/* Whether a tracer is attached: the kernel counts them in the probe's semaphore. */
bool probe_attached(void);

/* Whether a tracer wants ranges of NVTX, and hands one's name to it, at once. */
bool probe_ranges_wanted(void);
void probe_range(const char *name, size_t length);

/* Hands @count records over, in order, GC_GPU_RECORDS at a time; by the thread that calls, which a tracer delays. */
void probe_hand_over(const struct gc_gpu_record *records, uint32_t count);
