/* A sequence of durations in; the places where a lasting change of speed divides it out. */
#include <errno.h>
#include <stdlib.h>

#include "stats.h"
#include "cleanup.h"
#include "lost.h"

#define SIDE	     16	   /* values on each side that are compared */
#define LEAST	     8	   /* values of a regime */
#define SIGMAS	     3.0   /* of single values; a median of SIDE varies by 0.31 of one */
#define LEAST_SHARE  0.03  /* a smaller change is none */
#define MAD_TO_DELTA 0.954 /* median distance of two Gaussian values, in standard deviations */

/* Medians of the SIDE values from each index on: @count − SIDE + 1 of them. */
static uint64_t *side_medians(const uint64_t *values, size_t count)
{
	uint64_t *medians = calloc(count, sizeof(*medians));
	struct stats_window window = {};

	for (size_t i = 0; medians && i + SIDE <= count; i++) {
		stats_window_move(&window, values, i, i + SIDE);
		medians[i] = stats_window_median(&window);
	}
	return medians;
}

static uint64_t *neighbour_distances(const uint64_t *values, size_t count)
{
	uint64_t *distances = calloc(count, sizeof(*distances));

	for (size_t i = 0; distances && i + 1 < count; i++)
		distances[i] = stats_distance(values[i], values[i + 1]);
	return distances;
}

static bool is_change(uint64_t left, uint64_t right, uint64_t distance)
{
	double sigma = (double)distance / MAD_TO_DELTA;
	double change = (double)stats_distance(left, right);

	return change > SIGMAS * sigma &&
	       change > LEAST_SHARE * (double)(left < right ? left : right);
}

/* Where around @at the values part best between the levels @left and @right. */
static size_t refine(const uint64_t *values, size_t at, uint64_t left, uint64_t right)
{
	size_t from = at - SIDE, to = at + SIDE, best = from;
	double sum = 0, least = 0;

	/* The sum of |value − level|, relative to that with all of them on the right. */
	for (size_t i = from; i < to; i++) {
		sum += (double)stats_distance(values[i], left) -
		       (double)stats_distance(values[i], right);
		if (sum < least) {
			least = sum;
			best = i + 1;
		}
	}
	return best;
}

static int add_start(struct regimes *regimes, size_t start)
{
	size_t *slot = vec_add(&regimes->starts);

	if (!slot)
		return -ENOMEM;
	*slot = start;
	return 0;
}

static int find(const uint64_t *values, size_t count, const uint64_t *medians,
	const uint64_t *distances, struct regimes *regimes)
{
	struct stats_window window = {};
	size_t last = 0, peak = 0;
	uint64_t height = 0;

	for (size_t i = SIDE; i + SIDE <= count; i++) {
		uint64_t left = medians[i - SIDE], right = medians[i];
		size_t from, to;

		stats_window_place(i, 0, count - 1, &from, &to);
		stats_window_move(&window, distances, from, to);
		if (is_change(left, right, stats_window_median(&window)) &&
			stats_distance(left, right) > height) {
			height = stats_distance(left, right);
			peak = i;
		}
		/*
		 * The highest point of a change is known once no higher one has followed for a
		 * while.
		 */
		if (peak && (i - peak >= SIDE || i + SIDE == count)) {
			size_t start = refine(values, peak, medians[peak - SIDE], medians[peak]);

			if (start >= last + LEAST && start + LEAST <= count) {
				if (add_start(regimes, start))
					return -ENOMEM;
				last = start;
			}
			peak = height = 0;
		}
	}
	return 0;
}

int regimes_find(const uint64_t *values, size_t count, struct regimes *ret)
{
	_cleanup_free_ uint64_t *medians = NULL, *distances = NULL;
	struct regimes found = {};
	int r = add_start(&found, 0);

	if (!r && count >= 2 * SIDE) {
		medians = side_medians(values, count);
		distances = neighbour_distances(values, count);
		r = medians && distances ? find(values, count, medians, distances, &found)
					 : -ENOMEM;
	}
	if (r) {
		vec_free(&found.starts);
		return r;
	}
	*ret = found;
	return 0;
}
