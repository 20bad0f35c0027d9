/*
 * Values of a track's steps in; what of them the level and the period of the work around do not explain, and how much
 * its sums vary by chance, out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"

#define SHARE_POWER   8 /* short pauses are hidden by what hides a small part of long ones */
#define SHARE_ROUNDS  8 /* until what short pauses cost agrees with what that leaves of long ones */
#define PERIOD_MOST   64    /* steps */
#define PERIOD_STEPS  65536 /* at most so many are searched for one */
#define PERIOD_SIGMAS 5.0   /* by which it exceeds chance */
#define PERIOD_SHARE  0.15  /* of the variance that it explains at least */
#define PERIOD_NEAR   0.9   /* of the best share: the shortest such period is taken */
#define PHASE_LEAST   3	    /* far steps that tell what a phase takes */

#define TAIL_SIGMAS 1.5 /* beyond which what is late in the reach is taken to go on after it */

#define LOCKED_PAUSES 0.7 /* of the pauses, in the same phase of a period */
#define LOCKED_STEPS  0.6 /* of the steps in that phase */
#define LOCKED_MOST   4.0 /* distances between pauses: no longer period is looked for */
#define FEW_PAUSES    4	  /* fewer are not told from chance */

double *comparison_sums(const struct comparison *comparison, const double *values)
{
	double *sums = calloc(comparison->far_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < comparison->far_count; i++)
		sums[i + 1] = sums[i] + values[comparison->far[i]];
	return sums;
}

double comparison_mean(const struct comparison *comparison, const double *sums, size_t i)
{
	size_t from = comparison->from[i], to = comparison->to[i];

	return to > from ? (sums[to] - sums[from]) / (double)(to - from) : 0;
}

static int less_level(const struct comparison *comparison, const double *values, double *ret)
{
	_cleanup_free_ double *sums = comparison_sums(comparison, values);

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++)
		ret[i] = values[i] - comparison_mean(comparison, sums, i);
	return 0;
}

/* The mean of the far steps of each phase; a phase with too few of them: 0. */
struct phases {
	double sum[PERIOD_MOST];
	size_t count[PERIOD_MOST];
};

static void add_phases(const struct comparison *comparison, const double *residuals, size_t far,
	size_t period, struct phases *ret)
{
	*ret = (struct phases){};
	for (size_t i = 0; i < far; i++) {
		uint32_t step = comparison->far[i], phase = step % (uint32_t)period;

		ret->sum[phase] += residuals[step];
		ret->count[phase]++;
	}
}

int residuals_of(const struct comparison *comparison, const double *values, double *ret)
{
	_cleanup_free_ double *flat = NULL;
	size_t period = comparison->period;
	struct phases phases;
	int r = less_level(comparison, values, ret);

	if (r || period < 2)
		return r;
	flat = calloc(comparison->count + 1, sizeof(*flat));
	if (!flat)
		return -ENOMEM;
	add_phases(comparison, ret, comparison->far_count, period, &phases);
	for (size_t i = 0; i < comparison->count; i++) {
		size_t phase = i % period, count = phases.count[phase];

		flat[i] = values[i] - (count < PHASE_LEAST ? 0 : phases.sum[phase] / (double)count);
	}
	return less_level(comparison, flat, ret);
}

/* The share of the variance @total that @period explains, less what as many free means would by chance; 0: no more. */
static double explained(const struct comparison *comparison, const double *residuals, size_t far,
	size_t period, double total)
{
	double within = 0, rest, ratio;
	struct phases phases;
	size_t used = 0;

	add_phases(comparison, residuals, far, period, &phases);
	for (size_t i = 0; i < period; i++)
		if (phases.count[i]) {
			within += phases.sum[i] * phases.sum[i] / (double)phases.count[i];
			used++;
		}
	if (used < 2 || far <= used)
		return 0;
	rest = fmax(total - within, 1e-9 * total) / (double)(far - used);
	ratio = within / (double)(used - 1) / rest;
	if (ratio < 1 + PERIOD_SIGMAS * sqrt(2 / (double)(used - 1)))
		return 0;
	return 1 - rest / (total / (double)(far - 1));
}

