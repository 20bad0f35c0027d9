/* The steps of a track in; which are near pauses and which are far from any, to be held against them, out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"
#include "stats.h"

#define SMALL_SHARE   0.15 /* of the overlap: pauses too short to matter take no more together */
#define SMALL_LEAST   0.1  /* of a typical pause: nor is one of them longer */
#define AROUND	      128  /* steps on each side among which far ones are looked for */
#define FAR_LEAST     24
#define FAR_SHARE     0.2 /* of the steps around pauses */
#define FAR_MORE      0.3 /* the same, before the reach is made shorter than FAR_REACH */
#define FAR_REACH     12
#define BY_WORK_LEAST 8	  /* distances between pauses */
#define BY_WORK_CV    0.2 /* of the far steps */
#define BY_WORK_RATIO 0.6 /* of the variances of the distances, in work and in steps */
#define ODD_RATIO     3	  /* times the deviation that 1 far step in 200 exceeds */
#define ODD_SHARE     200 /* one step in so many may be odd; more are part of the work */
#define WARM_MOST     256 /* the second half of them says what a step usually takes */
#define WARM_SIDE     9
#define WARM_RATIO    1.2
#define WARM_UP	      20 /* steps, of a long track: queues fill, caches warm, programs are compiled */

void comparison_release(struct comparison *comparison)
{
	free(comparison->paused);
	free(comparison->lag);
	free(comparison->role);
	free(comparison->far);
	free(comparison->from);
	free(comparison->to);
	vec_free(&comparison->regimes.starts);
}

/* The longest overlap that is too short to matter; 0: none is. */
static int find_small(const struct timeline *timeline, double *ret)
{
	_cleanup_free_ double *sorted = calloc(timeline->count + 1, sizeof(*sorted));
	double total = 0, squares = 0, sum = 0;
	size_t count = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++) {
		double overlap = timeline->overlap[i];

		total += overlap;
		squares += overlap * overlap;
		if (overlap > 0)
			sorted[count++] = overlap;
	}
	stats_sort_real(sorted, count);
	*ret = 0;
	for (size_t i = 0; i < count; i++) {
		sum += sorted[i];
		if (sum > SMALL_SHARE * total || sorted[i] > SMALL_LEAST * squares / total)
			break;
		if (i + 1 == count || sorted[i + 1] > sorted[i])
			*ret = sorted[i];
	}
	return 0;
}

static void set_lags(const struct timeline *timeline, double small, struct comparison *ret)
{
	uint32_t lag = UINT32_MAX;

	for (size_t i = 0; i < timeline->count; i++) {
		ret->paused[i] = timeline->overlap[i] > small;
		if (ret->paused[i])
			lag = 0;
		else if (lag != UINT32_MAX)
			lag++;
		ret->lag[i] = lag;
		if (!ret->paused[i])
			ret->small_ns += timeline->overlap[i];
	}
}

/* Whether @reach leaves enough far steps around the pauses. */
static bool leaves_enough(const struct comparison *comparison, uint32_t reach)
{
	size_t near = 0, far = 0, since = SIZE_MAX, until = 0;

	/* A far step counts if a pause is not too long ago, or comes soon. */
	for (size_t i = 0; i < comparison->count; i++) {
		if (i >= until) {
			until = i + 1;
			while (until < comparison->count && !comparison->paused[until])
				until++;
		}
		since = comparison->paused[i] ? 0 : since == SIZE_MAX ? since : since + 1;
		if (comparison->lag[i] < reach)
			near++;
		else if (since < AROUND / 2 ||
			 (until < comparison->count && until - i < AROUND / 2))
			far++;
	}
	return far >= FAR_LEAST &&
	       (double)far >= (reach < FAR_REACH ? FAR_SHARE : FAR_MORE) * (double)(far + near);
}

static void choose_reach(struct comparison *comparison)
{
	static const uint32_t reaches[] = {20, 16, 12, 10, 8, 6, 5, 4};

	for (size_t i = 0; i < sizeof(reaches) / sizeof(*reaches); i++)
		if (leaves_enough(comparison, reaches[i])) {
			comparison->reach = reaches[i];
			return;
		}
}

/* Steps at the start that are longer than what follows. 0 for a short track; SIZE_MAX when memory is out. */
static size_t warm_up(const struct timeline *timeline)
{
	_cleanup_free_ uint64_t *values = calloc(WARM_MOST, sizeof(*values));
	size_t warm = timeline->count / WARM_UP < WARM_UP ? timeline->count / WARM_UP : WARM_UP;
	double usual;

	if (!values)
		return SIZE_MAX;
	if (timeline->count < 2 * WARM_MOST)
		return warm;
	for (size_t i = 0; i < WARM_MOST; i++)
		values[i] = stats_whole(timeline->duration[i] - timeline->overlap[i]);
	usual = (double)stats_median(values + WARM_MOST / 2, WARM_MOST / 2);
	while (warm < WARM_MOST / 2 &&
		(double)stats_median(values + warm, WARM_SIDE) > WARM_RATIO * usual)
		warm++;
	return warm;
}

