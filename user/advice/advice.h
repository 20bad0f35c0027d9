/*
 * What would have helped, computed on this very recording. In: attribution and the collector's
 * state at each pause. Out: a list of changes, each with what it saves, what it lets grow, and the
 * line to add.
 */
#pragma once

#include <stdint.h>

#include "attrib.h"

enum advice_kind {	/* names in JSON: "freeze", "threshold", …: advice_name(); append only */
	ADVICE_NOTHING, /* GC costs too little to touch */
	ADVICE_FREEZE,	/* gc.freeze() after warm-up */
	ADVICE_THRESHOLD, /* gc.set_threshold(higher) */
	ADVICE_MANUAL,	  /* gc.disable() and gc.collect() every N steps */
	ADVICE_REMOVE,	  /* the workload's own gc.collect() frees next to nothing: drop it */
	ADVICE_CYCLES,	  /* the line that makes the reference cycles: break them */
	ADVICE_DISABLE,	  /* gc.disable(): nothing was ever collected */
	/* Of the JVM: */
	ADVICE_YOUNG,		/* a larger young generation */
	ADVICE_EXPLICIT_WINDOW, /* DL4J's periodic System.gc(): a longer period */
	ADVICE_EXPLICIT_OFF,	/* System.gc() frees next to nothing, or only blocks: ignore it */
	ADVICE_EXPLICIT_CONCURRENT, /* G1: let System.gc() start a concurrent cycle */
	ADVICE_WORKSPACES,	    /* DL4J: arrays in workspaces, so that JavaCPP need not call the
				       collector */
	ADVICE_MEMORY_LIMIT, /* JavaCPP calls the collector at its limit of memory: raise it */
	ADVICE_TTSP,	     /* counted loops keep the others waiting: safepoints within them */
	ADVICE_METASPACE,    /* collections for want of class metadata: a higher first threshold */
	ADVICE_HEAP,	     /* full collections, or allocation stalls: a larger heap */
	ADVICE_KINDS
};

struct advice {
	enum advice_kind kind;
	uint32_t process;
	/*
	 * Of the pause time charged to the recorded steps, and, of a JVM, of the time that the
	 * thread which makes them waited for the collector beside; of a process without steps, of
	 * all its pauses.
	 */
	uint64_t saves_ns, saves_low_ns, saves_high_ns;
	double saves_share;	       /* of training time; without steps, of traced time */
	uint64_t step_max_after_ns;    /* the longest pause left in a step; 0: none, or not known */
	int64_t grows_objects;	       /* garbage that would be alive at most; UNKNOWN */
	int64_t grows_bytes;	       /* the same in bytes where the recording tells; UNKNOWN */
	double grows_objects_per_step; /* where nothing bounds it, as with collection disabled; else
					  0 */
	uint64_t every;		       /* ADVICE_MANUAL: N */
	uint32_t trigger;	       /* frame of the stack table to which it refers; 0: none */
	char title[96];		       /* "Call gc.freeze() once, after warm-up" */
	char line[160];		       /* the exact code to add */
	char estimate[400], risk[320]; /* a sentence each, with the figures it rests on */
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
const char *advice_name(enum advice_kind kind);
