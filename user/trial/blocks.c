/* Steps → figures of blocks → pairs of figures. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "blocks.h"
#include "cleanup.h"
#include "stats.h"

#define STEPS_WANTED   32
#define PERIODS_WANTED 3	      /* of pauses within a block */
#define LEAST_NS       500000000ull   /* of a block: it begins within 20 ms of its time */
#define MOST_NS	       30000000000ull /* unless so many steps take longer */
#define PAIRS_WANTED   16
#define PAIRS_SPARE    2  /* beside the least: one whose blocks turn out too short is left out */
#define SETTLE_SHARE   6  /* of a block: the first sixth */
#define STEPS_LEAST    28 /* in a block: some settle, and a fifth may be taken away */
#define PROMOTING_LEAST                                                                            \
	12 /* collections that promote, in a block: two in the part that settles, as one comes anywhere in it */
#define PROMOTING_TRIED 2 /* likewise with what is tried: else all that they do is put off */
#define LENGTH_SHARE	5 /* of a block: by so much it may be longer or shorter */

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t least_ns(const struct blocks_against *against)
{
	return longer(longer(STEPS_LEAST * against->step_ns, LEAST_NS),
		PROMOTING_LEAST * against->promoting_ns);
}

static uint64_t wanted_ns(const struct blocks_against *against)
{
	uint64_t periods =
		longer(PERIODS_WANTED * against->period_ns, PROMOTING_TRIED * against->tried_ns);

	periods = periods < MOST_NS ? periods : MOST_NS;
	return longer(longer(STEPS_WANTED * against->step_ns, periods), least_ns(against));
}

/* Enough to see what the last block has put off. */
static uint64_t tail_ns(uint64_t block_ns, uint64_t step_ns)
{
	return longer(block_ns / 2, BLOCK_STEPS_LEAST * step_ns);
}

uint64_t blocks_total_ns(const struct blocks_plan *plan)
{
	return 2 * plan->pairs * plan->block_ns + plan->tail_ns;
}

static struct blocks_plan plan_of(uint64_t block_ns, uint64_t step_ns, size_t pairs)
{
	return (struct blocks_plan){
		block_ns, tail_ns(block_ns, step_ns), block_ns / SETTLE_SHARE, pairs};
}

int blocks_plan(const struct blocks_against *against, size_t pairs, uint64_t duration_ns,
	struct blocks_plan *ret)
{
	const size_t least_pairs = EFFECT_PAIRS_LEAST + PAIRS_SPARE;
	const uint64_t least = least_ns(against), step_ns = against->step_ns;
	uint64_t block = wanted_ns(against), tail = tail_ns(least, step_ns);

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
	*ret = plan_of(block < least ? least : block, step_ns, pairs);
	return block < least ? -ENOTSUP : 0;
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
	struct stretch rest; /* what its own figure is of */
	double steps;	     /* in all */
	double settled;	     /* those after the first part, whatever it shows */
	double mean;	     /* ns a step, of the rest */
	double excess; /* what the part before that takes beyond it, ns: the block before put it off */
	double growth; /* bytes a step, of the rest; NAN: not known */
	double due;    /* ns a step, of the full collections that it is charged with */
	bool whole;    /* it has enough of them for its own figure */
	bool shows;    /* and for the one before it */
};

