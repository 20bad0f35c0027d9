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
};

struct cpython_plan {
	struct gc_layout layout;
	int minor;	    /* of a version 3.minor */
	uint32_t interp_id; /* offset of the interpreter's number in its state */
};

_Static_assert(sizeof(struct cpython_plan) <= PROBE_OWN_BYTES, "it has room in a plan");

static inline struct cpython_plan *cpython_plan(const struct probe_plan *plan)
{
	return (struct cpython_plan *)plan->own;
}
