/* What is kept of a file that holds Julia's collector, in struct probe_plan.own, and what its sites are. */
#pragma once

#include "julia_layout.h"
#include "probe.h"

/* probe_site.kind, in the order in which they are attached: none is seen whose next is not. */
enum julia_site {
	SITE_OVER,     /* finalizers and callbacks are done */
	SITE_FINALIZE, /* they come, after the threads may run again */
	SITE_COLLECTED,
	SITE_MARKED,
	SITE_STOPPED, /* all threads stand still */
	SITE_CALL,
};

struct julia_plan {
	struct gc_julia_layout told;	  /* to the programs */
	const struct julia_layout *books; /* NULL: what gc_num says is not known */
};

_Static_assert(sizeof(struct julia_plan) <= PROBE_OWN_BYTES, "it has room in a plan");

static inline struct julia_plan *julia_plan(const struct probe_plan *plan)
{
	return (struct julia_plan *)plan->own;
}

/* Bytes of gc_num in @pid into @ret. 0 or -errno; -EPROTO: they are none. */
int julia_read_books(pid_t pid, uint64_t bias, const struct probe_plan *plan,
	struct julia_books *ret);
