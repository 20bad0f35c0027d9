/* What stalls and concurrent phases add up to. In: a recording. Out: figures by kind and by name. */
#pragma once

#include "pause.h"
#include "summary_sum.h"

#define STALL_KINDS 5 /* by enum stall_kind; 0: any other */

struct stall_sums {
	struct sums kinds[STALL_KINDS];
	uint64_t count, total_ns, max_ns;
	uint32_t max_kind; /* of the longest */
};

/* By name, over all runtimes; dearest first. */
struct phase_sum {
	uint32_t name; /* string id */
	struct summary_sum sum;
};

struct phase_sums {
	VEC(struct phase_sum) items;
};

/* Both 0 or -ENOMEM; released in either case. */
int stall_sums_make(struct stall_sums *sums, const struct recording *recording);
void stall_sums_release(struct stall_sums *sums);
int phase_sums_make(struct phase_sums *sums, const struct recording *recording);
void phase_sums_release(struct phase_sums *sums);
