/* Two attributions in; figures before and after, resampled where possible, and a verdict, out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrib.h"
#include "stats.h"
#include "cleanup.h"
#include "compare.h"
#include "compare_verdict.h"
#include "devices.h"

#define RESAMPLES    1000
#define BLOCKS	     2000 /* at most */
#define LEAST_BLOCKS 40	  /* if there are that many steps */
#define STEPS_NEEDED 8	  /* fewer are not resampled */
#define WARM_UP	     0.1 /* of the steps, which belong to a warm-up if one of them, less its pauses, … */
#define WARM_RATIO   5 /* … takes so many times the median */

/* Sums over consecutive steps. */
struct block {
	double steps, time_ns, overlap_ns;
};

struct blocks {
	struct block *items;
	size_t count;
};

/* One side. */
struct side {
	const struct attribution *attribution;
	const struct step_track *track; /* NULL: no confident steps */
	const struct track_cost *cost;
	size_t from; /* the first step after warm-up: a single compilation would outweigh every difference */
	struct blocks blocks;
};

/*
 * The track that the rest of a training waits for: the one with most time, which steps/ sorts
 * first.
 */
static void choose_track(struct side *side)
{
	const struct steps *steps = side->attribution->steps;

	if (!steps->tracks.count || !steps->tracks.items[0].measured ||
		!(steps->tracks.items[0].confidence >= STEP_CONFIDENT) ||
		!side->attribution->tracks.items[0].time_ns)
		return;
	side->track = &steps->tracks.items[0];
	side->cost = &side->attribution->tracks.items[0];
	for (size_t i = 0; i < (size_t)(WARM_UP * (double)side->track->steps.count); i++)
		if (step_duration(&side->track->steps.items[i]) -
				side->cost->steps.items[i].overlap_ns >
			WARM_RATIO * side->cost->with.p50_ns)
			side->from = i + 1;
}

/*
 * Where slow steps recur regularly, blocks of whole periods: then chance does not decide how many
 * of them a block contains.
 */
static size_t block_length(const struct side *side)
{
	size_t steps = side->track->steps.count - side->from;
	size_t every = (size_t)(side->cost->slow.every + 0.5);
	size_t length = steps / LEAST_BLOCKS ? steps / LEAST_BLOCKS : 1;

	if (length > STATS_WINDOW)
		length = STATS_WINDOW;
	if (steps / length > BLOCKS)
		length = (steps + BLOCKS - 1) / BLOCKS;
	if (!side->cost->slow.regular || every < 2 || steps / every < STEPS_NEEDED)
		return length;
	return (length + every - 1) / every * every;
}

static int make_blocks(struct side *side)
{
	size_t steps = side->track->steps.count - side->from, length = block_length(side);

	side->blocks.items = calloc(steps / length + 1, sizeof(struct block));
	if (!side->blocks.items)
		return -ENOMEM;
	side->blocks.count = (steps + length - 1) / length;
	for (size_t i = 0; i < steps; i++) {
		struct block *block = &side->blocks.items[i / length];
		size_t step = side->from + i;

		block->steps++;
		block->time_ns += (double)step_duration(&side->track->steps.items[step]);
		block->overlap_ns += (double)side->cost->steps.items[step].overlap_ns;
	}
	return 0;
}

static struct block draw(const struct blocks *blocks, struct stats_random *random)
{
	struct block sum = {};

	for (size_t i = 0; i < blocks->count; i++) {
		const struct block *one = &blocks->items[stats_draw(random, blocks->count)];

		sum.steps += one->steps;
		sum.time_ns += one->time_ns;
		sum.overlap_ns += one->overlap_ns;
	}
	return sum;
}

static double mean_of(const struct block *sum)
{
	return sum->time_ns / sum->steps;
}

static double share_of(const struct block *sum)
{
	return sum->time_ns > 0 ? sum->overlap_ns / sum->time_ns : 0;
}

static double per_step_of(const struct block *sum)
{
	return sum->overlap_ns / sum->steps;
}

/* The interval of the relative change of @figure. 0 or -ENOMEM. */
static int resample(const struct side *before, const struct side *after,
	double (*figure)(const struct block *sum), struct comparison *item)
{
	_cleanup_free_ double *changes = calloc(RESAMPLES, sizeof(*changes));
	struct stats_random random = {.state = 29};
	size_t found = 0;

	if (!changes)
		return -ENOMEM;
	if (before->track->steps.count < STEPS_NEEDED || after->track->steps.count < STEPS_NEEDED ||
		!(item->before > 0))
		return 0;
	for (size_t i = 0; i < RESAMPLES; i++) {
		struct block one = draw(&before->blocks, &random);
		struct block other = draw(&after->blocks, &random);
		double base = figure(&one);

		if (base > 0)
			changes[found++] = figure(&other) / base - 1;
	}
	if (found < RESAMPLES / 2)
		return 0;
	stats_sort_real(changes, found);
	item->has_interval = true;
	item->low = changes[(size_t)(0.025 * (double)(found - 1))];
	item->high = changes[(size_t)(0.975 * (double)(found - 1) + 0.5)];
	item->low = item->low < item->change ? item->low : item->change;
	item->high = item->high > item->change ? item->high : item->change;
	return 0;
}

