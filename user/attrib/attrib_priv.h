/*
 * What the files of this room tell each other while an attribution is built. Not for other rooms.
 */
#pragma once

#include "attrib.h"

/* The time in which one pause keeps a track from going on. */
struct interval {
	uint64_t start_ns, end_ns;
	uint32_t charge, track; /* indices */
};

/* What is needed until all is charged. A zeroed one is empty. */
struct charging {
	VEC(struct interval) intervals; /* by track, then by time, once charge_overlap() has run */
	uint32_t *triggers;		/* by node: attrib_triggers() */
	struct trigger_cost *sums;	/* by frame; 0: no stack */
};

/* Reads all pauses. What @next returned, or -ENOMEM with a sentence. */
int charge_read(struct attribution *attribution, struct charging *charging, attrib_next_fn next,
	void *source, struct err *err);
/* Splits them at the steps' boundaries: overlaps. */
void charge_overlap(struct attribution *attribution, struct charging *charging);
/* Gives each its part of its steps' costs. */
void charge_cost(struct attribution *attribution, struct charging *charging);

/* Bases, costs and the estimate of a track whose overlaps are known. 0 or -ENOMEM. */
int counterfactual_track(const struct step_track *track, struct track_cost *cost);

/* The slow steps of a track whose costs are known. 0 or -ENOMEM. */
int pattern_find(const struct attribution *attribution, size_t track, struct slow_pattern *ret);

static inline uint64_t step_duration(const struct step *step)
{
	return step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;
}
