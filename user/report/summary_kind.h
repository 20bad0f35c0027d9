/*
 * What the pauses of one runtime's kind add up to: by its classes, its facts, and where it has such facts by operation,
 * cause, thread that was late and the heap that collections left. In: pauses, the runtime's entry in meaning/. Out: figures.
 */
#pragma once

#include "meaning.h"
#include "pause.h"
#include "summary_sum.h"
#include "u64map.h"
#include "vec.h"

/* Facts in ns, by their places; the others stay zero. */
struct summary_facts {
	const struct runtime_meaning *meaning; /* NULL: no pause yet */
	struct summary_sum sums[PAUSE_FACTS];  /* over the pauses for which they are known */
	uint64_t unsplit_ns;		       /* of pause time, in no known part */
};

struct summary_operation {
	uint32_t name; /* string id; 0: not known */
	struct sums class;
	/* Their times to safepoint, and the durations of those of which that is known. */
	uint64_t reach_ns, reach_of_ns;
};

struct summary_cause {
	uint32_t name; /* string id */
	struct summary_sum sum;
};

/* A thread that was the last to stop. */
struct summary_late {
	uint32_t runtime, tid;
	struct summary_sum sum; /* of the times to safepoint that it made long */
	uint32_t stack;		/* at the longest with a stack */
	uint64_t stack_ns;
};

/* Heap in use after the collections of one class in one runtime. */
struct summary_heap {
	uint32_t runtime;
	const struct pause_class *class;
	uint64_t first, last;
	struct sums bytes; /* "ns" are bytes here */
};

/* What the pauses of a class were, beside their lengths. */
struct summary_counts {
	int64_t facts
		[PAUSE_FACTS]; /* those that are counts, by their places; UNKNOWN while none is known */
	int64_t freed;	       /* bytes, of those with both ends known; UNKNOWN: of none */
};

/* Where a runtime has the facts that are added up below; -1: it has none such. */
struct summary_places {
	int operation, cause, ttsp, heap_before, heap_after, late, late_stack;
};

struct summary_kind {
	const struct runtime_meaning *meaning;
	struct summary_places places;
	struct summary_sum sum;
	uint64_t collecting, collecting_ns; /* of them, those that collected */
	uint64_t unsure;		    /* of which it is not known whether they did */
	uint64_t inexact;
	/* By struct pause_class.order; single durations are kept by operation where there are operations. */
	struct sums classes[CLASSES_MOST];
	struct summary_counts counts[CLASSES_MOST];
	struct summary_facts facts;
	VEC(struct summary_operation) operations;
	VEC(struct summary_cause) causes;
	VEC(struct summary_late) late;
	VEC(struct summary_heap) heaps;
	struct u64map operation_index, cause_index, late_index, heap_index;
};

struct summary_kinds {
	VEC(struct summary_kind) items; /* in order of the first pause */
};

/* Adds the times that are facts of @pause. Whether any is known. */
bool summary_facts_add(struct summary_facts *facts, const struct pause *pause);

/* Whether @pause is summed up by its runtime's own classes, not by generation. */
bool summary_by_class(const struct pause *pause);
int summary_kinds_add(struct summary_kinds *kinds, const struct pause *pause); /* 0 or -ENOMEM */
/* That of @meaning; a new and empty one if there is none. NULL: no memory. */
struct summary_kind *summary_kinds_get(struct summary_kinds *kinds,
	const struct runtime_meaning *meaning);
/* NULL: no pause was of that kind. */
const struct summary_kind *summary_kinds_find(const struct summary_kinds *kinds,
	const struct runtime_meaning *meaning);
void summary_kinds_release(struct summary_kinds *kinds);

/* Tables as they are shown: what took most first. What the indexes say is void then. */
void summary_kind_sort(struct summary_kind *kind);
/* The classes that keep durations, for quantiles over all pauses of the kind. */
struct sums_group summary_kind_group(const struct summary_kind *kind);
uint64_t summary_quantile_kind(const struct summary_kind *kind, double q);

/* Bytes; UNKNOWN also where the heap had grown: what was freed then cannot be told. */
int64_t summary_freed(int64_t heap_before, int64_t heap_after);