size_t residuals_period(const struct comparison *comparison, const double *residuals)
{
	size_t far = comparison->far_count < PERIOD_STEPS ? comparison->far_count : PERIOD_STEPS;
	double shares[PERIOD_MOST + 1] = {}, best = 0, total = 0;

	for (size_t i = 0; i < far; i++)
		total += residuals[comparison->far[i]] * residuals[comparison->far[i]];
	if (!(total > 0))
		return 1;
	for (size_t period = 2; period < PERIOD_MOST && period <= far / 4; period++) {
		shares[period] = explained(comparison, residuals, far, period, total);
		best = fmax(best, shares[period]);
	}
	if (best < PERIOD_SHARE)
		return 1;
	for (size_t period = 2; period < PERIOD_MOST; period++)
		if (shares[period] >= PERIOD_NEAR * best)
			return period;
	return 1;
}

double lags_sum(const struct comparison *comparison, const double *residuals, struct lags lags)
{
	double sum = 0;

	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->role[i] == ROLE_NEAR && comparison->lag[i] >= lags.from &&
			comparison->lag[i] < lags.to)
			sum += residuals[i];
	return sum;
}

/* The mean square of sums over @length far steps in a row, per step; NAN: there are too few of them. */
static double square_of(const struct comparison *comparison, const double *residuals, size_t length)
{
	double sum = 0, squares = 0;
	size_t run = 0, found = 0;

	for (size_t i = 0; i < comparison->far_count; i++) {
		const uint32_t *far = &comparison->far[i];

		if (run && far[0] != far[-1] + 1)
			run = 0;
		if (!run)
			sum = 0;
		sum += residuals[*far];
		if (run == length)
			sum -= residuals[*far - length];
		else
			run++;
		if (run == length) {
			squares += sum * sum;
			found++;
		}
	}
	if (found < 2 * length)
		return NAN;
	return squares / (double)found / (double)length;
}

double long_variance(const struct comparison *comparison, const double *residuals, uint32_t length)
{
	double around = fmin((double)comparison->far_count, 128), square = NAN;

	for (; length && isnan(square); length /= 2)
		square = square_of(comparison, residuals, length) /
			 fmax(1 - (double)length / around, 0.5); /* the level follows them */
	return isnan(square) ? 0 : square;
}

/*
 * The variance of steps both far and late in the reach, as a share of that of far ones alone. Where a few steps are very
 * long, few of them among the far steps make both their mean and their variance small; the late ones weigh on the other
 * side of the sum, so of both together the variance does not go with the estimate.
 */
static double spread_of_both(const struct comparison *comparison, const double *residuals)
{
	double far = 0, late = 0, sum = 0, n = 0, all = (double)comparison->far_count;

	for (size_t i = 0; i < comparison->count; i++) {
		if (comparison->role[i] == ROLE_FAR) {
			far += residuals[i] * residuals[i];
		} else if (comparison->role[i] == ROLE_NEAR &&
			   comparison->lag[i] >= comparison->reach / 2) {
			sum += residuals[i];
			late += residuals[i] * residuals[i];
			n++;
		}
	}
	if (!(far > 0) || n < 2)
		return 1;
	late -= sum * sum / n;
	return (far + late) / (all + n) / (far / all);
}

double lags_variance(const struct comparison *comparison, const double *residuals, struct lags lags)
{
	/* Each step near a pause weighs 1, and so much less each far one around it. */
	_cleanup_free_ double *change = calloc(comparison->far_count + 1, sizeof(*change));
	double weights = 0, weight = 0;

	if (!change)
		return NAN;
	for (size_t i = 0; i < comparison->count; i++) {
		size_t from = comparison->from[i], to = comparison->to[i];

		if (comparison->role[i] != ROLE_NEAR || comparison->lag[i] < lags.from ||
			comparison->lag[i] >= lags.to)
			continue;
		weights++;
		change[from] += 1 / (double)(to - from);
		change[to] -= 1 / (double)(to - from);
	}
	for (size_t i = 0; i < comparison->far_count; i++) {
		weight += change[i];
		weights += weight * weight;
	}
	return weights * long_variance(comparison, residuals, lags.to - lags.from) *
	       spread_of_both(comparison, residuals);
}

/*
 * Whether most pauses are in phases of @period whose steps nearly all have one. @counts: all 0, and left so.
 */
