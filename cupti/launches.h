/*
 * Calls that launch work: when each was entered, by which thread, and when that thread had launched something before.
 * CUPTI gives a call and what it launched the same number, its correlation.
 */
#pragma once

#include <stdint.h>

#include "list.h"

#define LAUNCH_SLOTS 65536 /* calls that are remembered; numbers grow by one a call */
#define GAP_BUCKETS  640   /* of a thread's times between two launches: 16 an octave */

struct launch {
	uint32_t correlation, tid;
	uint64_t start_ns, end_ns; /* of the call */
	uint64_t previous_ns;	   /* 0: not known */
};

/* A thread that launches. */
struct launcher {
	uint32_t tid, last; /* last: the correlation of its latest launch */
	uint64_t last_ns;
	uint64_t launches, said; /* said: how many the tracer knows of */
	uint64_t gaps;
	uint32_t buckets[GAP_BUCKETS];
};

struct launches {
	struct launch *slots; /* by the correlation's lower bits; LAUNCH_SLOTS, or NULL */
	LIST(struct launcher *) launchers;
	struct launcher *recent; /* whose launch came last */
};

/* 0 or -ENOMEM. */
int launches_init(struct launches *launches);
void launches_release(struct launches *launches);

/*
 * A call, in any order. A call that was made inside another has that one's number: they are one launch, which began when
 * the outer one did.
 */
void launches_add(struct launches *launches, uint32_t correlation, uint32_t tid, uint64_t start_ns,
	uint64_t end_ns);

/* NULL: not known (yet, or any more). */
const struct launch *launches_find(const struct launches *launches, uint32_t correlation);

/* The 99th percentile of the times between two launches of a thread, at most 1/16 too high; 0: not known. */
uint64_t launcher_gap_ns(const struct launcher *launcher);
