/*
 * What the safepoints of JVMs add up to, by operation, kind, cause, late thread, and the heap that
 * collections left. In: pauses with PAUSE_HAS_FACTS. Out: figures.
 */
#pragma once

#include "pause.h"
#include "safepoint_words.h"
#include "summary_sum.h"
#include "summary_kind.h"
#include "u64map.h"
#include "vec.h"

struct safepoint_operation {
	uint32_t name; /* string id; 0: not known */
	struct sums class;
	/* Their times to safepoint, and the durations of those of which that is known. */
	uint64_t reach_ns, reach_of_ns;
};

struct safepoint_cause {
	uint32_t name;
	struct summary_sum sum;
};

struct safepoint_class {
	struct summary_sum sum;
	int64_t young, full; /* collections within; UNKNOWN while none was counted */
	int64_t freed;	     /* bytes, of those with both ends known; UNKNOWN: of none */
};

struct safepoint_late {
	uint32_t runtime, tid;
	struct summary_sum sum; /* of the times to safepoint that it made long */
	uint32_t stack;		/* at the longest with a stack */
	uint64_t stack_ns;
};

/* Heap used after the collections of one kind in one runtime. */
struct safepoint_heap {
	uint32_t runtime, kind;
	uint64_t first, last;
	struct sums bytes; /* "ns" are bytes here */
};

struct safepoints {
	uint64_t count, total_ns, max_ns;
	uint64_t collecting, collecting_ns; /* of them, those that collected */
	uint64_t unsure;		    /* of which it is not known whether they did */
	uint64_t inexact;
	struct summary_facts facts;
	struct safepoint_class kinds[SAFEPOINT_KINDS];
	VEC(struct safepoint_operation) operations;
	VEC(struct safepoint_cause) causes;
	VEC(struct safepoint_late) late;
	VEC(struct safepoint_heap) heaps;
	struct u64map operation_index, cause_index, late_index, heap_index;
};

void safepoints_release(struct safepoints *safepoints);
int safepoints_add(struct safepoints *safepoints, const struct pause *pause); /* 0 or -ENOMEM */
/* Tables as they are shown: dearest first. What the indexes say is void then. */
void safepoints_sort(struct safepoints *safepoints);
