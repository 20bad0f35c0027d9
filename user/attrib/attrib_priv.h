/* Shared by the files of this room while an attribution is built. Not for other rooms. */
#pragma once

#include "attrib.h"
#include "u64map.h"

/* The time in which one pause keeps a track from going on. */
struct interval {
	uint64_t start_ns, end_ns;
	uint32_t charge, track; /* indices */
};

/* A pause that a call for a collection may have caused. */
struct explicit_pause {
	uint64_t start_ns, end_ns;
	uint32_t process, tid, charge; /* the last: index, or ATTRIB_NONE */
	bool named;		       /* its cause names such a call */
	int64_t heap_before, heap_after;
};

/* A pause of a process that has stalls. */
struct stopped {
	uint64_t start_ns, end_ns;
	uint32_t process;
};

/* Working state until everything is charged. All zero is empty. */
struct charging {
	VEC(struct interval) intervals; /* by track, then by time, once charge_overlap() has run */
	uint32_t *triggers;		/* by node: attrib_triggers() */
	struct trigger_cost *sums;	/* by frame; 0: no stack */
	VEC(struct explicit_pause) explicit; /* as they came */
	struct u64map callers;		     /* for a collection: process << 32 | tid */
	struct u64map stalled;		     /* processes that have stalls */
	VEC(struct stopped) stopped;	     /* their pauses, as they came */
	VEC(struct gpu_pause) gpu_pauses;    /* as they came; none without a timeline of GPUs */
	VEC(const struct pause_class *)
	gpu_full; /* likewise: of full collections; NULL: it was none */
};

/* Reads all pauses. What @next returned, or -ENOMEM with a sentence. */
int charge_read(struct attribution *attribution, struct charging *charging, attrib_next_fn next,
	void *source, struct err *err);
/* Splits them at the steps' boundaries: overlaps. */
void charge_overlap(struct attribution *attribution, struct charging *charging);
/* Gives each its part of its steps' costs. */
void charge_cost(struct attribution *attribution, struct charging *charging);

/* What a track lost whose overlaps are known, and its part in each step. 0 or -ENOMEM. */
int lost_find(const struct step_track *track, struct track_cost *cost);

/* The slow steps of a track whose costs are known. 0 or -ENOMEM. */
int pattern_find(const struct attribution *attribution, size_t track, struct slow_pattern *ret);

/* Lays the stalls of the threads that make steps on these. @charging's intervals are sorted. 0 or
 * -ENOMEM. */
int stalls_lay(struct attribution *attribution, const struct charging *charging);
/* Lays the pauses of siblings on their steps. @charging's intervals are sorted. 0 or -ENOMEM. */
int siblings_lay(struct attribution *attribution, const struct charging *charging);
/* Fills attribution->explicit_calls once pauses are charged. 0 or -ENOMEM. */
int explicit_sum(struct attribution *attribution, struct charging *charging);
