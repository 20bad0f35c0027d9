/* The pauses in progress, as BPF shows them in shared memory. */
#pragma once

#include "gc_wire.h"
#include "trace.h"

/* Lists those that have been running for @least_ns. Returns how many, at most @max. */
size_t slots_open(const struct gc_shared *shared, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max);
