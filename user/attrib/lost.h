/*
 * What a track lost by its pauses. In: its steps with their overlaps, and where known the work in them. Out: the
 * estimate, how it is known, and a cost for each step. Not for other rooms. Definitions: docs/steps.md.
 */
#pragma once

#include "attrib_priv.h"

#define STEPS_NEEDED 8 /* fewer are not conclusive */

/* The steps of a track, ns. */
struct timeline {
	size_t count;
	double *duration, *overlap;
	double *work; /* of the thread without its pauses; NULL: not known */
	double *wait; /* what is left: duration − overlap − work; NULL as well */
	bool *blank;  /* the work of this step is not known; NULL as well */
};

/* Boundaries between stretches of a workload that differ in speed: indices, the first 0. */
struct regimes {
	VEC(size_t) starts;
};

/* 0 or -ENOMEM. The caller frees ret->starts. */
int regimes_find(const uint64_t *values, size_t count, struct regimes *ret);

/*
 * What a step is held for: it follows a pause by less than the reach, so that what the pause did may still show; it
 * does not, and others are held against it; or neither: at the start, between two regimes, an odd one out.
 */
enum role { ROLE_NEAR, ROLE_FAR, ROLE_LEFT_OUT };

/* Steps near pauses beside the steps around them that are far from any. */
struct comparison {
	size_t count;
	bool *paused;	/* by more than the pauses that are too short to matter */
	uint32_t *lag;	/* steps since the last such; UINT32_MAX: none came before */
	uint32_t reach; /* 0: there are too few far steps, and nothing below is set */
	enum role *role;
	uint32_t *far; /* the far steps, ascending */
	size_t far_count;
	size_t *from, *to;		     /* by step: those around it, indices into far */
	struct regimes regimes;		     /* steps at which they begin */
	size_t period;			     /* of the work, in steps; 1: it has none */
	size_t pauses;			     /* paused steps that are near */
	double paused_ns, left_ns, small_ns; /* overlap of these; left out; too short to matter */
	bool by_work; /* they come after so much work, and so in long steps */
	bool locked; /* to the work, for all that can be seen: other work may slow the same steps */
};

/* 0 or -ENOMEM; the caller releases *ret in any case, which begins zeroed. */
int comparison_make(const struct timeline *timeline, struct comparison *ret);
void comparison_release(struct comparison *comparison);
/* Fills from, to and far after a change of roles. */
void comparison_place(struct comparison *comparison);
bool comparison_locked(const struct comparison *comparison, uint32_t *scratch);
/* The mean of @values over the far steps around step @i. @sums: comparison_sums(). */
double comparison_mean(const struct comparison *comparison, const double *sums, size_t i);
/* Running sums of @values over the far steps: far_count + 1 of them. NULL when memory is out. */
double *comparison_sums(const struct comparison *comparison, const double *values);

/* What of @values is neither their level around each step nor their period: as many. 0 or -ENOMEM. */
int residuals_of(const struct comparison *comparison, const double *values, double *ret);
/* The period, in steps, of residuals against the level alone. 0 when memory is out. */
size_t residuals_period(const struct comparison *comparison, const double *residuals);

/* Steps near a pause, by lag: [from, to). */
struct lags {
	uint32_t from, to;
};

double lags_sum(const struct comparison *comparison, const double *residuals, struct lags lags);
/* The variance of that sum by chance: what the same number of far steps vary. NAN when memory is out. */
double lags_variance(const struct comparison *comparison, const double *residuals,
	struct lags lags);
/* The variance of sums over @length consecutive far steps, per step. */
double long_variance(const struct comparison *comparison, const double *residuals, uint32_t length);

/* An estimate while it is made: of the overlap of the paused steps that are near. */
struct finding {
	double ns, low, high;
	bool all;	    /* whatever stops the thread costs its length, short pauses as well */
	double hidden;	    /* the share of the overlap that surely made no paused step longer */
	const char *untold; /* NULL: told */
	bool waits; /* most far steps are such that the thread has waited again since the last pause */
	bool unbounded; /* if untold: the interval says nothing either */
};

/* The share that pauses too short to matter cost, where @share is that of long ones: what hides a part of these hides those. */
double share_of_short(double share);

/*
 * After a long pause short ones come later than elsewhere, where both collect the same objects: steps near it have fewer of
 * them than far ones. Takes out of @values, which and @more together are what the long ones cost, what the short ones do: of
 * durations what is lost to them, or, if @waits, of waits what they save. 0 or -ENOMEM.
 */
int leave_out_short(const struct timeline *timeline, const struct comparison *comparison,
	bool waits, double more, double *values);

/* 0 or -ENOMEM. */
int estimate_lost(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *ret);
int measure_lost(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *ret);
/* Where pauses are in so many steps that none is far from them: from how waiting goes with their lengths. */
void measure_dense(const struct timeline *timeline, struct finding *ret);

/* Where the reach ends before what the pauses did, as much again may follow. 0 or -ENOMEM. */
int widen_by_tail(const struct comparison *comparison, const double *residuals,
	struct finding *finding);
/*
 * Allows for what pauses did and was not over when the next one came. @wait: of each step. 0 or -ENOMEM.
 */
int carry_over(const struct timeline *timeline, const struct comparison *comparison,
	const double *wait, struct finding *finding);
/* The same where only durations are known: what steps are longer than those that follow pauses they wait. 0 or -ENOMEM. */
int carry_over_durations(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *finding);

/*
 * What can be told of a finding about locked pauses, if it is known what their steps were @longer by, pauses included.
 * 0 or -ENOMEM.
 */
int judge_locked(const struct timeline *timeline, const struct comparison *comparison,
	const double *longer, struct finding *finding);
/* Whether a step lasts until a clock ticks: pauses then cost whole ticks, more or less than they took. 0 or -ENOMEM. */
int keeps_to_ticks(const struct timeline *timeline, const struct comparison *comparison, bool *ret);

/* A straight line's slope, and its standard deviation: INFINITY, where it cannot be known. */
struct slope {
	double value, deviation;
};

struct slope slope_of(const double *x, const double *y, size_t count);

/* Clauses that more than one of them needs. */
extern const char untold_dense[], untold_locked[];

/* Standard deviations each side of a 95 % interval: more than 1.96, as the deviation itself is estimated. */
double z95(const struct comparison *comparison);
#define LEAST_ERROR 0.01 /* of the overlap: no estimate is taken to be better */
#define NEVER	    0.03 /* of the overlap: a thread that waited no more than this never waits */
#define SHORT_LAGS                                                                                 \
	1 /* where nothing shows after the paused step itself, it alone is the better estimate of the same */
