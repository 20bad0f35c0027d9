/*
 * Steps whose work and waiting are known in; what the track lost by its pauses, or why that cannot be told, out. A pause
 * costs nothing as far as the thread then waits less.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"

#define NEVER_GRAIN 8e6	 /* ns by which the clock of a thread's CPU time may be late: two ticks */
#define SLACK_MOST  0.05 /* of the overlap, taken off the lower end where the thread never waits */
#define SURE	    3.0	 /* standard deviations beyond which longer work is no chance */
#define AFTER_LEAST 0.02 /* of the overlap: less longer work is no after-effect */
#define AFTER_MOST  0.35 /* the most by which after-effects that chance hides raise the upper end */
#define AFTER_LAGS  6	 /* steps in which after-effects are looked for */

/* The work and the waiting of each step less what those of far steps are. */
struct parts {
	double *work, *wait;
	double slope; /* of waiting against work in far steps: −1: what the thread works longer it waits less */
	double *apart; /* wait − slope × work: what waiting is not explained by work */
};

static void parts_release(struct parts *parts)
{
	free(parts->work);
	free(parts->wait);
	free(parts->apart);
}

/* Over runs of @length far steps: a queue passes work on to the waiting of later steps. */
static double slope_over(const struct comparison *comparison, const struct parts *parts,
	uint32_t length)
{
	double work = 0, wait = 0, squares = 0, products = 0;
	uint32_t run = 0;
	size_t runs = 0;

	for (size_t i = 0; i < comparison->far_count; i++) {
		const uint32_t *far = &comparison->far[i];

		if (run && far[0] != far[-1] + 1)
			run = 0;
		if (!run)
			work = wait = 0;
		work += parts->work[*far];
		wait += parts->wait[*far];
		if (++run < length)
			continue;
		squares += work * work;
		products += work * wait;
		run = 0;
		runs++;
	}
	if (runs < STEPS_NEEDED && length > 1)
		return slope_over(comparison, parts, 1);
	return squares > 0 ? fmin(fmax(products / squares, -1), 0) : 0;
}

static int parts_make(const struct timeline *timeline, const struct comparison *comparison,
	struct parts *ret)
{
	ret->work = calloc(timeline->count + 1, sizeof(*ret->work));
	ret->wait = calloc(timeline->count + 1, sizeof(*ret->wait));
	ret->apart = calloc(timeline->count + 1, sizeof(*ret->apart));
	if (!ret->work || !ret->wait || !ret->apart ||
		residuals_of(comparison, timeline->work, ret->work) ||
		residuals_of(comparison, timeline->wait, ret->wait))
		return -ENOMEM;
	ret->slope = slope_over(comparison, ret, comparison->reach);
	return 0;
}

/* How much longer the work is in paused steps, and in those after them. */
struct after {
	double at, at_deviation, later, later_deviation;
};

/* Much more work in paused steps would carry a small error of the slope into the result: either it is hidden, or not. */
static void set_apart(const struct comparison *comparison, const struct after *after,
	struct parts *parts)
{
	if (fabs(after->at) > SURE * after->at_deviation)
		parts->slope = round(parts->slope);
	for (size_t i = 0; i < comparison->count; i++)
		parts->apart[i] = parts->wait[i] - parts->slope * parts->work[i];
}

/* All that the thread waited. */
static double waited(const struct timeline *timeline)
{
	double sum = 0;

	for (size_t i = 0; i < timeline->count; i++)
		sum += timeline->blank[i] ? 0 : timeline->wait[i];
	return sum;
}

/* What the thread would have waited in the steps near pauses without them. */
static double slack_of(const struct timeline *timeline, const struct comparison *comparison)
{
	double far = 0, near = 0;

	for (size_t i = 0; i < comparison->far_count; i++)
		far += timeline->wait[comparison->far[i]];
	for (size_t i = 0; i < timeline->count; i++)
		near += comparison->role[i] == ROLE_NEAR;
	return comparison->far_count ? fmax(far / (double)comparison->far_count, 0) * near : 0;
}

