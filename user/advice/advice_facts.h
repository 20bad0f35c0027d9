/*
 * What advice rests on. In: the pauses of a recording once more. Out: for each process that is
 * advised, what its collector did. Not for other rooms.
 */
#pragma once

#include "advice_jvm.h"
#include "attrib.h"

/* A collection that was full, of the middle generation, or asked for by the workload. */
struct gc_event {
	uint64_t duration_ns;
	float weight; /* the part of it that counts: in steps, or all where there are none */
	int32_t heap, pending, collected; /* objects, as in struct pause; UNKNOWN if not known */
	uint32_t trigger;		  /* frame; 0: no stack */
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
	uint32_t process;
	const struct step_track *track; /* NULL: no steps */
	const struct track_cost *cost;	/* as track */
	uint64_t time_ns;		/* training time, or traced time */
	uint64_t steps;
	uint64_t overlap_ns, max_ns; /* of all its pauses that count */
	uint64_t warm_ns;	     /* moment from which on a change would have been in force */
	struct gc_sum automatic[3];  /* by generation */
	struct gc_sum manual;	     /* of any generation */
	VEC(struct gc_event) events;
	uint64_t shrunk_bytes,
		shrunk_objects; /* by how much full collections lowered RSS, and their yield */
	struct jvm_facts
		jvm; /* of a HotSpot runtime in it: in none of the above but overlap_ns, max_ns */
	int minor;   /* of Python 3: 11; 0 if not known */
	bool incremental; /* 3.14.0 – 3.14.4 collect otherwise: the model does not hold */
};

struct gc_facts_list {
	VEC(struct gc_facts) items;
};

/* 0, -ENOMEM, or what @next returned; *ret holds what came before. The caller releases it. */
int gc_facts_gather(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct gc_facts_list *ret, struct err *err);
void gc_facts_release(struct gc_facts_list *facts);

/* The first steps are not what a change after warm-up would have met. */
#define WARM_STEPS 10