struct came {
	const struct fulls *fulls;
	double object_ns; /* see fulls_object_ns() */
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

/* Whether @one puts off what @other would have done by then. */
static bool is_lazier(const struct settings_pace *one, const struct settings_pace *other)
{
	return other->on &&
	       (!one->on || one->made > other->made || one->promotes > other->promotes ||
		       one->promotions > other->promotions);
}

/*
 * When a block begins to show its own setting alone: at once, unless the one before it has put something off. (What a block would
 * put off itself it does not do in its first part, so that this part says nothing of the block before.)
 */
static uint64_t own_from(const struct block *blocks, size_t index, uint64_t settle_ns,
	const struct fulls *fulls)
{
	const struct block *block = &blocks[index];

	if (!index || blocks[index - 1].tried == block->tried ||
		!is_lazier(&fulls->pace[!block->tried], &fulls->pace[block->tried]))
		return block->from_ns;
	return fulls_settled(fulls, block, settle_ns);
}

/* *@at: as for stretch_of(); moved to one for the next block. */
static struct span span_of(const struct block *block, const struct step *steps, size_t count,
	uint64_t own_ns, uint64_t settled_ns, const struct came *came, size_t *at)
{
	struct stretch first;
	struct span span = {};

	while (*at + 1 < count && steps[*at + 1].start_ns <= block->from_ns)
		++*at;
	first = stretch_of(steps, count, *at, block->from_ns, own_ns);
	span.rest = stretch_of(steps, count, *at, own_ns, block->to_ns);
	first.ns -= fulls_usual_ns(came->fulls, came->object_ns, block->from_ns, own_ns);
	span.rest.ns -= fulls_usual_ns(came->fulls, came->object_ns, own_ns, block->to_ns);
	span.settled = stretch_of(steps, count, *at, settled_ns, block->to_ns).steps;
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

/*
 * What block @at put off, ns a step: seen after the last of the blocks in a row with its setting, and charged to all of
 * them.
 */
static double put_off(const struct block *blocks, const struct span *spans, size_t count, size_t at)
{
	size_t first = at, after = at + 1;
	double steps = 0;

	while (first && blocks[first - 1].tried == blocks[at].tried)
		first--;
	while (after + 1 < count && blocks[after].tried == blocks[at].tried)
		after++;
	for (size_t i = first; i < after; i++)
		steps += spans[i].steps;
	return spans[after].excess / steps;
}

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
		ret->step[tried][place] = span->mean + put_off(blocks, spans, count, i) + span->due;
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

/* What was counted in a block after what settles: there, it has promoted nothing for the block before it. */
static struct fulls_tally tally_of(const struct block *block, const struct span *span,
	uint64_t settle_ns, const struct fulls *fulls)
{
	struct fulls_tally tally = {.steps = span->settled};

	fulls_count(fulls, fulls_settled(fulls, block, settle_ns), block->to_ns, &tally);
	return tally;
}

/*
 * Where objects decide, a block is charged with those that it has promoted itself, so that the interval allows for how much
 * that differs.
 */
static void charge(const struct block *blocks, struct span *spans, size_t count, uint64_t settle_ns,
	const struct came *came, struct blocks_result *ret)
{
	struct fulls_tally sums[2] = {};
	struct fulls_rate rates[2];
	const double heap = fulls_heap(came->fulls);

	for (size_t i = 0; i < count; i++) {
		struct fulls_tally one = tally_of(&blocks[i], &spans[i], settle_ns, came->fulls);
		struct fulls_tally *sum = &sums[blocks[i].tried];

		if (!spans[i].whole || blocks[i].pair == BLOCK_NO_PAIR)
			continue;
		sum->steps += one.steps;
		sum->collections += one.collections;
		sum->promoted += one.promoted;
		sum->manual += one.manual;
	}
	ret->full.came = heap > 0;
	for (size_t tried = 0; tried < 2; tried++) {
		rates[tried] = fulls_rate(came->fulls, sums, tried);
		ret->full.per_step[tried] = rates[tried].per_step;
		if (rates[tried].per_step > 0)
			ret->full.ns[tried] =
				came->object_ns * (heap * rates[tried].per_step +
							  sums[tried].promoted / sums[tried].steps);
	}
	for (size_t i = 0; i < count; i++) {
		struct fulls_tally one = tally_of(&blocks[i], &spans[i], settle_ns, came->fulls);
		const struct fulls_tally *sum = &sums[blocks[i].tried];

		spans[i].due = ret->full.ns[blocks[i].tried];
		if (rates[blocks[i].tried].by_size && one.steps > 0 && sum->promoted > 0)
			spans[i].due *= one.promoted / one.steps / (sum->promoted / sum->steps);
	}
}

int blocks_judge(const struct block *blocks, size_t count, const struct step *steps,
	size_t step_count, uint64_t settle_ns, const struct fulls *fulls, struct blocks_result *ret)
{
	const struct came came = {
		fulls, fulls_object_ns(fulls, (struct fulls_blocks){blocks, count, settle_ns},
			       (struct fulls_steps){steps, step_count})};
	_cleanup_free_ struct span *spans = calloc(count + 1, sizeof(*spans));
	_cleanup_free_ double *space = calloc(4 * (count + 1), sizeof(*space));
	struct blocks_result result = {};
	size_t at = 0;
	int r;

	if (!spans || !space)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		spans[i] = span_of(&blocks[i], steps, step_count,
			own_from(blocks, i, settle_ns, fulls),
			fulls_settled(fulls, &blocks[i], settle_ns), &came, &at);
		if (blocks[i].pair != BLOCK_NO_PAIR)
			result.steps += (size_t)spans[i].steps;
	}
	charge(blocks, spans, count, settle_ns, &came, &result);
	r = compare(blocks, spans, count,
		(struct figures){{space, space + count}, {space + 2 * count, space + 3 * count}},
		&result);
	if (!r)
		*ret = result;
	return r;
}
