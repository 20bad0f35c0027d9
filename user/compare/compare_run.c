/* An attribution in; what is compared of it, with how much chance there is in each figure, out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "compare_priv.h"
#include "devices.h"
#include "stats.h"

#define BLOCKS	     2000 /* at most */
#define LEAST_BLOCKS 40	  /* if there are that many steps */
#define SEGMENTS     10	  /* in which a machine's load shows that blocks are too short for, … */
#define QUARTERS     4	  /* … and a trend */
#define KNOWN	     0.9  /* of the steps' work must be known */
#define STEPS_NEEDED 8	  /* fewer say nothing about chance */
#define SURE	     2.5 /* standard errors, where those of a quantile are not the same at any distance */
#define WARM_UP	     0.1 /* of the steps, which belong to a warm-up if one of them, less its pauses, … */
#define WARM_RATIO   5 /* … takes so many times the median */

/* The track that is compared. */
struct side {
	const struct attribution *attribution;
	const struct step_track *track;
	const struct track_cost *cost;
	size_t from,
		count; /* steps after the warm-up: a single compilation would outweigh every difference */
};

/* Durations of the steps after the warm-up, shortest first; the caller frees them. */
struct durations {
	uint64_t *all;
	uint64_t *own; /* what of each is not waiting: see step_own(); NULL: not known */
};

/* Sums over consecutive steps. */
struct block {
	double steps, time_ns, overlap_ns, above;
};

static bool add(struct compare_run *run, const char *name, const char *unit, double value)
{
	return compare_add(run, name, unit, value);
}

/*
 * The track that the rest of a training waits for: the one with most time, which steps/ sorts
 * first. Returns why there is none, or NULL.
 */
static const char *choose_track(struct side *side)
{
	const struct steps *steps = side->attribution->steps;

	if (!steps->tracks.count || !side->attribution->tracks.items[0].time_ns)
		return "no steps were found";
	if (!steps->tracks.items[0].measured)
		return "windows of time are not steps";
	if (!(steps->tracks.items[0].confidence >= STEP_CONFIDENT))
		return "the steps are not known with confidence";
	side->track = &steps->tracks.items[0];
	side->cost = &side->attribution->tracks.items[0];
	for (size_t i = 0; i < (size_t)(WARM_UP * (double)side->track->steps.count); i++)
		if (step_duration(&side->track->steps.items[i]) -
				side->cost->steps.items[i].overlap_ns >
			WARM_RATIO * side->cost->with.p50_ns)
			side->from = i + 1;
	side->count = side->track->steps.count - side->from;
	return NULL;
}

static bool knows_work(const struct side *side)
{
	size_t known = 0;

	for (size_t i = side->from; i < side->track->steps.count; i++)
		known += side->track->steps.items[i].work_ns >= 0;
	return known && (double)known >= KNOWN * (double)side->count;
}

/*
 * Of step @i, what its thread worked, and what others' pauses stopped it: the rest it waited, for a device, a loader, or
 * a processor that others used. All of it where that is not known.
 */
static uint64_t step_own(const struct side *side, size_t i)
{
	const struct step *step = &side->track->steps.items[side->from + i];
	const struct step_cost *cost = &side->cost->steps.items[side->from + i];
	uint64_t own_ns = (uint64_t)step->work_ns + cost->overlap_ns - cost->own_ns;

	return step->work_ns >= 0 && own_ns < step_duration(step) ? own_ns : step_duration(step);
}

/*
 * Where slow steps recur regularly, blocks of whole periods: then chance does not decide how many
 * of them a block contains.
 */
static size_t block_length(const struct side *side, size_t least_blocks)
{
	size_t every = (size_t)(side->cost->slow.every + 0.5);
	size_t length = side->count / least_blocks ? side->count / least_blocks : 1;

	if (least_blocks == LEAST_BLOCKS && length > STATS_WINDOW)
		length = STATS_WINDOW;
	if (side->count / length > BLOCKS)
		length = (side->count + BLOCKS - 1) / BLOCKS;
	if (!side->cost->slow.regular || every < 2 || side->count / every < STEPS_NEEDED)
		return length;
	return (length + every - 1) / every * every;
}

