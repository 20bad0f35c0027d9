/* Values in; ranks, medians and a reproducible sequence of random numbers out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "sums.h"
#include "u64map.h"

uint64_t stats_nth(const uint64_t *values, size_t count, size_t rank)
{
	const struct sums all = {
		.count = count, .durations = {.items = (uint64_t *)values, .count = count}};
	uint64_t max = 0;

	for (size_t i = 0; i < count; i++)
		max = values[i] > max ? values[i] : max;
	return sums_nth(&(struct sums_group){&all, 1, sizeof(all)}, 1, rank, max);
}

uint64_t stats_quantile(const uint64_t *values, size_t count, double q)
{
	double rank = ceil(q * (double)count);

	if (!count)
		return 0;
	if (rank < 1)
		return stats_nth(values, count, 0);
	return stats_nth(values, count, rank >= (double)count ? count - 1 : (size_t)rank - 1);
}

uint64_t stats_median(const uint64_t *values, size_t count)
{
	uint64_t low, high;

	if (!count)
		return 0;
	low = stats_nth(values, count, (count - 1) / 2);
	high = count % 2 ? low : stats_nth(values, count, count / 2);
	return low + (high - low) / 2;
}

int stats_compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static int ascending(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

void stats_sort_real(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), ascending);
}

double stats_median_real(double *values, size_t count)
{
	stats_sort_real(values, count);
	return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

uint64_t stats_draw(struct stats_random *random, uint64_t below)
{
	random->state += 0x9e3779b97f4a7c15ull;
	return (uint64_t)(((unsigned __int128)u64_mix(random->state) * below) >> 64);
}

/* How many of the @count sorted values are smaller than @value. */
static size_t rank_of(const uint64_t *sorted, size_t count, uint64_t value)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

void stats_window_move(struct stats_window *window, const uint64_t *values, size_t from, size_t to)
{
	size_t count = window->to - window->from;

	if (from >= window->to)
		window->from = window->to = from, count = 0;
	for (; window->from < from; window->from++, count--) {
		size_t at = rank_of(window->sorted, count, values[window->from]);

		memmove(&window->sorted[at], &window->sorted[at + 1],
			(count - at - 1) * sizeof(*values));
	}
	for (; window->to < to; window->to++, count++) {
		size_t at = rank_of(window->sorted, count, values[window->to]);

		memmove(&window->sorted[at + 1], &window->sorted[at],
			(count - at) * sizeof(*values));
		window->sorted[at] = values[window->to];
	}
}

uint64_t stats_window_median(const struct stats_window *window)
{
	size_t count = window->to - window->from;
	uint64_t low, high;

	if (!count)
		return 0;
	low = window->sorted[(count - 1) / 2];
	high = window->sorted[count / 2];
	return low + (high - low) / 2;
}

void stats_window_place(size_t centre, size_t first, size_t last, size_t *ret_from, size_t *ret_to)
{
	size_t from = centre - first > STATS_WINDOW / 2 ? centre - STATS_WINDOW / 2 : first;

	if (last - from < STATS_WINDOW)
		from = last - first > STATS_WINDOW ? last - STATS_WINDOW : first;
	*ret_from = from;
	*ret_to = last - from > STATS_WINDOW ? from + STATS_WINDOW : last;
}
