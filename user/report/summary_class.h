/* Counts, totals and exact quantiles of one class of things. In: a value each. Out: figures. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vec.h"

struct summary_sum {
	uint64_t count, total_ns, max_ns;
};

struct summary_class {
	uint64_t count, total_ns, max_ns;
	int64_t collected, uncollectable; /* UNKNOWN while no pause of the class knew it */
	VEC(uint64_t) durations;	  /* ns; in the order the pauses came */
};

/* A hostile file may hold any durations: sums stick at the top rather than wrap. */
static inline void summary_add_to(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* Adds two counts of which either may be UNKNOWN; the sum sticks at the top. */
int64_t summary_add_known(int64_t sum, int64_t value);

void summary_sum_add(struct summary_sum *sum, uint64_t duration_ns);
int summary_class_add(struct summary_class *class, uint64_t duration_ns); /* 0 or -ENOMEM */

/* Classes that lie @stride bytes apart. */
struct summary_group {
	const struct summary_class *first;
	size_t count, stride;
};

/* The exact @q-quantile by nearest rank, 0 <= q <= 1, of all in @groups; 0 when there is nothing. */
uint64_t summary_quantile_groups(const struct summary_group *groups, size_t count, double q);
/* The same of one class. */
uint64_t summary_quantile(const struct summary_class *class, double q);
