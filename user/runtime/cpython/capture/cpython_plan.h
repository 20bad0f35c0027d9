/* What is kept of a file that holds CPython, in struct probe_plan.own, and what its sites are. */
#pragma once

#include "cpython_wire.h"
#include "probe.h"

/* probe_site.kind */
enum cpython_site {
	SITE_FUNCTION, /* begin at its entry, end at its return */
	SITE_BEGIN,    /* one place, the begin */
	SITE_END,
	SITE_PLACE, /* an end within the function, maybe one of several: elf_ends.h */
	SITE_WATCH, /* writes to an address */
	/* Free-threaded builds: cpython_world.h. */
	SITE_STOP,
	SITE_STOPPED,
	SITE_START,
	SITE_CLONE,	   /* as SITE_BEGIN, of a copy that the compiler made for some callers */
	SITE_CLONE_MANUAL, /* for calls by hand */
};

struct cpython_plan {
	struct gc_layout layout;
	int minor; /* of a version 3.minor */
};

_Static_assert(sizeof(struct cpython_plan) <= PROBE_OWN_BYTES, "it has room in a plan");

static inline struct cpython_plan *cpython_plan(const struct probe_plan *plan)
{
	return (struct cpython_plan *)plan->own;
}
