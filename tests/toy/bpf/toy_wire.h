/* The wire between the toy's programs and tests/toy/capture/: see bpf/gc_wire.h. */
#pragma once

#include "gc_wire.h"

/* gc_header.type. Far from those of the runtimes that gctrace ships with. */
#define GC_EVENT_TOY	  0x10000
#define GC_EVENT_TOY_LAST 0x1001f

/* The toy's books, as they lie in its memory: toy.c. */
struct gc_toy_heap {
	__u64 minor, major;   /* collections, the one that ends included */
	__u64 mark_ns, swept; /* of that one; swept: bytes */
	__u64 collecting;
	char callers[2][24];
};

struct gc_toy_pause {
	struct gc_header header; /* time_ns: the end */
	__u64 start_ns;
	struct gc_toy_heap heap;
	__u32 image, major;
};

_Static_assert(sizeof(struct gc_toy_heap) == 88, "as in toy.c");
_Static_assert(sizeof(struct gc_toy_pause) == 128, "wire ABI");