/* The start of a long track, and all that follows a pause there, is left out. 0 or -ENOMEM. */
static int set_roles(const struct timeline *timeline, struct comparison *ret)
{
	size_t warm = warm_up(timeline);

	if (warm == SIZE_MAX)
		return -ENOMEM;

	while (warm && warm < timeline->count && !ret->paused[warm] && ret->lag[warm] < ret->reach)
		warm++;
	for (size_t i = 0; i < timeline->count; i++)
		if (i < warm || (timeline->blank && timeline->blank[i]))
			ret->role[i] = ROLE_LEFT_OUT;
		else
			ret->role[i] = ret->lag[i] < ret->reach ? ROLE_NEAR : ROLE_FAR;
	return 0;
}

void comparison_place(struct comparison *comparison)
{
	const struct regimes *regimes = &comparison->regimes;
	size_t regime = 0, from = 0, to = 0;

	comparison->far_count = 0;
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->role[i] == ROLE_FAR)
			comparison->far[comparison->far_count++] = (uint32_t)i;
	for (size_t i = 0; i < comparison->count; i++) {
		size_t first, last = comparison->count;

		while (regime + 1 < regimes->starts.count && regimes->starts.items[regime + 1] <= i)
			regime++;
		first = regimes->starts.items[regime];
		if (regime + 1 < regimes->starts.count)
			last = regimes->starts.items[regime + 1];
		if (i > AROUND && i - AROUND > first)
			first = i - AROUND;
		if (i + AROUND + 1 < last)
			last = i + AROUND + 1;
		while (from < comparison->far_count && comparison->far[from] < first)
			from++;
		while (to < comparison->far_count && comparison->far[to] < last)
			to++;
		comparison->from[i] = from;
		comparison->to[i] = to;
		if (comparison->role[i] == ROLE_NEAR && to - from < STEPS_NEEDED)
			comparison->role[i] = ROLE_LEFT_OUT;
	}
}

/* The first step of the regime that begins before the far step @to: the first that resembles it more than @from. */
static size_t start_of(const struct timeline *timeline, size_t from, size_t to)
{
	double before = timeline->duration[from] - timeline->overlap[from];
	double after = timeline->duration[to] - timeline->overlap[to];
	size_t start = to;

	while (start > from + 1) {
		double value = timeline->duration[start - 1] - timeline->overlap[start - 1];

		if (fabs(value - before) < fabs(value - after))
			break;
		start--;
	}
	return start;
}

/* @levels: durations of far steps less their period. What lies between far steps of two regimes is left out. */
static int split_regimes(const struct timeline *timeline, const uint64_t *levels,
	struct comparison *comparison)
{
	struct regimes found = {};
	int r = regimes_find(levels, comparison->far_count, &found);

	for (size_t i = 1; !r && i < found.starts.count; i++) {
		size_t before = comparison->far[found.starts.items[i] - 1];
		size_t after = comparison->far[found.starts.items[i]];
		size_t *added = vec_add(&comparison->regimes.starts);

		if (!added) {
			r = -ENOMEM;
			break;
		}
		*added = start_of(timeline, before, after);
		while (++before < after)
			comparison->role[before] = ROLE_LEFT_OUT;
	}
	vec_free(&found.starts);
	return r;
}

/* Periods do not see regimes and regimes do not see periods: first the former, against the level around. */
static int set_period_and_regimes(const struct timeline *timeline, const double *durations,
	struct comparison *ret)
{
	_cleanup_free_ double *residuals = calloc(ret->count + 1, sizeof(*residuals));
	_cleanup_free_ uint64_t *levels = calloc(ret->count + 1, sizeof(*levels));
	_cleanup_free_ double *sums = comparison_sums(ret, durations);

	ret->period = 1;
	if (!residuals || !levels || !sums || residuals_of(ret, durations, residuals))
		return -ENOMEM;
	ret->period = residuals_period(ret, residuals);
	if (!ret->period || residuals_of(ret, durations, residuals))
		return -ENOMEM;
	for (size_t i = 0; i < ret->far_count; i++)
		levels[i] = stats_whole(residuals[ret->far[i]] +
					comparison_mean(ret, sums, ret->far[i]));
	if (split_regimes(timeline, levels, ret))
		return -ENOMEM;
	comparison_place(ret);
	return 0;
}

/* With a step, all that one pause did, and what follows: a queue makes up for a long step in the next ones. */
static void leave_out_odd(struct comparison *comparison, const double *residuals, double limit)
{
	for (size_t i = 0; i < comparison->count; i++) {
		size_t from = i, to = i + 1;

		if (!(residuals[i] > limit) || comparison->role[i] == ROLE_LEFT_OUT)
			continue;
		while (comparison->lag[from] < comparison->reach && !comparison->paused[from])
			from--;
		while (to < comparison->count && to < i + comparison->reach &&
			!comparison->paused[to])
			to++;
		while (from < to)
			comparison->role[from++] = ROLE_LEFT_OUT;
	}
	comparison_place(comparison);
}

