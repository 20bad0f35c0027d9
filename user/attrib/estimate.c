/* Each step's excess over its base in; the cost of all pauses of a track, with an interval, out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats.h"
#include "cleanup.h"
#include "counterfactual.h"

#define BLOCKS	     2000 /* at most */
#define RESAMPLES    1000
#define LEAST_BLOCKS 32 /* where there are that many steps */

/* Sums over consecutive steps; ns, as reals. */
struct block {
	double overlap;	    /* of its pauses */
	double judged;	    /* of it, in the steps that can be judged */
	double excess;	    /* over their bases */
	double paused;	    /* how many those are */
	double granted;	    /* overlap of those that cannot: slow for another reason too */
	double drift, calm; /* excess of the reference steps over their own bases; how many */
};

static void block_add(struct block *sum, const struct block *one)
{
	sum->overlap += one->overlap;
	sum->judged += one->judged;
	sum->excess += one->excess;
	sum->paused += one->paused;
	sum->granted += one->granted;
	sum->drift += one->drift;
	sum->calm += one->calm;
}

/*
 * A step that exceeds base and pauses together by more than chance does was slow for another reason
 * too: what the pauses cost in it cannot be told, and their overlap stands for it. One far below
 * its base had less to do.
 */
static void add_paused(struct block *block, const struct step_cost *cost, const struct step *step,
	uint64_t limit_ns)
{
	double excess = (double)step_duration(step) - (double)cost->base_ns;
	double overlap = (double)cost->overlap_ns, limit = (double)limit_ns;

	block->overlap += overlap;
	if (step_is_slow(cost, step, limit_ns)) {
		block->granted += overlap;
		return;
	}
	block->judged += overlap;
	if (excess < -limit)
		return;
	block->excess += fmin(excess, overlap + limit);
	block->paused++;
}

static void add_reference(struct block *block, uint64_t value_ns, uint64_t base_ns, double limit)
{
	double excess = (double)value_ns - (double)base_ns;

	if (fabs(excess) > limit)
		return;
	block->drift += excess;
	block->calm++;
}

static size_t block_length(size_t steps)
{
	size_t length = (steps + BLOCKS - 1) / BLOCKS;
	size_t wanted = steps / LEAST_BLOCKS < STATS_WINDOW ? steps / LEAST_BLOCKS : STATS_WINDOW;

	return wanted > length ? wanted : length;
}

static struct block *make_blocks(const struct step_track *track, const struct reference *reference,
	const uint64_t *limit_ns, const struct track_cost *cost, size_t *ret_count)
{
	size_t steps = track->steps.count, length = block_length(steps), own = 0;
	struct block *blocks = calloc(steps / length + 1, sizeof(*blocks));

	for (size_t i = 0; blocks && i < steps; i++) {
		const struct step_cost *step = &cost->steps.items[i];
		struct block *block = &blocks[i / length];
		double limit = (double)limit_ns[i];

		if (step->overlap_ns)
			add_paused(block, step, &track->steps.items[i], limit_ns[i]);
		if (own < reference->count && reference->step[own] == i)
			add_reference(block, reference->value_ns[own++], step->base_ns, limit);
	}
	*ret_count = (steps + length - 1) / length;
	return blocks;
}

/*
 * The cost of the steps that can be judged. Steps around the median base are not symmetric: their
 * mean excess is no cost of pauses, and is taken off.
 */
static double judged_of(const struct block *sum)
{
	double drift = sum->calm ? sum->drift / sum->calm : 0;

	return sum->excess - sum->paused * drift;
}

/*
 * In steps that cannot be judged, pauses are taken to cost their overlap, for want of evidence to the contrary.
 */
static double cost_of(const struct block *sum)
{
	return judged_of(sum) + sum->granted;
}

/* The lower bound there: the same fraction of the overlap as elsewhere, or nothing if there is no elsewhere. */
static double least_of(const struct block *sum)
{
	double share = sum->judged > 0 ? judged_of(sum) / sum->judged : 0;

	return judged_of(sum) + fmin(fmax(share, 0), 1) * sum->granted;
}

/* How much the sum over the paused steps varies from the noise of steps without pauses alone. */
static double noise_of(const struct block *sum, const struct reference *reference,
	const struct track_cost *cost, const uint64_t *limit_ns)
{
	double drift = sum->calm ? sum->drift / sum->calm : 0, squares = 0;

	if (sum->calm < 2)
		return 0;
	for (size_t i = 0; i < reference->count; i++) {
		uint32_t step = reference->step[i];
		double excess =
			(double)reference->value_ns[i] - (double)cost->steps.items[step].base_ns;

		if (fabs(excess) <= (double)limit_ns[step])
			squares += (excess - drift) * (excess - drift);
	}
	return sqrt(squares / (sum->calm - 1) * sum->paused * (1 + sum->paused / sum->calm));
}

/*
 * Which pauses occurred is given; only their cost varies. So what is resampled is the fraction of the overlap that
 * was paid.
 */
static size_t resample(const struct block *blocks, size_t count,
	double (*figure)(const struct block *sum), double *ret_shares)
{
	struct stats_random random = {.state = 23};
	size_t shares = 0;

	for (size_t i = 0; i < RESAMPLES; i++) {
		struct block sum = {};

		for (size_t j = 0; j < count; j++)
			block_add(&sum, &blocks[stats_draw(&random, count)]);
		if (sum.overlap > 0)
			ret_shares[shares++] = figure(&sum) / sum.overlap;
	}
	stats_sort_real(ret_shares, shares);
	return shares;
}

static uint64_t within(double ns, uint64_t most)
{
	if (!(ns > 0))
		return 0;
	return ns < (double)most ? (uint64_t)(ns + 0.5) : most;
}

/* Widens the interval by that of resampled costs; leaves it alone if nothing could be resampled. */
static void set_interval(const struct block *blocks, size_t count, const struct block *sum,
	double shares[RESAMPLES], double *low, double *high)
{
	size_t found = resample(blocks, count, least_of, shares);

	if (!found)
		return;
	*low = fmin(*low, shares[(size_t)(0.025 * (double)(found - 1))] * sum->overlap);
	if (sum->granted > 0)
		found = resample(blocks, count, cost_of, shares);
	*high = fmax(*high, shares[(size_t)(0.975 * (double)(found - 1) + 0.5)] * sum->overlap);
}

int estimate_cost(const struct step_track *track, const struct reference *reference,
	const uint64_t *limit_ns, double overestimate_ns, struct track_cost *cost)
{
	_cleanup_free_ double *shares = calloc(RESAMPLES, sizeof(*shares));
	_cleanup_free_ struct block *blocks = NULL;
	double low, high, noise, estimate;
	struct block sum = {};
	size_t count;

	blocks = make_blocks(track, reference, limit_ns, cost, &count);
	if (!blocks || !shares)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		block_add(&sum, &blocks[i]);
	estimate = cost_of(&sum);
	noise = 1.96 * noise_of(&sum, reference, cost, limit_ns);
	low = least_of(&sum) - noise;
	high = estimate + noise;
	set_interval(blocks, count, &sum, shares, &low, &high);
	cost->source = COST_ESTIMATED;
	cost->cost = (struct cost_estimate){(int64_t)within(estimate, cost->overlap_ns),
		(int64_t)within(low - overestimate_ns, cost->overlap_ns),
		(int64_t)within(high, cost->overlap_ns)};
	return 0;
}
