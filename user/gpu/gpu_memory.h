/*
 * Memory of devices, step by step and across pauses, and the time that allocators spent on freeing some to get more. In: a
 * settled timeline. Definitions: docs/gpu.md.
 */
#pragma once

#include "gpu_charge.h"

#define GPU_FREED_NS                                                                               \
	10000000 /* what is freed so long after a pause may be its: finalizers run then */
#define GPU_RETRY_GAP_NS                                                                           \
	100000 /* calls of an allocator that belong together are no further apart */

/* Bytes that @process has on all its devices at @time_ns. False: not known. */
bool gpu_memory_at(const struct gpu_timeline *timeline, uint32_t process, uint64_t time_ns,
	int64_t *ret_bytes);

struct gpu_memory_change {
	int64_t bytes; /* negative: freed */
	bool known;
};

/*
 * By how much memory of its process's devices changed by @pause: from its begin until it next grows after it, GPU_FREED_NS
 * after its end or at @next_ns, when another pause begins.
 */
struct gpu_memory_change gpu_memory_change(const struct gpu_timeline *timeline,
	const struct gpu_pause *pause, uint64_t next_ns);

/* The most that @device had. False: not known. */
bool gpu_memory_most(const struct gpu_device *device, int64_t *ret_bytes);

/* Spans of time by start, which may overlap. */
struct gpu_spans {
	VEC(struct gpu_span) items;
};

/*
 * The calls of retries by threads of @process: a thread freed memory and then allocated some, with nothing in between but
 * waits for a device. 0 or -ENOMEM; the caller frees ret->items in either case.
 */
int gpu_retries_find(const struct gpu_timeline *timeline, uint32_t process, struct gpu_spans *ret);
