/*
 * What advice on CPython rests on. In: pauses of a process that is advised. Out: what its collector did. Not for other
 * rooms.
 */
#pragma once

#include "advising.h"

#define GC_NO_STEP UINT32_MAX

/* A collection that was full, of the middle generation, or asked for by the workload. */
struct gc_event {
	uint64_t duration_ns;
	float weight; /* the part of it that counts: in steps, or all where there are none */
	int32_t heap, pending, collected; /* objects, as in struct pause; UNKNOWN if not known */
	uint32_t trigger;		  /* frame; 0: no stack */
	uint32_t step;			  /* in which it began; GC_NO_STEP: in none */
	int8_t generation;
	bool manual;
	bool warm; /* after the first steps */
};

static inline double gc_event_overlap(const struct gc_event *event)
{
	return (double)event->weight * (double)event->duration_ns;
}

/* Sums over a kind of pauses, of those that count. */
struct gc_sum {
	uint64_t count, ns, overlap_ns, max_ns; /* the last: of the overlaps */
	uint64_t collected;
	uint64_t unknown; /* pauses whose yield is not known */
};

struct gc_facts {
	const struct advice_subject *of;
	struct gc_sum automatic[3]; /* by generation */
	struct gc_sum manual;	    /* of any generation */
	uint64_t collected;	    /* by all its collections, in steps or not; at its exit apart */
	VEC(struct gc_event) events;
	uint64_t shrunk_bytes,
		shrunk_objects; /* by how much full collections lowered RSS, and their yield */
	int32_t thresholds[3];	/* the last that were recorded, if any were */
	bool has_thresholds;
	int minor;	    /* of Python 3: 11; 0 if not known */
	bool incremental;   /* 3.14.0 – 3.14.4 collect otherwise: the model does not hold */
	bool free_threaded; /* neither does it here */
};

/* Of a generation: as recorded, else as it is unless somebody sets it. */
int32_t gc_threshold(const struct gc_facts *facts, int generation);
int32_t gc_usual_threshold(const struct gc_facts *facts, int generation);

/* Collections of generation 0, at least, from one full collection to the next. */
static inline double gc_young_to_full(const struct gc_facts *facts)
{
	return (1.0 + gc_threshold(facts, 1)) * (1.0 + gc_threshold(facts, 2));
}

/* Adds a pause to a zeroed one. 0 or -ENOMEM. */
int gc_facts_add(struct gc_facts *facts, const struct advice_pause *pause);
