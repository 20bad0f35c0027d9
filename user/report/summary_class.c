/* Values one by one → sums, and quantiles by selection: 8 bytes a value. */
#include <errno.h>
#include <math.h>

#include "summary_class.h"

int64_t summary_add_known(int64_t sum, int64_t value)
{
	if (sum < 0 || value < 0)
		return sum < 0 ? value : sum;
	return __builtin_add_overflow(sum, value, &sum) ? INT64_MAX : sum;
}

void summary_sum_add(struct summary_sum *sum, uint64_t duration_ns)
{
	sum->count++;
	summary_add_to(&sum->total_ns, duration_ns);
	if (duration_ns > sum->max_ns)
		sum->max_ns = duration_ns;
}

int summary_class_add(struct summary_class *class, uint64_t duration_ns)
{
	uint64_t *slot = vec_add(&class->durations);

	if (!slot)
		return -ENOMEM;
	*slot = duration_ns;
	class->count++;
	summary_add_to(&class->total_ns, duration_ns);
	if (duration_ns > class->max_ns)
		class->max_ns = duration_ns;
	return 0;
}

/*
 * Radix selection, 12 bits at a time from the top: each pass counts the values that share the bits
 * found so far by their next digit. No copy, nothing reordered, linear whatever the values are.
 */
#define DIGIT_BITS 12
#define DIGITS	   (1u << DIGIT_BITS)

static void count_digits(const struct summary_class *class, uint64_t found, unsigned shift,
	uint64_t counts[DIGITS])
{
	unsigned above = shift + DIGIT_BITS;

	for (size_t i = 0; i < class->durations.count; i++) {
		uint64_t value = class->durations.items[i];

		if (above >= 64 || value >> above == found)
			counts[value >> shift & (DIGITS - 1)]++;
	}
}

static const struct summary_class *class_at(const struct summary_group *group, size_t i)
{
	return (const void *)((const char *)group->first + i * group->stride);
}

static void count_groups(const struct summary_group *groups, size_t count, uint64_t found,
	unsigned shift, uint64_t counts[DIGITS])
{
	for (size_t g = 0; g < count; g++)
		for (size_t i = 0; i < groups[g].count; i++)
			count_digits(class_at(&groups[g], i), found, shift, counts);
}

/* The value with @rank (from 0), if none exceeds @max. */
static uint64_t select_rank(const struct summary_group *groups, size_t count, uint64_t rank,
	uint64_t max)
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
uint64_t summary_quantile_groups(const struct summary_group *groups, size_t count, double q)
{
	uint64_t values = 0, max = 0, rank;

	for (size_t g = 0; g < count; g++)
		for (size_t i = 0; i < groups[g].count; i++) {
			const struct summary_class *class = class_at(&groups[g], i);

			values += class->count;
			max = class->max_ns > max ? class->max_ns : max;
		}
	if (!values)
		return 0;
	rank = (uint64_t)ceil(q * (double)values);
	rank = rank > values ? values : rank;
	return select_rank(groups, count, rank ? rank - 1 : 0, max);
}

uint64_t summary_quantile(const struct summary_class *class, double q)
{
	return summary_quantile_groups(&(struct summary_group){class, 1, sizeof(*class)}, 1, q);
}
