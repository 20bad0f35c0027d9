/*
 * What a change does to the slowest steps. In: the steps, their collections, and those that would come instead.
 * Out: their 99th percentile, as it was and as it would be. Not for other rooms.
 */
#pragma once

#include "gc_facts.h"

struct gc_tail {
	uint64_t before_ns, after_ns; /* of the steps after warm-up; 0: not known */
	uint64_t most_ns;	      /* after, if there are twice as many slow ones */
};

/* Whether steps are known well enough to say anything of them. */
bool gc_tail_known(const struct gc_facts *facts);

/*
 * The collections after warm-up of generation @least and above (1, 2) being replaced by @by_step, ns for each step of the
 * subject: gc_tail_known(). 0 or -ENOMEM.
 */
int gc_tail_of(const struct gc_facts *facts, int least, const double *by_step, struct gc_tail *ret);

/* Into what @advice says and is ordered by, at worst @most_ns if that is more; nothing where it is not known. */
void gc_tail_say(const struct gc_tail *tail, uint64_t most_ns, struct advice *advice);

/* 0: not known */
static inline double gc_tail_ratio(const struct gc_tail *tail)
{
	return tail->before_ns ? (double)tail->after_ns / (double)tail->before_ns : 0;
}

/* Whether it is worse than chance makes it, or may be. */
static inline bool gc_tail_worse(const struct gc_tail *tail)
{
	return tail->after_ns > tail->before_ns + tail->before_ns / 4;
}

static inline bool gc_tail_may_be_worse(const struct gc_tail *tail)
{
	return tail->most_ns > tail->before_ns + tail->before_ns / 4;
}

/* To the end of its risk, where slow steps get slower or may. */
static inline void gc_tail_say_risk(const struct gc_tail *tail, struct advice *advice)
{
	if (gc_tail_may_be_worse(tail))
		APPEND_TO(advice->risk, "; the slowest steps %s slower",
			gc_tail_worse(tail) ? "get" : "may get");
}
