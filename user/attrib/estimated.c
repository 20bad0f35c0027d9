/*
 * Steps near pauses beside those far from any, their durations alone being known, in; what the track lost, or why that
 * cannot be told, out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"
#include "stats.h"

#define SURE	   3.0 /* standard deviations beyond which it is not chance */
#define MORE	   0.05 /* of the overlap, beyond it, in the paused steps: after-effects or other work */
#define AFTER_LAGS 6 /* after-effects show within so many steps */

/* Of locked pauses, shares of the overlap: what is told nevertheless. */
#define NOTHING	     0.05 /* lost: other work would only have added to it */
#define NOTHING_MOST 0.15 /* the upper end of its interval */
#define ALL	     0.03 /* as near to the overlap: other work of just this length is unlikely */
#define ALL_ERROR    0.08
#define SLOPE_ERROR  0.2 /* a slope known as well is held against it */

#define TICK_CV	      0.02 /* of far steps that keep to a clock's ticks */
#define TICK_DISTANCE 0.05 /* of a paused one from a whole number of them */
#define TICK_SHARE    0.9  /* of the paused steps */

const char untold_noise[] =
	"the other steps vary more than the pauses took; a longer recording, the GPU's own record or gctrace trial would tell";
const char untold_dense[] =
	"there are too few steps without a pause nearby to compare with; the GPU's own record or gctrace trial would tell";
static const char untold_locked[] =
	"the pauses are in the same steps of a period each time, where other work may be as well; the GPU's own record or gctrace trial would tell";
static const char untold_more[] =
	"the steps with pauses are longer than their pauses explain, by after-effects or by other work; gctrace trial would tell";

/* The excess of paused steps against their overlap: a straight line's slope, and its standard deviation. */
struct slope {
	double value, deviation; /* INFINITY: the overlaps hardly differ */
};

static struct slope slope_of(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals)
{
	struct slope found = {0, INFINITY};
	double n = (double)comparison->pauses, x = comparison->paused_ns / n;
	double y = lags_sum(comparison, residuals, (struct lags){0, 1}) / n;
	double xx = 0, xy = 0, rest = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < comparison->count; i++) {
			double dx = timeline->overlap[i] - x, dy = residuals[i] - y;

			if (!comparison->paused[i] || comparison->role[i] != ROLE_NEAR)
				continue;
			xx += pass ? 0 : dx * dx;
			xy += pass ? 0 : dx * dy;
			rest += pass ? (dy - found.value * dx) * (dy - found.value * dx) : 0;
		}
		if (!(xx > 0) || n < 4)
			return found;
		found.value = xy / xx;
	}
	found.deviation = sqrt(rest / (n - 2) / xx);
	return found;
}

/* Whether a step lasts until a clock ticks: pauses then cost whole ticks, more or less than they took. */
static int keeps_to_ticks(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals, bool *ret)
{
	_cleanup_free_ double *level = calloc(comparison->far_count + 1, sizeof(*level));
	_cleanup_free_ double *distance = calloc(comparison->far_count + 1, sizeof(*distance));
	double tick;
	size_t whole = 0;

	if (!level || !distance)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->far_count; i++) {
		level[i] = timeline->duration[comparison->far[i]];
		distance[i] = fabs(residuals[comparison->far[i]]);
	}
	tick = stats_median_real(level, comparison->far_count);
	for (size_t i = 0; i < comparison->count; i++) {
		double ticks = timeline->duration[i] / tick;

		if (comparison->paused[i] && comparison->role[i] == ROLE_NEAR)
			whole += fabs(ticks - round(ticks)) < TICK_DISTANCE;
	}
	*ret = tick > 0 &&
	       1.4826 * stats_median_real(distance, comparison->far_count) < TICK_CV * tick &&
	       (double)whole > TICK_SHARE * (double)comparison->pauses;
	return 0;
}

