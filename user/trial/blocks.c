/* Steps → figures of blocks → pairs of figures. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "blocks.h"
#include "cleanup.h"
#include "parse.h"
#include "stats.h"

#define STEPS_WANTED   32
#define PERIODS_WANTED 3	      /* of pauses within a block */
#define LEAST_NS       500000000ull   /* of a block: it begins within 20 ms of its time */
#define MOST_NS	       30000000000ull /* unless so many steps take longer */
#define PAIRS_WANTED   16
#define PAIRS_SPARE    2  /* beside the least: one whose blocks turn out too short is left out */
#define SETTLE_SHARE   6  /* of a block: the first sixth */
#define STEPS_LEAST    28 /* in a block: some settle, and a fifth may be taken away */
#define LENGTH_SHARE   5  /* of a block: by so much it may be longer or shorter */

static uint64_t wanted_ns(uint64_t step_ns, uint64_t period_ns)
{
	uint64_t steps = STEPS_WANTED * step_ns, periods = PERIODS_WANTED * period_ns;

	periods = periods < MOST_NS ? periods : MOST_NS;
	steps = steps > LEAST_NS ? steps : LEAST_NS;
	return steps > periods ? steps : periods;
}

/* Enough to see what the last block has put off. */
static uint64_t tail_ns(uint64_t block_ns, uint64_t step_ns)
{
	uint64_t steps = BLOCK_STEPS_LEAST * step_ns;

	return block_ns / 2 > steps ? block_ns / 2 : steps;
}

static uint64_t total_ns(uint64_t block_ns, uint64_t step_ns, size_t pairs)
{
	return 2 * pairs * block_ns + tail_ns(block_ns, step_ns);
}

int blocks_plan(uint64_t step_ns, uint64_t period_ns, size_t pairs, uint64_t duration_ns,
	struct blocks_plan *ret, struct err *err)
{
	const size_t least_pairs = EFFECT_PAIRS_LEAST + PAIRS_SPARE;
	const uint64_t steps = STEPS_LEAST * step_ns;
	const uint64_t least = steps > LEAST_NS ? steps : LEAST_NS;
	uint64_t block = wanted_ns(step_ns, period_ns), tail = tail_ns(least, step_ns);

	if (duration_ns && !pairs) {
		pairs = duration_ns > block ? (duration_ns - tail_ns(block, step_ns)) / block / 2
					    : 0;
		pairs = pairs > least_pairs ? pairs : least_pairs;
	}
	pairs = pairs ? pairs : PAIRS_WANTED;
	if (duration_ns) {
		/* A tail is half a block, but not less than @tail. */
		block = duration_ns * 2 / (4 * pairs + 1);
		if (block / 2 < tail)
			block = duration_ns > tail ? (duration_ns - tail) / 2 / pairs : 0;
	}
	if (block < least)
		return err_set(err, ENOTSUP,
			"%s are too short: a step takes %s, and %zu blocks of %llu steps take %s",
			FORMAT_DURATION(duration_ns), FORMAT_DURATION(step_ns), 2 * pairs,
			(unsigned long long)(least / (step_ns ? step_ns : 1)),
			FORMAT_DURATION(total_ns(least, step_ns, pairs)));
	*ret = (struct blocks_plan){block, tail_ns(block, step_ns), block / SETTLE_SHARE, pairs};
	return 0;
}

struct blocks_draw blocks_draw(const struct blocks_plan *plan, struct stats_random *random)
{
	const uint64_t most = plan->block_ns / LENGTH_SHARE;
	bool tried_first = stats_draw(random, 2);

	return (struct blocks_draw){
		tried_first, plan->block_ns - most + stats_draw(random, 2 * most + 1)};
}

/* What lies between two moments: steps, by fractions, and the time within them. */
struct stretch {
	double steps, ns;
};

/* @at: a step that begins before @from_ns, or the first. */
static struct stretch stretch_of(const struct step *steps, size_t count, size_t at,
	uint64_t from_ns, uint64_t to_ns)
{
	struct stretch all = {};

	for (; at < count && steps[at].start_ns < to_ns; at++) {
		uint64_t start = steps[at].start_ns, end = steps[at].end_ns;
		uint64_t from = start > from_ns ? start : from_ns, to = end < to_ns ? end : to_ns;

		if (to <= from)
			continue;
		all.ns += (double)(to - from);
		all.steps += (double)(to - from) / (double)step_duration(&steps[at]);
	}
	return all;
}

struct span {
	struct stretch rest; /* after what settles */
	double steps;	     /* in all */
	double mean;	     /* ns a step, of the rest */
	double excess;	     /* what the first part takes beyond that, ns */
	double growth;	     /* bytes a step, of the rest; NAN: not known */
	bool whole;	     /* it has enough of them for its own figure */
	bool shows;	     /* and for the one before it */
};

