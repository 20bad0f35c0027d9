/*
 * Pauses that recur in the same steps of a period, and what those steps and the ones after them are longer by, in; what
 * of the loss can be told nevertheless, out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"
#include "stats.h"

/* Shares of the overlap: what is told nevertheless. */
#define NOTHING	     0.05 /* lost: other work would only have added to it */
#define NOTHING_MOST 0.15 /* the upper end of its interval */
#define ALL	     0.03 /* as near to the overlap: other work of just this length is unlikely */
#define ALL_ERROR    0.08

#define TICK_CV	      0.02 /* of far steps that keep to a clock's ticks */
#define TICK_DISTANCE 0.05 /* of a paused one from a whole number of them */
#define TICK_SHARE    0.9  /* of the paused steps */

const char untold_locked[] =
	"the pauses are in the same steps of a period each time, where other work may be as well; the GPU's own record or gctrace trial would tell";

int keeps_to_ticks(const struct timeline *timeline, const struct comparison *comparison, bool *ret)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));
	_cleanup_free_ double *level = calloc(comparison->far_count + 1, sizeof(*level));
	_cleanup_free_ double *distance = calloc(comparison->far_count + 1, sizeof(*distance));
	double tick;
	size_t whole = 0;

	if (!residuals || !level || !distance ||
		residuals_of(comparison, timeline->duration, residuals))
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

struct slope slope_of(const double *x, const double *y, size_t count)
{
	struct slope found = {0, INFINITY};
	double n = (double)count, x_mean = 0, y_mean = 0, xx = 0, xy = 0, rest = 0;

	for (size_t i = 0; i < count; i++) {
		x_mean += x[i] / n;
		y_mean += y[i] / n;
	}
	for (size_t i = 0; i < count; i++) {
		xx += (x[i] - x_mean) * (x[i] - x_mean);
		xy += (x[i] - x_mean) * (y[i] - y_mean);
	}
	if (!(xx > 0) || count < 4)
		return found;
	found.value = xy / xx;
	for (size_t i = 0; i < count; i++) {
		double left = y[i] - y_mean - found.value * (x[i] - x_mean);

		rest += left * left;
	}
	found.deviation = sqrt(rest / (n - 2) / xx);
	return found;
}

/*
 * The slope of what a pause's steps are longer by, up to the next pause, against its length. Other work in the same steps
 * does not change it. 0 or -ENOMEM.
 */
static int slope_over_windows(const struct timeline *timeline, const struct comparison *comparison,
	const double *longer, struct slope *ret)
{
	_cleanup_free_ double *x = calloc(comparison->pauses + 1, sizeof(*x));
	_cleanup_free_ double *y = calloc(comparison->pauses + 1, sizeof(*y));
	size_t count = 0;

	if (!x || !y)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++) {
		if (comparison->role[i] != ROLE_NEAR)
			continue;
		if (comparison->paused[i])
			x[count++] = timeline->overlap[i];
		if (count)
			y[count - 1] += longer[i];
	}
	*ret = slope_of(x, y, count);
	return 0;
}

/* What of the pauses did not show in the paused steps, if nothing was lost: the rest was made up for in the next ones. */
static double hidden_of(const struct comparison *comparison, const double *longer)
{
	double later = lags_sum(comparison, longer, (struct lags){1, comparison->reach});

	return 1 - fmin(fmax(-later / comparison->paused_ns, 0), 1);
}

int judge_locked(const struct timeline *timeline, const struct comparison *comparison,
	const double *longer, struct finding *finding)
{
	double whole = comparison->paused_ns, error = (finding->high - finding->low) / 2, most;
	struct slope slope;
	bool ticks;

	if (slope_over_windows(timeline, comparison, longer, &slope) ||
		keeps_to_ticks(timeline, comparison, &ticks))
		return -ENOMEM;
	most = fmax(slope.value + z95(comparison) * slope.deviation, NOTHING);
	if (finding->ns <= NOTHING * whole && finding->high <= NOTHING_MOST * whole) {
		finding->high = fmax(finding->high, error);
		finding->ns = fmax(finding->ns, 0);
		finding->hidden = hidden_of(comparison, longer);
	} else if (most <= NOTHING_MOST && !ticks) {
		/*
		 * The longer a pause, the more of each further moment is lost: if hardly any of the last ones is, hardly
		 * any of the first ones was. But with ticks, which cost the same whatever the length.
		 */
		finding->ns = 0;
		finding->low = -most * whole;
		finding->high = most * whole;
		finding->hidden = hidden_of(comparison, longer);
	} else if (fabs(finding->ns / whole - 1) > ALL || error > ALL_ERROR * whole) {
		finding->untold = untold_locked;
	}
	return 0;
}
