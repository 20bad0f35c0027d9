/*
 * What would have helped, computed on this very recording. In: attribution and the collector's
 * state at each pause. Out: a list of changes, each with what it saves, what it lets grow, and the
 * line to add.
 */
#pragma once

#include <stdint.h>

#include "attrib.h"

/* A change that a runtime's adviser may advise. */
struct advice_kind {
	const char *name; /* in JSON: "freeze", "threshold", …; for good */
	double worth;	  /* what it saves counts for so much beside what it risks: 0 … 1 */
	bool broad; /* a switch of the whole runtime: after what acts on the same trigger alone */
};

extern const struct advice_kind
	advice_nothing; /* GC costs too little to touch, or nothing would help */

struct advice {
	const struct advice_kind *kind;
	uint32_t process;
	/*
	 * Of the pause time charged to the recorded steps, and of the time that the thread which
	 * makes them waited for the collector beside; of a process without steps, of all its
	 * pauses.
	 */
	uint64_t saves_ns, saves_low_ns, saves_high_ns;
	uint64_t
		worse_ns; /* by so much pauses may take longer, at worst; 0 unless saves_low_ns is */
	double saves_share;	    /* of training time; without steps, of traced time */
	uint64_t step_max_after_ns; /* the longest pause left in a step; 0: none, or not known */
	/* The steps' 99th percentile as many times as long as before, and at most; 0: not known. */
	double tail, tail_most;
	int64_t grows_objects;	       /* garbage that would be alive at most; UNKNOWN */
	int64_t grows_bytes;	       /* the same in bytes where the recording has them; UNKNOWN */
	double grows_objects_per_step; /* where nothing bounds it, as with collection disabled; else
					  0 */
	uint64_t every;		       /* of one that collects every N steps: N; else 0 */
	uint32_t trigger;	       /* frame of the stack table to which it refers; 0: none */
	char title[96];		       /* "Call gc.freeze() once, after warm-up" */
	char line[200];		       /* the exact code to add */
	char estimate[560], risk[640]; /* a sentence each, with the figures it rests on */
};

struct advices {
	VEC(struct advice) items; /* what saves most for the least risk first */
};

/*
 * For each process that has steps; where none has, for the one that paused longest. The model and
 * its limits: docs/steps.md. @next from the first pause on, as for attrib_build(). 0 or -errno with
 * a sentence. The caller releases *ret.
 */
int advice_compute(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct advices *ret, struct err *err);
void advices_release(struct advices *advices);
const char *advice_name(const struct advice_kind *kind);
