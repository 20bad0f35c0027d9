/* What compare/ keeps of a recording, and how it judges. Not for other rooms. */
#pragma once

#include "compare.h"

enum compare_kind {
	KIND_FACT, /* not judged */
	KIND_MEAN,
	KIND_TAIL,  /* a quantile */
	KIND_WORST, /* the greatest */
	KIND_SHARE, /* judged in percentage points */
};

enum compare_use { USE_ALWAYS, USE_WITH_STEPS, USE_WITHOUT_STEPS };

/* One figure of one run. */
struct compare_figure {
	char name[32], of[112], unit[8];
	enum compare_kind kind;
	enum compare_use
		use;  /* whether it needs that all recordings have steps, or that not all do */
	double value; /* NAN: not known */
	/*
	 * How much lower and higher it may be by the chance of what came into this run, one standard error: of its
	 * logarithm, of a share relative to it. 0: not known.
	 */
	double down, up;
	/*
	 * Of it, what the thread itself worked or was stopped for: the rest it waited, or was not scheduled. NAN: not known.
	 */
	double own;
	bool absent_is_0; /* a run without it has none of what it counts */
};

struct lengths {
	double *items;
	size_t count, capacity;
};

struct compare_run {
	VEC(struct compare_figure) figures;
	struct lengths worst;	  /* the longest step of each block, longest first */
	struct lengths worst_own; /* the same by .own of the steps; none where that is not known */
	const char *lacks;	  /* why it has no steps to compare; NULL: it has */
	bool several;		  /* processes that train */
	size_t warm_up;
	const struct runtime_meaning
		*asks; /* the runtime whose calls for a collection were seen; NULL: none */
};

/* NULL when memory is out. */
struct compare_figure *compare_add(struct compare_run *run, const char *name, const char *unit,
	double value);

/* Collections of each class, calls for them and their callers, other waits. 0 or -ENOMEM. */
int compare_counts(const struct attribution *attribution, struct compare_run *run);

/* Judges @item, whose .each is set, of the kind @kind: interval, .judged, .breach, .detectable. */
struct compare_side {
	const struct compare_figure *const *figures; /* of each run */
	const struct compare_run *const *runs;
	size_t count;
};

void compare_judge(const struct compare_side sides[2], const struct compare_rule *rule,
	struct comparison *item);

/* The value that Student's t with @df degrees of freedom exceeds with chance @p < 0.5. @df 0: the normal distribution's. */
double compare_t(double p, double df);

/* Fills in .answer, .verdict, .calls and .chance. */
void compare_verdict(struct comparisons *comparisons, struct compare_run *const *runs,
	const struct compare_rule *rule);
