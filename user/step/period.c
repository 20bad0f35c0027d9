/* Sequences of symbols → the period with which they repeat, and what occurs once in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

#define STRETCH	     16384 /* symbols that are compared with each other */
#define MATCH_LEAST  0.8
#define MATCH_SLACK  0.005 /* of the best: a shorter period that matches this well is the period */
#define WARM_UP	     256   /* symbols: of longer periods the first quarter is no sample */
#define SCORE_LEAST  0.2   /* of what begins a step: a stretch may contain several batch sizes */
#define MANY_STEPS   20 /* more than the layers of a model that does not fill the step with them */
#define MATCH_ENOUGH 0.95 /* then no other stretch is tried */

static size_t matches(const uint32_t *sequence, size_t count, uint32_t length)
{
	size_t same = 0;

	for (size_t i = length; i < count; i++)
		same += sequence[i] == sequence[i - length];
	return same;
}

/* The shortest length up to @longest that matches about as well as the best of them; 0: none does.
 */
static uint32_t shortest(const double *share, uint32_t longest)
{
	double best = 0;

	for (uint32_t length = 1; length <= longest; length++)
		best = share[length] > best ? share[length] : best;
	for (uint32_t length = 1; length <= longest && best >= MATCH_LEAST; length++)
		if (share[length] >= best - MATCH_SLACK && share[length] >= MATCH_LEAST)
			return length;
	return 0;
}

/*
 * A model repeats its layers within a step, and a training its steps between two evaluations: the
 * longer period is the step in the one case, the shorter one in the other. Layers are few, or have
 * little between their rows; steps are many, and an evaluation shares calls with them.
 */
static uint32_t without_evaluations(const double *share, uint32_t length)
{
	for (uint32_t inner; (inner = shortest(share, length / MANY_STEPS)); length = inner) {
		double other = (1 - share[inner]) * length - inner;

		if (other < inner)
			break;
	}
	return length;
}

static struct period find_within(const uint32_t *sequence, size_t from, size_t to, uint32_t longest)
{
	size_t count = to - from;
	double *share;
	struct period period = {.from = from, .to = to};

	if (longest > count / 3)
		longest = (uint32_t)(count / 3);
	share = calloc((size_t)longest + 1, sizeof(*share));
	if (!share)
		return period;
	for (uint32_t length = 1; length <= longest; length++)
		share[length] =
			(double)matches(sequence + from, count, length) / (double)(count - length);
	period.length = without_evaluations(share, shortest(share, longest));
	period.match = share[period.length];
	free(share);
	return period;
}

struct period period_find(const uint32_t *sequence, size_t count, uint32_t longest)
{
	/* The middle first: the beginning warms up, the end may evaluate. */
	size_t starts[3] = {(count - STRETCH) / 2, count - STRETCH, 0};
	struct period best = {};

	if (count <= STRETCH)
		return find_within(sequence, count > WARM_UP ? count / 4 : 0, count, longest);
	for (size_t i = 0; i < 3 && best.match < MATCH_ENOUGH; i++) {
		struct period found =
			find_within(sequence, starts[i], starts[i] + STRETCH, longest);

		if (found.length && found.match > best.match)
			best = found;
	}
	return best;
}

/* What is known of one gram while the stretch is read. */
struct tally {
	size_t first, last, count, regular, overall;
	uint32_t weight;
};

struct grams {
	uint32_t length;
	struct u64map index; /* hash → index */
	VEC(struct tally) tallies;
};

static uint64_t gram_hash(const uint32_t *symbols, uint32_t length)
{
	uint64_t hash = length;

	for (uint32_t i = 0; i < length; i++)
		hash = u64_mix(hash ^ ((uint64_t)symbols[i] + 1) * 0x9e3779b97f4a7c15ull);
	return hash;
}