static bool share_phases(const struct comparison *comparison, const uint32_t *pauses, size_t count,
	uint32_t period, uint32_t *counts)
{
	size_t shared = 0;

	for (size_t i = 0; i < count; i++)
		counts[pauses[i] % period]++;
	for (size_t i = 0; i < count; i++) {
		uint32_t phase = pauses[i] % period;
		size_t steps = (comparison->count - phase + period - 1) / period;

		if ((double)counts[phase] >= LOCKED_STEPS * (double)steps)
			shared += counts[phase];
		counts[phase] = 0;
	}
	return (double)shared >= LOCKED_PAUSES * (double)count;
}

int widen_by_tail(const struct comparison *comparison, const double *residuals,
	struct finding *finding)
{
	struct lags tail = {comparison->reach / 2, comparison->reach};
	double sum = lags_sum(comparison, residuals, tail);
	double deviation = sqrt(lags_variance(comparison, residuals, tail));

	if (isnan(deviation))
		return -ENOMEM;
	if (fabs(sum) > TAIL_SIGMAS * deviation)
		*(sum < 0 ? &finding->low : &finding->high) += sum;
	return 0;
}

double z95(const struct comparison *comparison)
{
	double runs = (double)comparison->far_count / comparison->reach;

	return 2.2 * sqrt(1 + 3 / fmax(runs, 1));
}

double share_of_short(double share)
{
	return pow(fmin(fmax(share, 0), 1), SHARE_POWER);
}

/* By how much more short pauses take of each step than of far ones, in ns. 0 or -ENOMEM. */
static int short_residuals(const struct timeline *timeline, const struct comparison *comparison,
	double *ret)
{
	_cleanup_free_ double *shorts = calloc(timeline->count + 1, sizeof(*shorts));

	if (!shorts)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++)
		shorts[i] = comparison->paused[i] ? 0 : timeline->overlap[i];
	return residuals_of(comparison, shorts, ret);
}

int leave_out_short(const struct timeline *timeline, const struct comparison *comparison,
	bool waits, double more, double *values)
{
	_cleanup_free_ double *shorts = calloc(timeline->count + 1, sizeof(*shorts));
	struct lags all = {0, comparison->reach};
	double sum, fewer, share = 1;

	if (!shorts || short_residuals(timeline, comparison, shorts))
		return -ENOMEM;
	fewer = lags_sum(comparison, shorts, all);
	sum = more + lags_sum(comparison, values, all) + waits * fewer; /* if they cost nothing */
	for (int i = 0; i < SHARE_ROUNDS; i++)
		share = share_of_short((sum - share * fewer) / comparison->paused_ns);
	for (size_t i = 0; i < timeline->count; i++)
		values[i] += (waits - share) * shorts[i];
	return 0;
}

/* Whether most pauses are in phases of the work's own period of which there is no far step. */
static bool phase_unknown(const struct comparison *comparison, const uint32_t *pauses, size_t count)
{
	size_t far[PERIOD_MOST] = {}, unknown = 0;

	if (comparison->period < 2)
		return false;
	for (size_t i = 0; i < comparison->far_count; i++)
		far[comparison->far[i] % comparison->period]++;
	for (size_t i = 0; i < count; i++)
		unknown += far[pauses[i] % comparison->period] < PHASE_LEAST;
	return (double)unknown > (1 - LOCKED_PAUSES) * (double)count;
}

bool comparison_locked(const struct comparison *comparison, uint32_t *scratch)
{
	_cleanup_free_ uint32_t *pauses = calloc(comparison->count + 1, sizeof(*pauses));
	double distance;
	size_t count = 0;

	for (uint32_t i = 0; pauses && i < comparison->count; i++)
		if (comparison->paused[i] && (!i || !comparison->paused[i - 1]))
			pauses[count++] = i;
	if (!pauses || count < FEW_PAUSES || phase_unknown(comparison, pauses, count))
		return true;
	distance = (double)comparison->count / (double)count;
	for (uint32_t period = (uint32_t)fmax(2, distance / 1.5);
		period <= LOCKED_MOST * distance && period <= comparison->count / (FEW_PAUSES - 1);
		period++)
		if (share_phases(comparison, pauses, count, period, scratch))
			return true;
	return false;
}
