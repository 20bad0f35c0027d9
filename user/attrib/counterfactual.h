/*
 * What steps would have taken without pauses. In: a track with its overlaps. Out: a base for each
 * step, and how far to trust it. Not for other rooms.
 */
#pragma once

#include "attrib_priv.h"

/* Boundaries between stretches of a workload that differ in speed: indices, the first 0. */
struct regimes {
	VEC(size_t) starts;
};

/* 0 or -ENOMEM. The caller frees ret->starts. */
int regimes_find(const uint64_t *values, size_t count, struct regimes *ret);

/* The steps that the others are held against. */
struct reference {
	size_t count;
	uint32_t *step;		/* index of each, ascending */
	uint64_t *value_ns;	/* what it took without its pauses */
	uint64_t *deviation_ns; /* from its own base */
	struct regimes regimes; /* of value_ns */
};

#define STEPS_NEEDED 8 /* fewer are not conclusive */
#define OUTLIER_SIGMAS                                                                             \
	5.0 /* a step that deviates from its base by more than this many times the noise does so for a reason */

/* Some steps of a track, ascending. */
struct population {
	const struct step_track *track;
	struct track_cost *cost;
	uint32_t *steps;
	size_t count;
};

static inline struct step_cost *population_cost(const struct population *population, size_t i)
{
	return &population->cost->steps.items[population->steps[i]];
}

static inline uint64_t population_duration(const struct population *population, size_t i)
{
	return step_duration(&population->track->steps.items[population->steps[i]]);
}

/* After-effects: the fraction of a pause's length by which it may cost more than that length. */
#define RECOVERY 0.25

/* Whether a paused step is slower than its base, its pauses and noise together can explain. */
static inline bool step_is_slow(const struct step_cost *cost, const struct step *step,
	uint64_t limit_ns)
{
	return cost->overlap_ns &&
	       (double)step_duration(step) - (double)cost->base_ns >
		       (1 + RECOVERY) * (double)cost->overlap_ns + (double)limit_ns;
}

/* 0 or -ENOMEM; the caller releases *ret in any case, which begins zeroed. */
int reference_choose(const struct population *population, struct reference *ret,
	enum cost_base *ret_base);
void reference_release(struct reference *reference);
/* Sets the base of each step to the median of the reference steps around it. */
void reference_bases(const struct population *population, struct reference *reference);
/* By step of the track: how far from its base noise alone may put it. */
void reference_limits(const struct population *population, const struct reference *reference,
	uint64_t *limit_ns);

/*
 * Sets @cost's estimate. @limit_ns, by step: one farther from its base than this differs for
 * another reason than chance. @overestimate_ns: as much lower than estimated the cost may be, beside what
 * chance does. 0 or -ENOMEM.
 */
int estimate_cost(const struct step_track *track, const struct reference *reference,
	const uint64_t *limit_ns, double overestimate_ns, struct track_cost *cost);