/* A few steps that are extremely long beside their pauses were so for another reason. */
static int find_odd(const struct timeline *timeline, const double *durations,
	struct comparison *ret)
{
	_cleanup_free_ double *residuals = calloc(ret->count + 1, sizeof(*residuals));
	_cleanup_free_ double *sorted = calloc(ret->far_count + 1, sizeof(*sorted));
	double limit;
	size_t odd = 0;

	if (!residuals || !sorted || residuals_of(ret, durations, residuals))
		return -ENOMEM;
	if (!ret->far_count)
		return 0;
	for (size_t i = 0; i < ret->far_count; i++)
		sorted[i] = fabs(residuals[ret->far[i]]);
	stats_sort_real(sorted, ret->far_count);
	limit = ODD_RATIO * sorted[ret->far_count - 1 - ret->far_count / ODD_SHARE];
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->paused[i])
			residuals[i] -= timeline->overlap[i];
		odd += ret->role[i] != ROLE_LEFT_OUT && residuals[i] > limit;
	}
	if (odd && odd <= 1 + ret->count / ODD_SHARE)
		leave_out_odd(ret, residuals, limit);
	return 0;
}

static void sum_up(const struct timeline *timeline, struct comparison *ret)
{
	for (size_t i = 0; i < timeline->count; i++) {
		if (!ret->paused[i])
			continue;
		if (ret->role[i] == ROLE_NEAR) {
			ret->pauses++;
			ret->paused_ns += timeline->overlap[i];
		} else {
			ret->left_ns += timeline->overlap[i];
		}
	}
}

static int allocate(size_t count, struct comparison *ret)
{
	size_t *start = vec_add(&ret->regimes.starts);

	ret->count = count;
	ret->paused = calloc(count + 1, sizeof(*ret->paused));
	ret->lag = calloc(count + 1, sizeof(*ret->lag));
	ret->role = calloc(count + 1, sizeof(*ret->role));
	ret->far = calloc(count + 1, sizeof(*ret->far));
	ret->from = calloc(count + 1, sizeof(*ret->from));
	ret->to = calloc(count + 1, sizeof(*ret->to));
	if (!start || !ret->paused || !ret->lag || !ret->role || !ret->far || !ret->from ||
		!ret->to)
		return -ENOMEM;
	*start = 0;
	return 0;
}

/*
 * Whether pauses come after a certain amount of work rather than of steps, as collections do that allocation triggers:
 * then long steps have more of them for being long. That shows where steps differ much.
 */
static bool goes_by_work(const struct timeline *timeline, const struct comparison *comparison)
{
	double steps = 0, work = 0, steps2 = 0, work2 = 0, count = 0, n = 0, t = 0, level = 0,
	       level2 = 0;
	bool begun = false;

	for (size_t i = 0; i < timeline->count; i++) {
		double left = timeline->duration[i] - timeline->overlap[i];

		if (comparison->paused[i] && begun) {
			steps += n;
			steps2 += n * n;
			work += t;
			work2 += t * t;
			count++;
		}
		if (comparison->paused[i]) {
			begun = true;
			n = t = 0;
		}
		n++;
		t += left;
	}
	for (size_t i = 0; i < comparison->far_count; i++) {
		double one = timeline->duration[comparison->far[i]];

		level += one;
		level2 += one * one;
	}
	/* Squares of coefficients of variation. */
	steps2 = steps2 * count / (steps * steps) - 1;
	work2 = work2 * count / (work * work) - 1;
	level2 = level2 * (double)comparison->far_count / (level * level) - 1;
	return count >= BY_WORK_LEAST && level2 > BY_WORK_CV * BY_WORK_CV &&
	       work2 < BY_WORK_RATIO * steps2;
}

int comparison_make(const struct timeline *timeline, struct comparison *ret)
{
	_cleanup_free_ double *durations = calloc(timeline->count + 1, sizeof(*durations));
	_cleanup_free_ uint32_t *scratch = NULL;
	double small;

	if (!durations || allocate(timeline->count, ret) || find_small(timeline, &small))
		return -ENOMEM;
	set_lags(timeline, small, ret);
	choose_reach(ret);
	if (!ret->reach)
		return 0;
	for (size_t i = 0; i < timeline->count; i++)
		durations[i] = timeline->duration[i] - (ret->paused[i] ? 0 : timeline->overlap[i]);
	if (set_roles(timeline, ret))
		return -ENOMEM;
	comparison_place(ret);
	if (set_period_and_regimes(timeline, durations, ret) || find_odd(timeline, durations, ret))
		return -ENOMEM;
	sum_up(timeline, ret);
	if (ret->far_count < FAR_LEAST)
		ret->reach = 0;
	scratch = calloc(timeline->count + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	ret->locked = ret->reach && comparison_locked(ret, scratch);
	ret->by_work = ret->reach && goes_by_work(timeline, ret);
	return 0;
}
