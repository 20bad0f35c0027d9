/*
 * Pairs of figures → effect and interval. With D the differences and U the unit (1, or the figure as it is), an effect
 * t leaves differences D - tU; their sum under signs s is the statistic. Each s counts as long as its sum is no smaller
 * than the one drawn, which is an interval of t around the estimate: so all intervals' ends, sorted, give the result.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "cleanup.h"
#include "effect.h"
#include "stats.h"

#define LEVEL	  0.05
#define ALL_BELOW 14 /* pairs: all draws are gone through, else a sample */
#define DRAWS	  (1u << ALL_BELOW)
#define SLACK	  1e-9 /* sums that differ by no more are the same, but for rounding */

struct draws {
	const double *difference, *unit;
	size_t pairs, count;
	struct stats_random random;
};

/* Sums of D and U under the draw @index; the first draw is the one that was made. */
static void sum(struct draws *draws, size_t index, double *ret_difference, double *ret_unit)
{
	double difference = 0, unit = 0;
	uint64_t signs = index;

	for (size_t i = 0; i < draws->pairs; i++) {
		bool other;

		if (draws->pairs > ALL_BELOW && i % 64 == 0)
			signs = index ? stats_draw(&draws->random, UINT64_MAX) : 0;
		other = signs >> i % 64 & 1;
		difference += other ? -draws->difference[i] : draws->difference[i];
		unit += other ? -draws->unit[i] : draws->unit[i];
	}
	*ret_difference = difference;
	*ret_unit = unit;
}

/*
 * How far from the estimate, up and down, a draw whose sums are these counts. The one that was made, and its mirror
 * image, always do.
 */
static void reach(double whole, double estimate, double difference, double unit, double *ret_up,
	double *ret_down)
{
	double rest = difference - estimate * unit;
	double along = whole + (rest < 0 ? -unit : unit), against = 2 * whole - along;

	bool always = whole - fabs(unit) < SLACK * whole;

	*ret_up = always ? INFINITY : fabs(rest) / along;
	*ret_down = always ? INFINITY : fabs(rest) / against;
}

/* The largest reach that more than the level's share of the draws have. */
static double limit(double *reaches, size_t count)
{
	size_t above = (size_t)(LEVEL * (double)count);

	stats_sort_real(reaches, count);
	return reaches[count - 1 - above];
}

/* The smallest effect that is found four times in five: by Student's t, whose quantiles these come close to. */
static double detectable(const struct draws *draws, double estimate, double whole)
{
	double mean = whole / (double)draws->pairs, squares = 0, n = (double)draws->pairs;

	for (size_t i = 0; i < draws->pairs; i++) {
		double rest = draws->difference[i] - estimate * draws->unit[i];

		squares += rest * rest;
	}
	if (n < 2)
		return INFINITY;
	return (2.80 + 3.4 / (n - 1)) * sqrt(squares / (n - 1) / n) / mean;
}

static void infer(struct draws *draws, double *up, double *down, struct effect *ret)
{
	double all, whole;
	size_t as_large = 0;

	sum(draws, 0, &all, &whole);
	ret->estimate = all / whole;
	for (size_t i = 0; i < draws->count; i++) {
		double difference = all, unit = whole;

		if (i)
			sum(draws, i, &difference, &unit);
		as_large += fabs(difference) >= fabs(all) * (1 - SLACK);
		reach(whole, ret->estimate, difference, unit, &up[i], &down[i]);
	}
	ret->p = (double)as_large / (double)draws->count;
	ret->high = ret->estimate + limit(up, draws->count);
	ret->low = ret->estimate - limit(down, draws->count);
	ret->detectable = detectable(draws, ret->estimate, whole);
}

int effect_of(const double *as_it_is, const double *tried, size_t pairs, enum effect_scale scale,
	struct effect *ret)
{
	struct draws draws = {
		.pairs = pairs,
		.count = pairs > ALL_BELOW ? DRAWS : (size_t)1 << pairs,
		.random = {pairs},
	};
	_cleanup_free_ double *space = NULL;
	struct effect effect = {.pairs = pairs};

	if (!pairs)
		return -ENODATA;
	space = calloc(2 * (pairs + draws.count), sizeof(*space));
	if (!space)
		return -ENOMEM;
	for (size_t i = 0; i < pairs; i++) {
		space[i] = tried[i] - as_it_is[i];
		space[pairs + i] = scale == EFFECT_SHARE ? as_it_is[i] : 1;
		effect.base += as_it_is[i] / (double)pairs;
	}
	draws.difference = space;
	draws.unit = space + pairs;
	infer(&draws, space + 2 * pairs, space + 2 * pairs + draws.count, &effect);
	*ret = effect;
	return 0;
}
