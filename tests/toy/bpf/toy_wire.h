/* The wire between the toy's programs and tests/toy/capture/: see bpf/gc_wire.h. */
#pragma once

#include "gc_wire.h"

/* gc_header.type: 32 to 63 */
#define GC_EVENT_TOY_PAUSE 32

struct gc_toy_pause {
	struct gc_header header; /* time_ns: the end */
	__u64 start_ns;
	__u64 pauses; /* by the toy's own counter, this one included */
	__u32 image, pad;
};

_Static_assert(sizeof(struct gc_toy_pause) == 48, "wire ABI");