/* The pauses' length less the waiting that they saved. 0 or -ENOMEM. */
static int set_waits(const struct comparison *comparison, const struct parts *parts,
	struct finding *ret)
{
	struct lags all = {0, comparison->reach}, few = {0, SHORT_LAGS};
	double whole = comparison->paused_ns, at, rest;
	double deviation = sqrt(lags_variance(comparison, parts->apart, all));
	double short_deviation = sqrt(lags_variance(comparison, parts->apart, few));

	if (isnan(deviation) || isnan(short_deviation))
		return -ENOMEM;
	deviation = fmax(deviation, LEAST_ERROR * whole);
	ret->ns = whole + lags_sum(comparison, parts->apart, all);
	ret->low = ret->ns - z95(comparison) * deviation;
	ret->high = ret->ns + z95(comparison) * deviation;
	at = whole + lags_sum(comparison, parts->apart, few);
	rest = sqrt(fmax(deviation * deviation - short_deviation * short_deviation, 0));
	if (rest <= 0.02 * whole && fabs(ret->ns - at) <= 2 * rest) {
		ret->ns = at;
		ret->low = fmin(ret->low, at);
		ret->high = fmax(ret->high, at);
	}
	return widen_by_tail(comparison, parts->apart, ret);
}

static int find_after(const struct comparison *comparison, const struct parts *parts,
	struct after *ret)
{
	static const struct lags at = {0, 1}, later = {1, AFTER_LAGS};

	ret->at = lags_sum(comparison, parts->work, at);
	ret->later = lags_sum(comparison, parts->work, later);
	ret->at_deviation = sqrt(lags_variance(comparison, parts->work, at));
	ret->later_deviation = sqrt(lags_variance(comparison, parts->work, later));
	return isnan(ret->at_deviation) || isnan(ret->later_deviation) ? -ENOMEM : 0;
}

/*
 * Work that is longer after the paused step is an effect of the pause, and then so is what is longer in it, unless that
 * is out of proportion. Longer work in the paused step alone was there anyway: it may be why the collector ran.
 */
static void add_after(const struct comparison *comparison, const struct parts *parts,
	const struct after *after, struct finding *ret)
{
	double shown = 1 + parts->slope; /* of longer work; the rest is waited less */
	double whole = comparison->paused_ns, more, deviation;

	if (!comparison->by_work && after->later > SURE * after->later_deviation &&
		after->later > AFTER_LEAST * whole && after->later < whole) {
		more = after->later;
		if (fabs(after->at) <= 2 * after->later + 2 * after->at_deviation)
			more += after->at;
		deviation = shown * z95(comparison) *
			    hypot(after->at_deviation, after->later_deviation);
		ret->low = ret->ns + shown * more - hypot(ret->ns - ret->low, deviation);
		ret->high = ret->ns + shown * more + hypot(ret->high - ret->ns, deviation);
		ret->ns += shown * more;
		return;
	}
	if (comparison->locked || comparison->by_work)
		return;
	more = after->at + after->later + 2 * hypot(after->at_deviation, after->later_deviation);
	ret->high += shown * fmin(fmax(more, 0), AFTER_MOST * whole);
}

/* Of locked pauses: what other things do in the same steps is known as far as the thread does it. 0 or -ENOMEM. */
static int judge_waits(const struct timeline *timeline, const struct comparison *comparison,
	const struct parts *parts, struct finding *finding)
{
	_cleanup_free_ double *longer = calloc(timeline->count + 1, sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++)
		longer[i] = parts->apart[i] + (comparison->paused[i] ? timeline->overlap[i] : 0);
	return judge_locked(timeline, comparison, longer, finding);
}

