/*
 * What a change does to the slowest steps. In: the steps, their full collections, and those that would come instead.
 * Out: their 99th percentile, as it was and as it would be. Not for other rooms.
 */
#pragma once

#include "gc_facts.h"

struct gc_tail {
	uint64_t before_ns, after_ns; /* of the steps after warm-up; 0: not known */
};

/* Whether steps are known well enough to say anything of them. */
bool gc_tail_known(const struct gc_facts *facts);

/*
 * The full collections after warm-up being replaced by @by_step, ns for each step of the subject: gc_tail_known().
 * 0 or -ENOMEM.
 */
int gc_tail_of(const struct gc_facts *facts, const double *by_step, struct gc_tail *ret);

/* 0: not known */
static inline double gc_tail_ratio(const struct gc_tail *tail)
{
	return tail->before_ns ? (double)tail->after_ns / (double)tail->before_ns : 0;
}

/* Whether it is worse than chance makes it. */
static inline bool gc_tail_worse(const struct gc_tail *tail)
{
	return tail->after_ns > tail->before_ns + tail->before_ns / 4;
}
