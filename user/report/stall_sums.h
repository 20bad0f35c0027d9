/* What stalls and concurrent phases add up to. In: a recording. Out: figures by kind and by name. */
#pragma once

#include "meaning.h"
#include "pause.h"
#include "summary_sum.h"

/* Stalls that their runtimes call the same. */
struct stall_class {
	uint32_t kind; /* enum stall_kind */
	const char *name;
	struct sums class;
};

struct stall_sums {
	VEC(struct stall_class) kinds; /* by kind, those not known first */
	uint64_t count, total_ns, max_ns;
	const char *max_name; /* of the longest */
};

/* By name, over all runtimes; what took most first. */
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
