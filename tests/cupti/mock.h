/*
 * A CUDA driver and a CUPTI to test with. The driver (mock_cuda.c, libcuda.so.1) decides at once when a device will do what
 * it is told, first come first served on each stream, keeps a book of it, and has calls wait in real time. Whoever
 * listens (mock_cupti.c, libcupti.so.12 and .13) hears of each activity and of each call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum mock_kind {
	MOCK_KERNEL = 1,
	MOCK_COPY,
	MOCK_PEER_COPY,
	MOCK_SET,
	MOCK_GRAPH,
	MOCK_WAIT,
	MOCK_ALLOCATE,
	MOCK_FREE
};

/*
 * A line of the book: an activity; or a call that waited (then end_ns is its work's); or one that allocated or freed (then
 * stream is its result, start_ns the bytes).
 */
struct mock_entry {
	uint32_t kind, device, stream, correlation, tid,
		waited;		   /* waited: the call, for the work */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t call_ns, returned_ns;
};

struct mock_listener {
	void (*activity)(const struct mock_entry *entry, uint64_t bytes);
	/* @runtime: of the runtime's call ids, not of the driver's. */
	void (*call)(bool runtime, uint32_t id, const struct mock_entry *entry);
	void (*memory)(uint32_t device, bool allocated, uint64_t address, uint64_t bytes,
		uint64_t time_ns);
};

/* Exported by the driver. */
void mock_listen(const struct mock_listener *listener);
uint32_t mock_devices(void);