/* @above_ns: which steps count as slow. The caller frees it; NULL when memory is out. */
static struct block *make_blocks(const struct side *side, size_t length, uint64_t above_ns,
	size_t *ret_count)
{
	struct block *blocks = calloc(side->count / length + 1, sizeof(*blocks));

	for (size_t i = 0; blocks && i < side->count; i++) {
		struct block *block = &blocks[i / length];
		const struct step *step = &side->track->steps.items[side->from + i];

		block->steps++;
		block->time_ns += (double)step_duration(step);
		block->overlap_ns += (double)side->cost->steps.items[side->from + i].overlap_ns;
		block->above += step_duration(step) > above_ns;
	}
	*ret_count = (side->count + length - 1) / length;
	return blocks;
}

/* The standard error of sum(part) ÷ sum(whole), relative to it; 0 where that is 0. */
static double ratio_error(const struct block *blocks, size_t count, size_t part, size_t whole)
{
	double sums[2] = {}, squares = 0;

	for (size_t i = 0; i < count; i++) {
		sums[0] += *(const double *)((const char *)&blocks[i] + part);
		sums[1] += *(const double *)((const char *)&blocks[i] + whole);
	}
	if (!(sums[0] > 0) || count < 2)
		return 0;
	for (size_t i = 0; i < count; i++) {
		double rest =
			*(const double *)((const char *)&blocks[i] + part) -
			sums[0] / sums[1] * *(const double *)((const char *)&blocks[i] + whole);

		squares += rest * rest;
	}
	return sqrt(squares * (double)count / (double)(count - 1)) / sums[0];
}

/* Errors of the figures, by blocks of one length. */
struct errors {
	double mean, share, per_step, above;
};

static int find_errors(const struct side *side, size_t length, uint64_t above_ns,
	struct errors *ret)
{
	size_t count;
	_cleanup_free_ struct block *blocks = make_blocks(side, length, above_ns, &count);
	struct errors found;

	if (!blocks)
		return -ENOMEM;
	/* Few blocks say less about their spread: as wide as Student's t makes it. */
	double wider = count > 1 ? compare_t(0.025, (double)count - 1) / compare_t(0.025, 0) : 0;

	found.mean = wider * ratio_error(blocks, count, offsetof(struct block, time_ns),
				     offsetof(struct block, steps));
	found.share = wider * ratio_error(blocks, count, offsetof(struct block, overlap_ns),
				      offsetof(struct block, time_ns));
	found.per_step = wider * ratio_error(blocks, count, offsetof(struct block, overlap_ns),
					 offsetof(struct block, steps));
	found.above = wider * ratio_error(blocks, count, offsetof(struct block, above),
				      offsetof(struct block, steps));
	ret->mean = fmax(ret->mean, found.mean);
	ret->share = fmax(ret->share, found.share);
	ret->per_step = fmax(ret->per_step, found.per_step);
	ret->above = fmax(ret->above, found.above);
	return 0;
}

static double at_rank(const uint64_t *sorted, size_t count, double rank)
{
	if (rank < 0)
		rank = 0;
	return (double)sorted[rank >= (double)count ? count - 1 : (size_t)rank];
}

/*
 * A quantile's interval has the values at neighbouring ranks as its ends, as far from its own as the number of slower
 * steps may differ by chance. Where that leaves none that are slower, its upper end is not known: infinite.
 */
static bool add_quantile(struct compare_run *run, const char *name,
	const struct durations *durations, size_t count, double q, double error)
{
	const uint64_t *sorted = durations->all;
	struct compare_figure *figure;
	double above = (1 - q) * (double)count, rank = ceil(q * (double)count) - 1;
	double value = at_rank(sorted, count, rank);
	double slack = fmax(error * above, sqrt(above)) * SURE;

	figure = compare_add(run, name, "ns", value);
	if (!figure)
		return false;
	figure->kind = KIND_TAIL;
	if (durations->own)
		figure->own = at_rank(durations->own, count, rank);
	if (!(value > 0))
		return true;
	figure->up =
		slack > above ? INFINITY : log(at_rank(sorted, count, rank + slack) / value) / SURE;
	figure->down = log(value / fmax(at_rank(sorted, count, rank - slack), 1)) / SURE;
	return true;
}

static int descending_real(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one < other) - (one > other);
}

/* Of steps next to each other, which may be slow for the same reason, the longest counts. 0 or -ENOMEM. */
static int find_worst(const struct side *side, bool own, struct lengths *ret)
{
	size_t length = block_length(side, LEAST_BLOCKS);

	for (size_t i = 0; i < side->count; i++) {
		const struct step *step = &side->track->steps.items[side->from + i];
		double *block = i % length ? &ret->items[i / length] : vec_add(ret);

		if (!block)
			return -ENOMEM;
		*block = fmax(*block, (double)(own ? step_own(side, i) : step_duration(step)));
	}
	qsort(ret->items, ret->count, sizeof(double), descending_real);
	return 0;
}