/* Whether paused steps are longer by more than their pauses, and what follows does not show it to be their effect. */
static int is_more(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals, bool *ret)
{
	static const struct lags at = {0, 1}, after = {1, AFTER_LAGS};
	double over = lags_sum(comparison, residuals, at) - comparison->paused_ns;
	double chance = sqrt(lags_variance(comparison, residuals, at));
	double later = lags_sum(comparison, residuals, after);
	double later_chance = sqrt(lags_variance(comparison, residuals, after));
	bool ticks;

	if (isnan(chance) || isnan(later_chance) ||
		keeps_to_ticks(timeline, comparison, residuals, &ticks))
		return -ENOMEM;
	*ret = comparison->by_work ||
	       (over > MORE * comparison->paused_ns && over > SURE * chance &&
		       later < SURE * later_chance && !ticks);
	return 0;
}

/*
 * Pauses that recur in the same steps of a period. Other work or waiting there would add to what they cost: so nothing
 * lost is nothing lost, and just as much as they took is likely what they cost.
 */
void judge_locked(const struct comparison *comparison, struct finding *finding)
{
	double whole = comparison->paused_ns, error = (finding->high - finding->low) / 2;

	if (finding->ns <= NOTHING * whole && finding->high <= NOTHING_MOST * whole) {
		finding->high = fmax(finding->high, error);
		finding->ns = fmax(finding->ns, 0);
	} else if (fabs(finding->ns / whole - 1) > ALL || error > ALL_ERROR * whole) {
		finding->untold = untold_locked;
	}
}

/* Whether what paused steps take longer does not go with their pauses' lengths, where these tell. */
static bool differs(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals)
{
	struct slope slope = slope_of(timeline, comparison, residuals);

	return slope.deviation < SLOPE_ERROR &&
	       fabs(slope.value - 1) > MORE + SURE * slope.deviation;
}

/* Where nothing shows after the first steps, they alone are the better estimate, within the interval of all. */
static void prefer_short(const struct comparison *comparison, const double *residuals,
	double deviation, double short_deviation, struct finding *finding)
{
	double few = lags_sum(comparison, residuals, (struct lags){0, SHORT_LAGS});
	double rest = sqrt(fmax(deviation * deviation - short_deviation * short_deviation, 0));

	if (rest > 0.02 * comparison->paused_ns || fabs(finding->ns - few) > 2 * rest)
		return;
	finding->ns = few;
	finding->low = fmin(finding->low, few);
	finding->high = fmax(finding->high, few);
}

int estimate_lost(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *ret)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));
	struct lags all = {0, comparison->reach}, few = {0, SHORT_LAGS};
	double deviation, short_deviation;
	bool more = false;

	if (!residuals || residuals_of(comparison, timeline->duration, residuals))
		return -ENOMEM;
	deviation = sqrt(lags_variance(comparison, residuals, all));
	short_deviation = sqrt(lags_variance(comparison, residuals, few));
	if (isnan(deviation) || isnan(short_deviation))
		return -ENOMEM;
	deviation = fmax(deviation, LEAST_ERROR * comparison->paused_ns);
	ret->ns = lags_sum(comparison, residuals, all);
	ret->low = ret->ns - z95(comparison) * deviation;
	ret->high = ret->ns + z95(comparison) * deviation;
	prefer_short(comparison, residuals, deviation, short_deviation, ret);
	if (widen_by_tail(comparison, residuals, ret))
		return -ENOMEM;
	if (z95(comparison) * deviation > NOISE_BORNE * comparison->paused_ns)
		ret->untold = untold_noise;
	else if (comparison->locked)
		judge_locked(comparison, ret);
	else if (is_more(timeline, comparison, residuals, &more))
		return -ENOMEM;
	if (comparison->locked && !ret->untold && ret->ns > 0.5 * comparison->paused_ns &&
		differs(timeline, comparison, residuals))
		ret->untold = untold_locked;
	if (more)
		ret->untold = untold_more;
	return 0;
}