static int tally_stretch(struct grams *grams, const uint32_t *sequence, const struct period *period,
	const uint32_t *weight)
{
	for (size_t i = period->from; i + grams->length <= period->to; i++) {
		uint64_t hash = gram_hash(sequence + i, grams->length);
		const uint64_t *found = u64map_get(&grams->index, hash);
		struct tally *tally;

		if (found) {
			tally = &grams->tallies.items[*found];
			tally->regular += i - tally->last == period->length;
		} else {
			if (u64map_put(&grams->index, hash, grams->tallies.count))
				return -ENOMEM;
			tally = vec_add(&grams->tallies);
			if (!tally)
				return -ENOMEM;
			tally->first = i;
			tally->weight = weight ? weight[i] : 0;
		}
		tally->last = i;
		tally->count++;
	}
	return 0;
}

/* Occurs about once a period: how regularly, and over how much of the stretch. */
static double tally_score(const struct tally *tally, const struct period *period)
{
	double share = (double)tally->count * period->length / (double)(period->to - period->from);

	if (tally->count < 3 || share > 1.3)
		return 0;
	return (double)tally->regular / (double)(tally->count - 1) * (share < 1 ? share : 1);
}

/* Counts those that are as good as the best over the whole sequence. */
static void tally_overall(struct grams *grams, const uint32_t *sequence, size_t count,
	const struct period *period, double least)
{
	size_t good = 0;

	for (size_t i = 0; i < grams->tallies.count; i++)
		good += tally_score(&grams->tallies.items[i], period) >= least;
	if (good < 2)
		return;
	for (size_t i = 0; i + grams->length <= count; i++) {
		const uint64_t *found =
			u64map_get(&grams->index, gram_hash(sequence + i, grams->length));

		if (found)
			grams->tallies.items[*found].overall++;
	}
}

static const struct tally *pick(const struct grams *grams, const struct period *period,
	double least)
{
	const struct tally *best = NULL;

	for (size_t i = 0; i < grams->tallies.count; i++) {
		const struct tally *tally = &grams->tallies.items[i];

		if (tally_score(tally, period) < least)
			continue;
		if (!best || tally->weight > best->weight ||
			(tally->weight == best->weight && tally->overall < best->overall))
			best = tally;
	}
	return best;
}

/* The best gram of one length. 1, 0 or -ENOMEM. */
static int find_length(const uint32_t *sequence, size_t count, const struct period *period,
	const uint32_t *weight, struct gram *ret)
{
	struct grams grams = {.length = ret->length};
	const struct tally *best = NULL;
	double top = 0;
	int r = tally_stretch(&grams, sequence, period, weight);

	for (size_t i = 0; !r && i < grams.tallies.count; i++) {
		double score = tally_score(&grams.tallies.items[i], period);

		top = score > top ? score : top;
	}
	if (!r && top > SCORE_LEAST) {
		tally_overall(&grams, sequence, count, period, top - 0.02);
		best = pick(&grams, period, top - 0.02);
	}
	if (best) {
		memcpy(ret->symbols, sequence + best->first, ret->length * sizeof(*sequence));
		ret->regular = tally_score(best, period);
		r = 1;
	}
	vec_free(&grams.tallies);
	u64map_release(&grams.index);
	return r;
}

int gram_find(const uint32_t *sequence, size_t count, const struct period *period,
	const uint32_t *weight, struct gram *ret)
{
	struct gram best = {};

	for (uint32_t length = 1; length <= 4 && best.regular < MATCH_ENOUGH; length++) {
		struct gram gram = {.length = length};
		int r = find_length(sequence, count, period, weight, &gram);

		if (r < 0)
			return r;
		if (r && gram.regular > best.regular + 0.02)
			best = gram;
	}
	if (!best.length)
		return 0;
	*ret = best;
	return 1;
}

bool gram_at(const struct gram *gram, const uint32_t *sequence, size_t count, size_t i)
{
	return i + gram->length <= count &&
	       !memcmp(sequence + i, gram->symbols, gram->length * sizeof(*sequence));
}
