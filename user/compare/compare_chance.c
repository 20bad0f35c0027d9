/* Figures of runs in; the interval of a change, and whether it is more than chance, out. */
#include <math.h>

#include "compare_priv.h"

/*
 * Chances of a false "better" or "worse", each. Of one run against one the spread between runs is a guess and three
 * figures are judged: hence so little. Of several runs the mean is what is asked about; the others add to it.
 */
#define CHANCE_OF_ONE  0.005
#define CHANCE_OF_MEAN 0.05
#define CHANCE_OF_REST 0.0025
#define POWER_Z	       0.8416 /* four of five */
/*
 * What is said of the spread between runs weighs as much as so many degrees of freedom, unless the runs contradict it
 * as chance would once in a hundred times.
 */
#define PRIOR_DF   32
#define CONTRADICT 2.3263
#define TAIL	   3 /* p99 and shares differ between runs by so many times what the mean does */

/* Acklam's rational approximation in the tails' and the middle's ranges; the error is below 2e-9. */
static double normal(double p)
{
	static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
		-2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00,
		2.938163982698783e+00};
	static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
		2.445134137142996e+00, 3.754408661907416e+00};
	static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
		-2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01,
		2.506628277459239e+00};
	static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
		-1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01};
	double q, r;

	if (p < 0.02425) {
		q = sqrt(-2 * log(p));
		return -(((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
		       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	q = 0.5 - p;
	r = q * q;
	return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
	       (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/* One and two degrees have closed forms; the others Cornish and Fisher's expansion, within 1 % from three on. */
double compare_t(double p, double df)
{
	double z = normal(p), z2 = z * z;

	if (!(df > 0))
		return z;
	if (df < 1.5)
		return 1 / tan(M_PI * p);
	if (df < 2.5)
		return (1 - 2 * p) * sqrt(2 / (4 * p * (1 - p)));
	return z + z * (z2 + 1) / 4 / df + z * ((5 * z2 + 16) * z2 + 3) / 96 / (df * df) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384 / (df * df * df) +
	       z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160 /
		       (df * df * df * df);
}

/* What is known of one figure: of logarithms, or of a share as it is. */
struct sample {
	double mean[2], square, down[2],
		up[2]; /* square: sum of squared deviations within the sides */
	size_t count[2];
};

/* Where all values exceed 0. */
static bool all_positive(const struct compare_side sides[2])
{
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < sides[s].count; i++)
			if (!(sides[s].figures[i]->value > 0))
				return false;
	return true;
}

static struct sample sample(const struct compare_side sides[2], bool logs)
{
	struct sample ret = {};

	for (size_t s = 0; s < 2; s++) {
		double squares = 0;

		ret.count[s] = sides[s].count;
		for (size_t i = 0; i < sides[s].count; i++) {
			const struct compare_figure *figure = sides[s].figures[i];
			double value = logs ? log(figure->value) : figure->value;
			double scale = logs ? 1 : figure->value;

			ret.mean[s] += value;
			squares += value * value;
			ret.down[s] += scale * figure->down * scale * figure->down;
			ret.up[s] += scale * figure->up * scale * figure->up;
		}
		ret.mean[s] /= (double)sides[s].count;
		ret.square += fmax(0, squares - (double)sides[s].count * ret.mean[s] * ret.mean[s]);
		ret.down[s] = sqrt(ret.down[s] / (double)sides[s].count);
		ret.up[s] = sqrt(ret.up[s] / (double)sides[s].count);
	}
	return ret;
}

/* How far a change may be from what was found, in standard errors that may differ below and above. */
struct spread {
	double low, high, df;
};

/* Of one run against one: chance in what came into them, with @between added. */
static struct spread of_one(const struct sample *one, double between)
{
	return (struct spread){
		.low = sqrt(one->up[0] * one->up[0] + one->down[1] * one->down[1] +
			    2 * between * between),
		.high = sqrt(one->down[0] * one->down[0] + one->up[1] * one->up[1] +
			     2 * between * between),
	};
}

/* The variance of @df degrees that chance exceeds, or stays below, once in a hundred times, ÷ its mean: Wilson, Hilferty. */
static double contradicting(double df, double z)
{
	double root = 1 - 2 / (9 * df) + z * sqrt(2 / (9 * df));

	return root * root * root;
}

/* Of several: the spread between runs as it was measured, and @between if it goes with that (0: no such). */
static struct spread of_several(const struct sample *all, double between)
{
	double df = (double)(all->count[0] + all->count[1] - 2), variance = all->square / df;
	double within = (all->down[0] * all->down[0] + all->up[0] * all->up[0] +
				all->down[1] * all->down[1] + all->up[1] * all->up[1]) /
			4;
	double prior = between * between + (isfinite(within) ? within : 0);
	double error;

	if (between > 0 && variance < prior * contradicting(df, CONTRADICT) &&
		variance > prior * contradicting(df, -CONTRADICT)) {
		variance = (PRIOR_DF * prior + df * variance) / (PRIOR_DF + df);
		df += PRIOR_DF;
	}
	error = sqrt(variance * (1 / (double)all->count[0] + 1 / (double)all->count[1]));
	return (struct spread){error, error, df};
}

static void set_interval(struct comparison *item, double found, const struct spread *spread,
	double t, bool logs)
{
	double low = found - t * spread->low, high = found + t * spread->high;

	if (!(spread->low > 0) || !isfinite(spread->low) || !isfinite(spread->high) ||
		!(item->before > 0))
		return;
	item->has_interval = true;
	item->low = fmin(logs ? expm1(low) : low / item->before, item->change);
	item->high = fmax(logs ? expm1(high) : high / item->before, item->change);
}

static double excess(const struct comparison *item, enum compare_kind kind)
{
	return kind == KIND_SHARE ? item->after - item->before : item->change;
}

/*
 * Whether the longest of @one exceed all of @other by more than runs differ, each in another block: if all blocks were
 * alike, each of the first would be of @one with the chance of its part of them.
 */
static bool exceeds(const struct lengths *one, const struct lengths *other, double ratio)
{
	double chance = 1, part = (double)one->count / (double)(one->count + other->count);

	if (!one->count || !other->count)
		return false;
	for (size_t i = 0; i < one->count && chance > CHANCE_OF_ONE; i++) {
		if (one->items[i] <= ratio * other->items[0])
			return false;
		chance *= part;
	}
	return chance <= CHANCE_OF_ONE;
}

/* Where it is known what of the steps is not waiting, that has to exceed, too. */
static bool exceeds_own(const struct compare_run *one, const struct compare_run *other,
	double ratio)
{
	if (!exceeds(&one->worst, &other->worst, ratio))
		return false;
	return !one->worst_own.count || !other->worst_own.count ||
	       exceeds(&one->worst_own, &other->worst_own, ratio);
}

static enum compare_change judge_worst(const struct compare_side sides[2], double run_to_run)
{
	double ratio = exp(compare_t(CHANCE_OF_ONE, 0) * sqrt(2) * run_to_run);

	if (exceeds_own(sides[1].runs[0], sides[0].runs[0], ratio))
		return CHANGE_WORSE;
	return exceeds_own(sides[0].runs[0], sides[1].runs[0], ratio) ? CHANGE_BETTER
								      : CHANGE_UNKNOWN;
}

/*
 * What of the change @found the thread's own work accounts for, waiting as long as in the run that waited less: of one
 * run against one, longer waits cannot be told from a busier machine.
 */
static double own_change(const struct compare_side sides[2], double found)
{
	const struct compare_figure *one = sides[0].figures[0], *other = sides[1].figures[0];
	double rest = fmin(one->value - one->own, other->value - other->own);

	return isfinite(rest) && one->own + rest > 0 && other->own + rest > 0
		       ? log((other->own + rest) / (one->own + rest))
		       : found;
}

/* @found, @own: the change, and what is not waiting of it, either of which may be chance. */
static enum compare_change judge_change(const struct comparison *item, double found, double own,
	const struct spread *spread, double t, double tolerance)
{
	if (fmin(found, own) - t * spread->low > 0)
		return CHANGE_WORSE;
	if (fmax(found, own) + t * spread->high < 0)
		return CHANGE_BETTER;
	return item->detectable > 0 && item->detectable <= tolerance ? CHANGE_NONE : CHANGE_UNKNOWN;
}

static bool one_against_one(const struct compare_side sides[2])
{
	return sides[0].count == 1 && sides[1].count == 1;
}

/* Of one against one what is known of chance within them; of several what they vary. */
static void show_interval(const struct compare_side sides[2], const struct compare_rule *rule,
	struct comparison *item)
{
	bool logs = all_positive(sides);
	struct sample all = sample(sides, logs);
	double found = all.mean[1] - all.mean[0];
	struct spread spread;

	if (one_against_one(sides)) {
		spread = of_one(&all, 0);
		set_interval(item, found, &spread, compare_t(0.025, 0), logs);
		return;
	}
	spread = of_several(&all, sides[0].figures[0]->kind == KIND_MEAN ? rule->run_to_run : 0);
	set_interval(item, found, &spread, compare_t(0.05, spread.df), logs);
}

/* The spread to judge by, and how many times it is too much for chance. */
static struct spread judge_by(const struct compare_side sides[2], const struct compare_rule *rule,
	const struct sample *all, double *ret_t)
{
	const enum compare_kind kind = sides[0].figures[0]->kind;
	double between = rule->run_to_run;
	struct spread spread;

	if (!one_against_one(sides)) {
		spread = of_several(all, kind == KIND_MEAN ? between : 0);
		*ret_t = compare_t(kind == KIND_MEAN ? CHANCE_OF_MEAN : CHANCE_OF_REST, spread.df);
		return spread;
	}
	between *= kind == KIND_MEAN ? 1 : TAIL;
	if (kind == KIND_SHARE)
		between *= sqrt((all->mean[0] * all->mean[0] + all->mean[1] * all->mean[1]) / 2);
	*ret_t = compare_t(CHANCE_OF_ONE, 0);
	return of_one(all, between);
}

void compare_judge(const struct compare_side sides[2], const struct compare_rule *rule,
	struct comparison *item)
{
	const enum compare_kind kind = sides[0].figures[0]->kind;
	bool logs = kind != KIND_SHARE, one = one_against_one(sides);
	struct sample all;
	struct spread spread;
	double found, t;

	show_interval(sides, rule, item);
	if (kind == KIND_FACT || (logs && !all_positive(sides)))
		return;
	all = sample(sides, logs);
	found = all.mean[1] - all.mean[0];
	spread = judge_by(sides, rule, &all, &t);
	if (logs && kind != KIND_WORST && isfinite(spread.low))
		item->detectable = expm1((t + POWER_Z) * spread.low);
	item->judged =
		one && kind == KIND_WORST
			? judge_worst(sides, rule->run_to_run)
			: judge_change(item, found, one && logs ? own_change(sides, found) : found,
				  &spread, t, rule->tolerance);
	item->breach = item->judged == CHANGE_WORSE && excess(item, kind) > rule->tolerance;
}