/* What it lost to pauses, of its time, warm-up included; NAN if that cannot be told. */
static double lost_of(const struct side *side)
{
	return attrib_told(side->cost) ? (double)side->cost->cost.ns / (double)side->cost->time_ns
				       : NAN;
}

static double full_per_thousand(const struct side *side)
{
	double full = 0;

	for (size_t i = 0; i < side->attribution->charges.count; i++) {
		const struct charge *charge = &side->attribution->charges.items[i];

		full += side->attribution->classes.items[charge->class]->full > 0 &&
			!charge->worker && charge->overlap_ns &&
			&side->attribution->tracks.items[charge->track] == side->cost;
	}
	return 1000 * full / (double)side->track->steps.count;
}

/* Bytes per step, from the middle of the first third to that of the last; NAN if not known. */
static double rss_growth(const struct side *side)
{
	size_t count = side->track->steps.count, third = count / 3;
	_cleanup_free_ uint64_t *values = calloc(count + 1, sizeof(*values));
	double sides[2];

	if (!values || third < 3)
		return NAN;
	for (size_t end = 0; end < 2; end++) {
		size_t from = end ? count - third : 0, known = 0;

		for (size_t i = from; i < from + third; i++)
			if (side->track->steps.items[i].rss_bytes >= 0)
				values[known++] = (uint64_t)side->track->steps.items[i].rss_bytes;
		if (known < 3)
			return NAN;
		sides[end] = (double)stats_median(values, known);
	}
	return (sides[1] - sides[0]) / (double)(count - third);
}

static double pause_max(const struct attribution *attribution)
{
	return attribution->figures.longest.id
		       ? (double)pause_duration(&attribution->figures.longest)
		       : 0;
}

static bool add_judged(struct compare_run *run, const char *name, const char *unit, double value,
	enum compare_kind kind, double error)
{
	struct compare_figure *figure = compare_add(run, name, unit, value);

	if (!figure)
		return false;
	figure->kind = kind;
	figure->down = figure->up = error;
	return true;
}

static bool add_step_times(const struct side *side, const struct durations *durations,
	const struct errors *errors, struct compare_run *run)
{
	double time_ns = 0, own_ns = 0, overlap_ns = 0, steps = (double)side->count;
	const uint64_t *sorted = durations->all;
	struct compare_figure *mean;

	for (size_t i = 0; i < side->count; i++) {
		time_ns += (double)sorted[i];
		own_ns += durations->own ? (double)durations->own[i] : NAN;
		overlap_ns += (double)side->cost->steps.items[side->from + i].overlap_ns;
	}
	if (!add_judged(run, "step.mean", "ns", time_ns / steps, KIND_MEAN, errors->mean))
		return false;
	mean = &run->figures.items[run->figures.count - 1];
	mean->own = own_ns / steps;
	return add(run, "step.own", "ns", own_ns / steps) &&
	       add(run, "step.median", "ns", at_rank(sorted, side->count, ceil(0.5 * steps) - 1)) &&
	       add(run, "step.p95", "ns", at_rank(sorted, side->count, ceil(0.95 * steps) - 1)) &&
	       add_quantile(run, "step.p99", durations, side->count, 0.99, errors->above) &&
	       add_judged(run, "step.max", "ns", at_rank(sorted, side->count, steps - 1),
		       KIND_WORST, 0) &&
	       add_judged(run, "stopped.share", "share", time_ns > 0 ? overlap_ns / time_ns : 0,
		       KIND_SHARE, errors->share) &&
	       add(run, "cost.share", "share", lost_of(side)) &&
	       add_judged(run, "pause.per_step", "ns", overlap_ns / steps, KIND_FACT,
		       errors->per_step);
}

static int sort_durations(const struct side *side, struct durations *ret)
{
	ret->all = calloc(side->count + 1, sizeof(*ret->all));
	if (knows_work(side))
		ret->own = calloc(side->count + 1, sizeof(*ret->own));
	if (!ret->all || (!ret->own && knows_work(side)))
		return -ENOMEM;
	for (size_t i = 0; i < side->count; i++) {
		ret->all[i] = step_duration(&side->track->steps.items[side->from + i]);
		if (ret->own)
			ret->own[i] = step_own(side, i);
	}
	qsort(ret->all, side->count, sizeof(*ret->all), stats_compare);
	if (ret->own)
		qsort(ret->own, side->count, sizeof(*ret->own), stats_compare);
	return 0;
}

