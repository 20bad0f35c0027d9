/*
 * Two recordings of one training job, before and after a change. In: two attributions. Out:
 * differences with intervals.
 */
#pragma once

#include "attrib.h"

/*
 * A figure before and after; the interval (95 %, bootstrap) is of the relative change (after ÷
 * before − 1).
 */
struct comparison {
	char name
		[32]; /* "step.median", "step.p99", "step.mean", "stopped.share", "cost.share", "pause.max", … */
	char unit[8]; /* "ns", "share", "count" */
	double before, after;
	bool known;		  /* both were known */
	bool has_interval;	  /* where it can be resampled */
	double change, low, high; /* relative; change is after ÷ before − 1 */
	bool worse_is_more;	  /* true for everything but yields */
};

struct comparisons {
	VEC(struct comparison) items;
	char verdict[512]; /* one paragraph: did it help, by how much, how sure */
	bool comparable;   /* both have confident steps by marks */
	size_t warm_up
		[2]; /* how many first steps, before and after, all means and shares leave out */
};

int compare(const struct attribution *before, const struct attribution *after,
	struct comparisons *ret, struct err *err);
void comparisons_release(struct comparisons *comparisons);
