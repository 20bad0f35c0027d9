/* Where a version of Julia keeps what in gc_num. In: its version, bytes of gc_num. Out: what they say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "julia_wire.h"

struct julia_version {
	int major, minor, patch;
};

/* Offsets in gc_num (base/timing.jl: struct GC_Num; src/gc.h, src/gc-interface.h: jl_gc_num_t); 0: it has none. */
struct julia_layout {
	int first, last; /* minor versions of Julia 1 */
	uint8_t fields[GC_JULIA_FIELDS];
	uint8_t max_ttsp;
};

/* NULL: a version before the first that is known. A later one than the last has the last's. */
const struct julia_layout *julia_layout(const struct julia_version *version);

/* What gc_num says; ns since the program began, but for ttsp; UNKNOWN (-1): this version does not say. */
struct julia_books {
	int64_t total_ns, allocated_bytes, ttsp_ns, sweep_ns, mark_ns;
	uint64_t pauses, full_sweeps;
};

/* @fields: as a record has them. */
void julia_books_read(const struct julia_layout *layout, const __u64 fields[GC_JULIA_FIELDS],
	struct julia_books *ret);
/* @bytes: of gc_num itself. */
void julia_books_of(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	struct julia_books *ret);

/* Whether @bytes can be the gc_num of a program that was started less than @age_ns ago, by @layout. */
bool julia_books_fit(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	uint64_t age_ns);