static void durations_release(struct durations *durations)
{
	free(durations->all);
	free(durations->own);
}

static int add_steps(const struct side *side, struct compare_run *run)
{
	static const size_t scales[] = {LEAST_BLOCKS, SEGMENTS, QUARTERS};
	_cleanup_(durations_release) struct durations durations = {};
	struct errors errors = {};
	uint64_t slow_ns;

	if (sort_durations(side, &durations))
		return -ENOMEM;
	slow_ns =
		(uint64_t)at_rank(durations.all, side->count, ceil(0.99 * (double)side->count) - 1);
	for (size_t i = 0; side->count >= STEPS_NEEDED && i < ARRAY_SIZE(scales); i++)
		if (find_errors(side, block_length(side, scales[i]), slow_ns, &errors))
			return -ENOMEM;
	if (!add_step_times(side, &durations, &errors, run) ||
		find_worst(side, false, &run->worst) ||
		(durations.own && find_worst(side, true, &run->worst_own)) ||
		!add(run, "pause.max", "ns", pause_max(side->attribution)) ||
		!add(run, "full.per_1000_steps", "count", full_per_thousand(side)) ||
		!add(run, "rss.growth_per_step", "bytes", rss_growth(side)))
		return -ENOMEM;
	return 0;
}

/* How long was recorded. */
static double traced_seconds(const struct attribution *attribution)
{
	uint64_t start_ns = attribution->recording->start_ns;

	return attribution->end_ns > start_ns ? (double)(attribution->end_ns - start_ns) / 1e9
					      : NAN;
}

static int add_pauses(const struct attribution *attribution, struct compare_run *run)
{
	double seconds = traced_seconds(attribution);
	const struct pause_figures *figures = &attribution->figures;
	uint32_t process;

	if (!add_judged(run, "pause.share", "share", attrib_pause_share(attribution, &process),
		    KIND_SHARE, 0) ||
		!add(run, "pause.per_second", "count",
			(double)figures->durations.count / seconds) ||
		!add(run, "pause.max", "ns", pause_max(attribution)) ||
		!add(run, "full.per_second", "count", (double)figures->full / seconds))
		return -ENOMEM;
	return 0;
}

/*
 * Of the GPU that has most of it, of the time it was seen. NAN where it is inferred, or so many records are missing
 * that it may be another by a share worth attention.
 */
static double gpu_share(const struct attribution *attribution, enum device_time time)
{
	struct device_share worst;

	if (attribution->gpu->inferred || !devices_worst(attribution, time, &worst) ||
		worst.most - worst.least >= ATTRIB_HARMLESS)
		return NAN;
	return worst.share;
}

/* 0 or -ENOMEM. */
static int add_gpus(const struct attribution *attribution, struct compare_run *run)
{
	if (!attribution->gpu)
		return 0;
	return add(run, "gpu.idle.share", "share", gpu_share(attribution, DEVICE_IDLE)) &&
			       add(run, "gpu.gc.share", "share",
				       gpu_share(attribution, DEVICE_PAUSES))
		       ? 0
		       : -ENOMEM;
}

static void mark(struct compare_run *run, size_t from, enum compare_use use)
{
	for (size_t i = from; i < run->figures.count; i++)
		run->figures.items[i].use = use;
}

static int read_run(const struct attribution *attribution, struct compare_run *run)
{
	struct side side = {.attribution = attribution};
	size_t pauses;
	int r;

	run->lacks = choose_track(&side);
	run->several = attribution->steps->tracks.count > 1;
	run->warm_up = side.from;
	r = add_pauses(attribution, run);
	mark(run, 0, USE_WITHOUT_STEPS);
	pauses = run->figures.count;
	if (!r && !run->lacks)
		r = add_steps(&side, run);
	mark(run, pauses, USE_WITH_STEPS);
	if (!r)
		r = compare_counts(attribution, run);
	return r ? r : add_gpus(attribution, run);
}

int compare_read(const struct attribution *attribution, struct compare_run **ret, struct err *err)
{
	struct compare_run *run = calloc(1, sizeof(*run));
	int r = run ? read_run(attribution, run) : -ENOMEM;

	if (r) {
		compare_run_free(run);
		return err_set(err, ENOMEM, "out of memory while comparing");
	}
	*ret = run;
	return 0;
}

void compare_run_free(struct compare_run *run)
{
	if (!run)
		return;
	vec_free(&run->figures);
	vec_free(&run->worst);
	vec_free(&run->worst_own);
	free(run);
}