int measure_lost(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *ret)
{
	_cleanup_(parts_release) struct parts parts = {};
	double whole = comparison->paused_ns, slack = slack_of(timeline, comparison);
	struct after after;

	if (parts_make(timeline, comparison, &parts) || find_after(comparison, &parts, &after))
		return -ENOMEM;
	set_apart(comparison, &after, &parts);
	if (slack <= NEVER * whole || waited(timeline) <= NEVER * whole + NEVER_GRAIN) {
		*ret = (struct finding){
			whole, whole - fmin(slack, SLACK_MOST * whole), whole, .all = true};
		parts.slope = 0;
	} else if (leave_out_short(timeline, comparison, true, whole, parts.apart) ||
		   set_waits(comparison, &parts, ret)) {
		return -ENOMEM;
	}
	if (!ret->all && comparison->locked && judge_waits(timeline, comparison, &parts, ret))
		return -ENOMEM;
	if (waited(timeline) > NEVER_GRAIN && carry_over(timeline, comparison, timeline->wait, ret))
		return -ENOMEM;
	add_after(comparison, &parts, &after, ret);
	return 0;
}

/* Sums over so many steps: what a pause changes in the steps after it is within. */
#define BLOCK	     8
#define DOSE_ERROR   0.2  /* the most by which the share of a pause that is paid may be uncertain */
#define DOSE_WIDEN   1.25 /* neighbouring differences are not independent */
#define HIDDEN_LEAST 0.05 /* the lower end of that share where nothing is paid */
#define HIDDEN_MOST  0.45 /* its upper end */
#define PAID_LEAST   0.55
#define WAITS	     0.05 /* of its time: a thread that waits as much still waits at its pauses' ends */

/* Of a block of steps less the mean of its neighbours: neither level nor trend is left. */
static double change(const double *values, size_t block)
{
	double sums[3] = {};

	for (size_t j = 0; j < 3; j++)
		for (size_t i = 0; i < BLOCK; i++)
			sums[j] += values[(block - 1 + j) * BLOCK + i];
	return sums[1] - (sums[0] + sums[2]) / 2;
}

/* The durations of blocks against their overlaps, work being given: the slope, and its standard deviation. */
static double dose_of(const struct timeline *timeline, double *deviation)
{
	double oo = 0, ow = 0, ww = 0, od = 0, wd = 0, dd = 0, det, paid, worked, n = 0;

	for (size_t i = 3; (i + 2) * BLOCK <= timeline->count; i++) {
		double o = change(timeline->overlap, i), w = change(timeline->work, i);
		double d = change(timeline->duration, i);

		oo += o * o;
		ow += o * w;
		ww += w * w;
		od += o * d;
		wd += w * d;
		dd += d * d;
		n++;
	}
	det = oo * ww - ow * ow;
	*deviation = INFINITY;
	if (n < 8 || det <= 1e-9 * oo * ww)
		return 0;
	paid = (od * ww - wd * ow) / det;
	worked = (wd * oo - od * ow) / det;
	*deviation = DOSE_WIDEN * sqrt(fmax(dd - paid * od - worked * wd, 0) / (n - 2) * ww / det);
	return paid;
}

void measure_dense(const struct timeline *timeline, struct finding *ret)
{
	double whole = 0, time = 0, wait = waited(timeline), deviation, paid, low, high;

	for (size_t i = 0; i < timeline->count; i++) {
		whole += timeline->overlap[i];
		time += timeline->duration[i];
	}
	*ret = (struct finding){whole, whole - fmin(fmax(wait, 0), SLACK_MOST * whole), whole};
	if (wait <= NEVER * whole + (timeline->count > STEPS_NEEDED ? NEVER_GRAIN : 0))
		return;
	paid = dose_of(timeline, &deviation);
	low = paid - 2 * deviation;
	high = paid + 2 * deviation;
	ret->untold = untold_dense;
	if (deviation > DOSE_ERROR)
		return;
	if (low <= HIDDEN_LEAST && high <= HIDDEN_MOST)
		*ret = (struct finding){0, fmin(low, 0) * whole, fmax(high, 0.02) * whole};
	else if (high >= 1 - HIDDEN_LEAST && low >= PAID_LEAST && wait > WAITS * time)
		*ret = (struct finding){whole, fmin(low, 1) * whole, fmax(high, 1) * whole};
}
