/* Values kept one by one: their count, their sum, the greatest, and exact quantiles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vec.h"

/* Durations mostly, and named so; a sum of bytes has bytes in all of them. All zero: empty. */
struct sums {
	uint64_t count, total_ns, max_ns;
	VEC(uint64_t) durations; /* in the order in which they came */
};

int sums_add(struct sums *sums, uint64_t value); /* 0 or -ENOMEM */
void sums_release(struct sums *sums);

/* Sums that lie @stride bytes apart. */
struct sums_group {
	const struct sums *first;
	size_t count, stride;
};

/* The exact @q-quantile by nearest rank, 0 <= q <= 1, of all in @groups; 0 when there is nothing. */
uint64_t sums_quantile_groups(const struct sums_group *groups, size_t count, double q);
/* The same of one. */
uint64_t sums_quantile(const struct sums *sums, double q);
/* The value that has @rank (from 0) once all in @groups are sorted, if none exceeds @max; they are not moved. */
uint64_t sums_nth(const struct sums_group *groups, size_t count, uint64_t rank, uint64_t max);
