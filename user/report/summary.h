/*
 * What pauses add up to: counts, totals, exact percentiles, a histogram, the worst. In: pauses.
 * Out: figures.
 */
#pragma once

#include <stdint.h>

#include "pause.h"
#include "summary_sum.h"
#include "summary_kind.h"
#include "u64map.h"

#define SUMMARY_GENERATIONS 4 /* 0, 1, 2, and one for "not known" */
#define SUMMARY_CAUSES	    8
#define SUMMARY_WORST	    5
#define SUMMARY_BUCKETS	    64 /* bucket i: durations in [2^i, 2^(i+1)) ns; 0 ns in the first */

struct summary {
	uint64_t count, total_ns, max_ns;
	uint64_t last_end_ns; /* of the pause that ended last */
	/* Of runtimes whose classes are generations. */
	struct sums generations[SUMMARY_GENERATIONS];
	struct summary_yield {
		int64_t collected, uncollectable; /* UNKNOWN while no pause knew it */
	} yields[SUMMARY_GENERATIONS];
	struct summary_sum
		causes[SUMMARY_CAUSES]; /* by enum pause_cause; what is beyond counts as unknown */
	struct summary_facts
		parts;	      /* of those of which any is known; a session has one such runtime */
	uint64_t parts_of_ns; /* what these took */
	struct summary_kinds kinds; /* and of those with classes of their own */
	uint64_t histogram[SUMMARY_BUCKETS];
	uint64_t slept; /* pauses in which the thread slept */
	uint64_t open;	/* whose beginning or end was not seen: their lengths are lower bounds */
	struct pause worst[SUMMARY_WORST]; /* longest first */
	uint64_t worst_at[SUMMARY_WORST];  /* how many pauses had come before each */
	uint32_t worst_count;
	VEC(struct summary_sum) stacks; /* by stack node, up to the greatest that occurred */
	VEC(struct summary_runtime {
		uint32_t runtime;
		struct summary_sum sum;
	})
	runtimes;		     /* those that paused, in order of their first pause */
	struct u64map runtime_index; /* runtime id → index in runtimes */
};

/* A zeroed struct summary is empty and ready. */
void summary_release(struct summary *summary);
int summary_add(struct summary *summary, const struct pause *pause); /* 0 or -ENOMEM */

/* The exact @q-quantile by nearest rank, 0 <= q <= 1, of all pauses; 0 when there is none. */
uint64_t summary_quantile_all(const struct summary *summary, double q);
/* The same of those that have a generation for a class, and what they come to. */
uint64_t summary_quantile_generations(const struct summary *summary, double q);
struct summary_sum summary_of_generations(const struct summary *summary);
/* All zero when none. */
struct summary_sum summary_of_runtime(const struct summary *summary, uint32_t runtime);
