/*
 * Steps near pauses beside those far from any, their durations alone being known, in; what the track lost, or why that
 * cannot be told, out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"

#define SURE	   3.0 /* standard deviations beyond which it is not chance */
#define MORE	   0.05 /* of the overlap, beyond it, in the paused steps: after-effects or other work */
#define AFTER_LAGS 6 /* after-effects show within so many steps */

#define SLOPE_ERROR 0.2 /* a slope known as well is held against it */

const char untold_dense[] =
	"there are too few steps without a pause nearby to compare with; the GPU's own record or gctrace trial would tell";
static const char untold_more[] =
	"the steps with pauses are longer than their pauses explain, by after-effects or by other work; gctrace trial would tell";

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

	if (isnan(chance) || isnan(later_chance) || keeps_to_ticks(timeline, comparison, &ticks))
		return -ENOMEM;
	*ret = comparison->by_work ||
	       (over > MORE * comparison->paused_ns && over > SURE * chance &&
		       later < SURE * later_chance && !ticks);
	return 0;
}

/* Whether what paused steps take longer does not go with their pauses' lengths, where these tell. 0 or -ENOMEM. */
static int differs(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals, bool *ret)
{
	_cleanup_free_ double *x = calloc(comparison->pauses + 1, sizeof(*x));
	_cleanup_free_ double *y = calloc(comparison->pauses + 1, sizeof(*y));
	struct slope slope;
	size_t count = 0;

	if (!x || !y)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->paused[i] && comparison->role[i] == ROLE_NEAR) {
			x[count] = timeline->overlap[i];
			y[count++] = residuals[i];
		}
	slope = slope_of(x, y, count);
	*ret = slope.deviation < SLOPE_ERROR &&
	       fabs(slope.value - 1) > MORE + SURE * slope.deviation;
	return 0;
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

/* Whether it can be told: not what chance hides, nor what other work may have been. 0 or -ENOMEM. */
static int judge(const struct timeline *timeline, const struct comparison *comparison,
	const double *residuals, struct finding *finding)
{
	bool more = false;

	if (!comparison->locked) {
		if (is_more(timeline, comparison, residuals, &more))
			return -ENOMEM;
		finding->untold = more ? untold_more : NULL;
		return 0;
	}
	if (judge_locked(timeline, comparison, residuals, finding))
		return -ENOMEM;
	if (!finding->untold && finding->ns > 0.5 * comparison->paused_ns &&
		differs(timeline, comparison, residuals, &more))
		return -ENOMEM;
	if (more)
		finding->untold = untold_locked;
	return 0;
}

int estimate_lost(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *ret)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));
	struct lags all = {0, comparison->reach}, few = {0, SHORT_LAGS};
	double deviation, short_deviation;

	if (!residuals || residuals_of(comparison, timeline->duration, residuals) ||
		leave_out_short(timeline, comparison, false, 0, residuals))
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
	if (judge(timeline, comparison, residuals, ret))
		return -ENOMEM;
	return carry_over_durations(timeline, comparison, ret);
}
