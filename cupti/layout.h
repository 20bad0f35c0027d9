/*
 * Where the fields of CUPTI's records are, and which calls launch, wait or allocate: one table per major version of CUDA,
 * each compiled against its own headers (layout.c). A version that is in no table is not read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a call does; the bits of struct layout.runtime and .driver. */
#define CALL_LAUNCHES  1
#define CALL_WAITS     2
#define CALL_COPIES    4 /* launches, and may wait for what it launched */
#define CALL_ALLOCATES 8
#define CALL_FREES     32 /* of those that allocate: it frees */
#define CALL_OWN       16 /* that which the shim makes to see that it is recorded: cuDriverGetVersion */

struct call {
	uint32_t id; /* CUpti_CallbackId */
	uint32_t does;
};

/* Offsets in bytes. */
struct activity_place {
	uint16_t start, end, device, correlation, stream;
};

struct layout {
	uint32_t major;		/* of CUDA, as in libcupti.so.12 */
	uint32_t first, beyond; /* what cuptiGetVersion may return: [first, beyond) */
	struct activity_place kernel, copy, peer_copy, set, graph;
	struct {
		uint16_t call, start, end, thread, correlation, result;
	} api;
	struct {
		uint16_t operation, kind, bytes, time, device;
	} memory;
	struct {
		uint16_t id, memory, name;
	} device;
	const struct call *runtime, *driver; /* by id */
	size_t runtime_count, driver_count;
};

extern const struct layout layout_12, layout_13;

/* What the call @id does; 0: nothing of interest, or none that is known. */
uint32_t layout_call(const struct call *calls, size_t count, uint32_t id);
