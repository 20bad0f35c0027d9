/* Values one by one → sums, and quantiles by selection: 8 bytes a value. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats.h"
#include "sums.h"

int sums_add(struct sums *sums, uint64_t value)
{
	uint64_t *slot = vec_add(&sums->durations);

	if (!slot)
		return -ENOMEM;
	*slot = value;
	sums->count++;
	stats_add(&sums->total_ns, value);
	if (value > sums->max_ns)
		sums->max_ns = value;
	return 0;
}

void sums_release(struct sums *sums)
{
	free(sums->durations.items);
	*sums = (struct sums){0};
}

/*
 * Radix selection, 12 bits at a time from the top: each pass counts the values that share the bits
 * found so far by their next digit. No copy, nothing reordered, linear whatever the values are.
 */
#define DIGIT_BITS 12
#define DIGITS	   (1u << DIGIT_BITS)

static void count_digits(const struct sums *sums, uint64_t found, unsigned shift,
	uint64_t counts[DIGITS])
{
	unsigned above = shift + DIGIT_BITS;

	for (size_t i = 0; i < sums->durations.count; i++) {
		uint64_t value = sums->durations.items[i];

		if (above >= 64 || value >> above == found)
			counts[value >> shift & (DIGITS - 1)]++;
	}
}

static const struct sums *sums_at(const struct sums_group *group, size_t i)
{
	return (const void *)((const char *)group->first + i * group->stride);
}

static void count_groups(const struct sums_group *groups, size_t count, uint64_t found,
	unsigned shift, uint64_t counts[DIGITS])
{
	for (size_t g = 0; g < count; g++)
		for (size_t i = 0; i < groups[g].count; i++)
			count_digits(sums_at(&groups[g], i), found, shift, counts);
}

uint64_t sums_nth(const struct sums_group *groups, size_t count, uint64_t rank, uint64_t max)
{
	unsigned bits = max ? 64 - __builtin_clzll(max) : 1;
	unsigned shift = (bits + DIGIT_BITS - 1) / DIGIT_BITS * DIGIT_BITS;
	uint64_t found = 0;

	while (shift) {
		uint64_t counts[DIGITS] = {0};
		uint32_t digit = 0;

		shift -= DIGIT_BITS;
		count_groups(groups, count, found, shift, counts);
		while (digit < DIGITS - 1 && rank >= counts[digit])
			rank -= counts[digit++];
		found = found << DIGIT_BITS | digit;
	}
	return found;
}

/* Nearest rank: the smallest value that at least q of all do not exceed. */
uint64_t sums_quantile_groups(const struct sums_group *groups, size_t count, double q)
{
	uint64_t all = 0, max = 0, rank;

	for (size_t g = 0; g < count; g++)
		for (size_t i = 0; i < groups[g].count; i++) {
			const struct sums *sums = sums_at(&groups[g], i);

			all += sums->count;
			max = sums->max_ns > max ? sums->max_ns : max;
		}
	if (!all)
		return 0;
	rank = (uint64_t)ceil(q * (double)all);
	rank = rank > all ? all : rank;
	return sums_nth(groups, count, rank ? rank - 1 : 0, max);
}

uint64_t sums_quantile(const struct sums *sums, double q)
{
	return sums_quantile_groups(&(struct sums_group){sums, 1, sizeof(*sums)}, 1, q);
}
