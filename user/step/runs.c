/* Counts per step → the stretches in which they are the same; medians. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "step_priv.h"

#define AHEAD 8 /* counts that must agree before another value is believed */

static void swap(uint64_t *values, size_t i, size_t j)
{
	uint64_t kept = values[i];

	values[i] = values[j];
	values[j] = kept;
}

/*
 * The value at rank @rank: quickselect, because sorting a million steps takes a tenth of a second.
 */
static uint64_t select_rank(uint64_t *values, size_t count, size_t rank)
{
	size_t low = 0, high = count; /* rank is in [low, high) */

	while (high - low > 32) {
		/* Mixed, so that no crafted file can make this slow. */
		uint64_t pivot = values[low + u64_mix(low ^ (high << 20)) % (high - low)];
		size_t less = low, more = high; /* [low, less) < pivot, [more, high) > pivot */

		for (size_t i = low; i < more;)
			if (values[i] < pivot)
				swap(values, i++, less++);
			else if (values[i] > pivot)
				swap(values, i, --more);
			else
				i++;
		if (rank < less)
			high = less;
		else if (rank >= more)
			low = more;
		else
			return pivot;
	}
	qsort(values + low, high - low, sizeof(*values), stats_compare);
	return values[rank];
}

uint64_t median_of(uint64_t *values, size_t count)
{
	return count ? select_rank(values, count, (count - 1) / 2) : 0;
}

double variation_of(uint64_t *values, size_t count)
{
	uint64_t median = median_of(values, count);

	if (!median)
		return 0;
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] > median ? values[i] - median : median - values[i];
	return 1.4826 * (double)median_of(values, count) / (double)median;
}

/* Whether most of what follows @from has the value that is there. */
static bool settles(const uint32_t *counts, size_t count, size_t from)
{
	size_t ahead = count - from < AHEAD ? count - from : AHEAD, same = 0;

	for (size_t i = 0; i < ahead; i++)
		same += counts[from + i] == counts[from];
	return ahead >= AHEAD / 2 && same * 4 >= ahead * 3;
}

int runs_find(const uint32_t *counts, size_t count, runs *ret, double *ret_share)
{
	size_t regular = 0;
	struct run *run = NULL;

	for (size_t i = 0; i < count; i++) {
		if ((!run || counts[i] != run->value) &&
			(settles(counts, count, i) || (!run && !i))) {
			/* Whatever comes before the first settled run belongs to that run. */
			bool early = run && ret->count == 1 && !settles(counts, count, 0);

			if (!early) {
				run = vec_add(ret);
				if (!run)
					return -ENOMEM;
				run->start = i;
			}
			run->value = counts[i];
		}
		regular += counts[i] == run->value;
	}
	*ret_share = count ? (double)regular / (double)count : 1;
	return 0;
}