/* Between the first and the last step that begin in [from_ns, to_ns). */
static double growth_of(const struct step *steps, size_t count, size_t at, uint64_t from_ns,
	uint64_t to_ns)
{
	const struct step *first = NULL, *last = NULL;

	for (; at < count && steps[at].start_ns < to_ns; at++) {
		if (steps[at].start_ns < from_ns)
			continue;
		first = first ? first : &steps[at];
		last = &steps[at];
	}
	if (first == last || first->rss_bytes == UNKNOWN || last->rss_bytes == UNKNOWN)
		return NAN;
	return ((double)last->rss_bytes - (double)first->rss_bytes) / (double)(last - first);
}

/* *@at: as for stretch_of(); moved to one for the next block. */
static struct span span_of(const struct block *block, const struct step *steps, size_t count,
	uint64_t settle_ns, size_t *at)
{
	const uint64_t settled_ns = block->from_ns + settle_ns;
	struct stretch first;
	struct span span = {};

	while (*at + 1 < count && steps[*at + 1].start_ns <= block->from_ns)
		++*at;
	first = stretch_of(steps, count, *at, block->from_ns,
		settled_ns < block->to_ns ? settled_ns : block->to_ns);
	span.rest = stretch_of(steps, count, *at, settled_ns, block->to_ns);
	span.steps = first.steps + span.rest.steps;
	span.whole = span.rest.steps >= BLOCK_STEPS_LEAST;
	span.shows = span.rest.steps >= BLOCK_STEPS_LEAST / 4.0;
	if (!span.shows)
		return span;
	span.mean = span.rest.ns / span.rest.steps;
	span.excess = first.ns - first.steps * span.mean;
	span.growth = growth_of(steps, count, *at, settled_ns, block->to_ns);
	return span;
}

struct figures {
	double *step[2], *rss[2]; /* as it is, tried: by pair */
};

/* Whether pair @pair counts; its figures then go to @place. */
static bool take_pair(const struct block *blocks, const struct span *spans, size_t count,
	uint32_t pair, size_t place, struct figures *ret)
{
	bool has[2] = {};

	for (size_t i = 0; i + 1 < count; i++) {
		const struct span *span = &spans[i];
		bool tried = blocks[i].tried;

		if (blocks[i].pair != pair)
			continue;
		if (!span->whole || !spans[i + 1].shows)
			return false;
		has[tried] = true;
		ret->step[tried][place] = span->mean + spans[i + 1].excess / span->steps;
		ret->rss[tried][place] = span->growth;
	}
	return has[false] && has[true];
}

static int compare(const struct block *blocks, const struct span *spans, size_t count,
	struct figures figures, struct blocks_result *ret)
{
	uint32_t pairs = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		if (blocks[i].pair != BLOCK_NO_PAIR && blocks[i].pair >= pairs)
			pairs = blocks[i].pair + 1;
	for (uint32_t pair = 0; pair < pairs; pair++) {
		if (take_pair(blocks, spans, count, pair, ret->pairs, &figures))
			ret->pairs++;
		else
			ret->left_out++;
	}
	if (!ret->pairs)
		return 0;
	r = effect_of(figures.step[0], figures.step[1], ret->pairs, EFFECT_SHARE, &ret->step);
	ret->has_rss = true;
	for (size_t i = 0; i < ret->pairs; i++)
		ret->has_rss &= !isnan(figures.rss[0][i]) && !isnan(figures.rss[1][i]);
	if (!r && ret->has_rss)
		r = effect_of(figures.rss[0], figures.rss[1], ret->pairs, EFFECT_PLAIN, &ret->rss);
	return r;
}

int blocks_judge(const struct block *blocks, size_t count, const struct step *steps,
	size_t step_count, uint64_t settle_ns, struct blocks_result *ret)
{
	_cleanup_free_ struct span *spans = calloc(count + 1, sizeof(*spans));
	_cleanup_free_ double *space = calloc(4 * (count + 1), sizeof(*space));
	struct blocks_result result = {};
	size_t at = 0;
	int r;

	if (!spans || !space)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		spans[i] = span_of(&blocks[i], steps, step_count, settle_ns, &at);
		if (blocks[i].pair != BLOCK_NO_PAIR)
			result.steps += (size_t)spans[i].steps;
	}
	r = compare(blocks, spans, count,
		(struct figures){{space, space + count}, {space + 2 * count, space + 3 * count}},
		&result);
	if (!r)
		*ret = result;
	return r;
}
