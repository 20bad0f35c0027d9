/* What pauses add up to: counts, totals, exact percentiles, a histogram, the worst. In: pauses. Out: figures. */
#pragma once

#include <stdint.h>

#include "pause.h"

#define SUMMARY_GENERATIONS 4 /* 0, 1, 2, and one for "not known" */
#define SUMMARY_WORST	    5
#define SUMMARY_BUCKETS	    64 /* bucket i holds durations in [2^i, 2^(i+1)) ns */

struct summary_class {
	uint64_t count, total_ns, max_ns;
	int64_t collected, uncollectable;
	VEC(uint64_t) durations; /* ns; in no order */
};

struct summary {
	uint64_t count, total_ns;
	struct summary_class generations[SUMMARY_GENERATIONS];
	uint64_t causes[8]; /* by enum pause_cause */
	uint64_t histogram[SUMMARY_BUCKETS];
	uint64_t gil_released;
	struct pause worst[SUMMARY_WORST]; /* longest first */
	uint32_t worst_count;
};

void summary_release(struct summary *summary);
int summary_add(struct summary *summary, const struct pause *pause); /* 0 or -ENOMEM */

/* The exact @q-quantile by nearest rank of one class (reorders its durations); 0 when empty. */
uint64_t summary_quantile(struct summary_class *class, double q);
/* The same over all classes. */
uint64_t summary_quantile_all(struct summary *summary, double q);
