/* Counts and totals of which no value is kept. */
#pragma once

#include "stats.h"
#include "sums.h"

struct summary_sum {
	uint64_t count, total_ns, max_ns;
};

static inline void summary_sum_add(struct summary_sum *sum, uint64_t duration_ns)
{
	sum->count++;
	stats_add(&sum->total_ns, duration_ns);
	if (duration_ns > sum->max_ns)
		sum->max_ns = duration_ns;
}

/* Adds two counts of which either may be UNKNOWN; the sum sticks at the top. */
static inline int64_t summary_add_known(int64_t sum, int64_t value)
{
	if (sum < 0 || value < 0)
		return sum < 0 ? value : sum;
	return __builtin_add_overflow(sum, value, &sum) ? INT64_MAX : sum;
}