/* NULL when memory is out. */
static struct comparison *add(struct comparisons *comparisons, const char *name, const char *unit,
	double before, double after)
{
	struct comparison *item = vec_add(&comparisons->items);

	if (!item)
		return NULL;
	snprintf(item->name, sizeof(item->name), "%s", name);
	snprintf(item->unit, sizeof(item->unit), "%s", unit);
	item->known = isfinite(before) && isfinite(after);
	item->before = item->known ? before : 0;
	item->after = item->known ? after : 0;
	item->worse_is_more = true;
	if (item->known)
		item->change = before != 0  ? (after - before) / fabs(before)
			       : after == 0 ? 0
			       : after > 0  ? INFINITY
					    : -INFINITY;
	return item;
}

static double pause_max(const struct attribution *attribution)
{
	return attribution->figures.longest.id
		       ? (double)pause_duration(&attribution->figures.longest)
		       : 0;
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

static int add_steps(struct comparisons *ret, const struct side *before, const struct side *after)
{
	const struct step_distribution *one = &before->cost->with, *other = &after->cost->with;
	struct comparison *mean, *share, *pauses;
	struct block sums[2] = {};

	for (size_t i = 0; i < 2; i++) {
		const struct side *side = i ? after : before;

		for (size_t j = 0; j < side->blocks.count; j++) {
			sums[i].steps += side->blocks.items[j].steps;
			sums[i].time_ns += side->blocks.items[j].time_ns;
			sums[i].overlap_ns += side->blocks.items[j].overlap_ns;
		}
	}
	mean = add(ret, "step.mean", "ns", mean_of(&sums[0]), mean_of(&sums[1]));
	if (!mean || resample(before, after, mean_of, mean))
		return -ENOMEM;
	if (!add(ret, "step.median", "ns", (double)one->p50_ns, (double)other->p50_ns) ||
		!add(ret, "step.p95", "ns", (double)one->p95_ns, (double)other->p95_ns) ||
		!add(ret, "step.p99", "ns", (double)one->p99_ns, (double)other->p99_ns) ||
		!add(ret, "step.max", "ns", (double)one->max_ns, (double)other->max_ns))
		return -ENOMEM;
	share = add(ret, "stopped.share", "share", share_of(&sums[0]), share_of(&sums[1]));
	if (!share || resample(before, after, share_of, share) ||
		!add(ret, "cost.share", "share", lost_of(before), lost_of(after)))
		return -ENOMEM;
	pauses = add(ret, "pause.per_step", "ns", per_step_of(&sums[0]), per_step_of(&sums[1]));
	if (!pauses || resample(before, after, per_step_of, pauses))
		return -ENOMEM;
	if (!add(ret, "pause.max", "ns", pause_max(before->attribution),
		    pause_max(after->attribution)) ||
		!add(ret, "gen2.per_1000_steps", "count", full_per_thousand(before),
			full_per_thousand(after)) ||
		!add(ret, "rss.growth_per_step", "bytes", rss_growth(before), rss_growth(after)))
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

static int add_pauses(struct comparisons *ret, const struct attribution *before,
	const struct attribution *after)
{
	double one = traced_seconds(before), other = traced_seconds(after);
	const struct pause_figures *a = &before->figures, *b = &after->figures;
	uint32_t process;

	if (!add(ret, "pause.share", "share", attrib_pause_share(before, &process),
		    attrib_pause_share(after, &process)) ||
		!add(ret, "pause.per_second", "count", (double)a->durations.count / one,
			(double)b->durations.count / other) ||
		!add(ret, "pause.max", "ns", pause_max(before), pause_max(after)) ||
		!add(ret, "gen2.per_second", "count", (double)a->full / one,
			(double)b->full / other))
		return -ENOMEM;
	return 0;
}

/*
 * Of the GPU that has most of it, of the time it was seen. NAN where nothing of it is known, where it is inferred, or so
 * many records are missing that it may be another by a share worth attention.
 */
static double gpu_share(const struct attribution *attribution, enum device_time time)
{
	struct device_share worst;

	if (!attribution->gpu || attribution->gpu->inferred ||
		!devices_worst(attribution, time, &worst) ||
		worst.most - worst.least >= ATTRIB_HARMLESS)
		return NAN;
	return worst.share;
}

/* Nothing where neither has records of GPUs. 0 or -ENOMEM. */
static int add_gpus(struct comparisons *ret, const struct attribution *before,
	const struct attribution *after)
{
	if (!before->gpu && !after->gpu)
		return 0;
	if (!add(ret, "gpu.idle.share", "share", gpu_share(before, DEVICE_IDLE),
		    gpu_share(after, DEVICE_IDLE)) ||
		!add(ret, "gpu.gc.share", "share", gpu_share(before, DEVICE_PAUSES),
			gpu_share(after, DEVICE_PAUSES)))
		return -ENOMEM;
	return 0;
}

int compare(const struct attribution *before, const struct attribution *after,
	struct comparisons *ret, struct err *err)
{
	struct side one = {.attribution = before}, other = {.attribution = after};
	struct comparisons found = {};
	int r = 0;

	choose_track(&one);
	choose_track(&other);
	found.comparable = one.track && other.track;
	if (found.comparable) {
		r = make_blocks(&one);
		if (!r)
			r = make_blocks(&other);
		if (!r)
			r = add_steps(&found, &one, &other);
	} else {
		r = add_pauses(&found, before, after);
	}
	if (!r)
		r = add_gpus(&found, before, after);
	free(one.blocks.items);
	free(other.blocks.items);
	if (r) {
		comparisons_release(&found);
		return err_set(err, ENOMEM, "out of memory while comparing");
	}
	found.warm_up[0] = one.from;
	found.warm_up[1] = other.from;
	compare_verdict(&found, before, after);
	*ret = found;
	return 0;
}

void comparisons_release(struct comparisons *comparisons)
{
	if (comparisons)
		vec_free(&comparisons->items);
}
