/* PyTorch and similar: which optimizer step, backward pass or batch begins a training step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "step_priv.h"
#include "surplus.h"

#define PLENTY 64 /* the most marks of a signal in one step */
#define FEW    8  /* the most optimizers of several classes in one step */

/* How often a companion occurs between marks. */
struct presence {
	size_t intervals; /* with one at least */
	size_t once;	  /* with exactly one */
	double span;	  /* from its first to its last interval, as a share of all */
};

/* The last interval is open and does not count. */
static int presence_of(struct study *study, const struct strand *strand, const indices *at,
	enum step_class class, struct presence *ret)
{
	size_t first = SIZE_MAX, last = 0, count = at->count ? at->count - 1 : 0;
	struct kinds kinds;
	int r = kinds_build(study, strand, at, CLASS_BIT(class), CLASS_BIT(class), &kinds);

	*ret = (struct presence){};
	for (size_t i = 0; !r && i < count; i++) {
		uint32_t total = kinds_total(&kinds, kinds.of.items[i], class);

		if (!total)
			continue;
		ret->intervals++;
		ret->once += total == 1;
		first = first == SIZE_MAX ? i : first;
		last = i;
	}
	if (ret->intervals)
		ret->span = (double)(last - first + 1) / (double)count;
	kinds_release(&kinds);
	return r;
}

/*
 * An update needs a gradient, so updates without a backward pass between them belong to one step.
 * The backward pass's mark may have been lost, but hardly those of the batch and the loss as well.
 */
static int group_updates(struct study *study, const struct strand *strand, indices *at)
{
	const uint32_t apart =
		CLASS_BIT(CLASS_BACKWARD) | CLASS_BIT(CLASS_LOAD) | CLASS_BIT(CLASS_LOSS);
	const uint32_t others =
		CLASS_BIT(CLASS_ZERO) | CLASS_BIT(CLASS_LOAD) | CLASS_BIT(CLASS_LOSS);
	struct presence backward, other = {};
	int r = presence_of(study, strand, at, CLASS_BACKWARD, &backward);

	if (r)
		return r;
	if (backward.intervals >= 3 && backward.span >= 0.5) {
		group_without(study, strand, apart, at);
		return 0;
	}
	r = presence_of(study, strand, at, CLASS_ZERO, &other);
	if (!r && other.intervals * 10 >= at->count && other.span >= 0.5)
		group_without(study, strand, others, at);
	return r;
}

/*
 * Marks between which no batch was fetched belong to one step, as with the two networks of a GAN.
 * Not when batches come in bursts (as in an evaluation) or too rarely (a chunk that many steps
 * share). 1 if batches decided, 0, -ENOMEM.
 */
static int group_by_load(struct study *study, const struct strand *strand, indices *at)
{
	struct presence load;
	int r = presence_of(study, strand, at, CLASS_LOAD, &load);

	if (r)
		return r;
	if (load.intervals < 3 || load.span < 0.5 || load.intervals * 8 < at->count)
		return 0;
	if (load.intervals * 10 < at->count * 9 && load.once * 10 < load.intervals * 7)
		return 0;
	/* A batch for each: where one seems to be missing, its mark was lost. */
	if (load.intervals * 20 < (at->count - 1) * 19)
		group_without(study, strand, CLASS_BIT(CLASS_LOAD), at);
	return 1;
}

/* The name of the anchor that begins most steps. */
static void name_by_marks(const struct study *study, const struct strand *strand,
	struct choice *choice)
{
	struct u64map counts = {};
	uint64_t best = 0;
	uint32_t symbol = choice->at.count ? strand->events[choice->at.items[0]].symbol : 0;

	for (size_t i = 0; i < choice->at.count; i++) {
		uint32_t id = strand->events[choice->at.items[i]].symbol;
		const uint64_t *found = u64map_get(&counts, id);
		uint64_t count = found ? *found + 1 : 1;

		if (u64map_put(&counts, id, count))
			break;
		if (count > best) {
			best = count;
			symbol = id;
		}
	}
	u64map_release(&counts);
	symbol_name(&study->symbols.items[symbol], choice->signal, sizeof(choice->signal));
}

/* The most updates whose order makes a step: a cross-validation has a booster for each part of the data. */
static uint32_t most_updates(const struct study *study, const struct strand *strand)
{
	uint32_t anchors = 0;

	for (size_t i = 0; i < strand->symbol_count; i++)
		anchors += study->symbols.items[strand->symbols[i]].anchor;
	return anchors > FEW ? anchors : FEW;
}

int steps_of_updates(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r;

	if (dl4j_updates(study, strand))
		return steps_of_dl4j(study, strand, ret);
	r = anchors_collect(study, strand, &ret->at);
	if (!r)
		r = group_updates(study, strand, &ret->at);
	if (!r)
		r = group_by_load(study, strand, &ret->at);
	/* Optimizers of several classes, boosters of a cross-validation; then those distinguished only by their gradients. */
	if (!r)
		r = group_by_kind(study, strand, CLASS_BIT(CLASS_UPDATE),
			most_updates(study, strand), &ret->at);
	if (!r)
		r = group_by_kind(study, strand, CLASS_BIT(CLASS_BACKWARD) | CLASS_BIT(CLASS_ZERO),
			2, &ret->at);
	if (!r)
		r = group_by_kind(study, strand, CLASS_BIT(CLASS_LOSS), 2, &ret->at);
	if (r < 0)
		return r;
	ret->class = CLASS_UPDATE;
	ret->prior = class_prior(CLASS_UPDATE);
	name_by_marks(study, strand, ret);
	r = turns_judge(study, ret);
	return r ? r : 1;
}

/* Whether the signal was let go for much of the training, so that backward passes show more. */
static bool misses_much(const struct study *study, const struct strand *strand, const indices *at)
{
	size_t seen = 0, missed = 0;

	for (size_t i = 0; i < at->count; i++) {
		size_t to = i + 1 < at->count ? at->items[i + 1] : strand->count, passes = 0;

		for (size_t j = at->items[i]; j < to; j++)
			if (study->symbols.items[strand->events[j].symbol].class == CLASS_BACKWARD)
				passes += event_calls(study, &strand->events[j]);
		if (passes > PLENTY && surplus_let_go(study, strand, at, i))
			missed += passes;
		else
			seen += passes;
	}
	return missed * 10 > seen;
}

int choose_update(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r;

	if (!anchors_set(study, strand, CLASS_BIT(CLASS_UPDATE)))
		return 0;
	r = steps_of_updates(study, strand, ret);
	return r > 0 && misses_much(study, strand, &ret->at) ? 0 : r;
}

/*
 * Zeroed gradients or batches show how many backward passes make a step. 1, 0 if neither does,
 * -ENOMEM.
 */
static int group_backwards(struct study *study, const struct strand *strand, indices *at)
{
	struct presence zero;
	int r = presence_of(study, strand, at, CLASS_ZERO, &zero);

	if (r)
		return r;
	if (zero.intervals >= 3 && zero.span >= 0.5 && zero.intervals * PLENTY >= at->count) {
		group_without(study, strand, CLASS_BIT(CLASS_ZERO), at);
		return 1;
	}
	return group_by_load(study, strand, at);
}

int steps_of_backwards(struct study *study, const struct strand *strand, struct choice *ret)
{
	const uint32_t mask = CLASS_BIT(CLASS_BACKWARD) | CLASS_BIT(CLASS_ZERO);
	int r = anchors_collect(study, strand, &ret->at);
	bool decided;

	if (!r)
		r = group_backwards(study, strand, &ret->at);
	decided = r > 0;
	/* Two networks, each with its backward passes. */
	if (r >= 0 && decided)
		r = group_by_kind(study, strand, mask, 2, &ret->at);
	if (r >= 0)
		r = group_by_kind(study, strand, CLASS_BIT(CLASS_LOSS), 2, &ret->at);
	if (r < 0)
		return r;
	ret->class = CLASS_BACKWARD;
	ret->prior = decided ? class_prior(CLASS_BACKWARD) : 0.8;
	if (!decided)
		note_add(ret->note, sizeof(ret->note),
			"no optimizer was seen: were gradients accumulated, each backward pass "
			"would count as a step (--step torch:backward/N)");
	name_by_marks(study, strand, ret);
	r = turns_judge(study, ret);
	return r ? r : 1;
}

int choose_backward(struct study *study, const struct strand *strand, struct choice *ret)
{
	if (anchors_set(study, strand, CLASS_BIT(CLASS_BACKWARD)) < 3)
		return 0;
	return steps_of_backwards(study, strand, ret);
}

/* Fetched batches: all that remains of a loop that neither learns nor compiles. */
int choose_load(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r;

	anchors_clear(study, strand);
	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (may_anchor(symbol) && symbol->class == CLASS_LOAD) {
			symbol->anchor = true;
			break; /* the busiest */
		}
	}
	r = anchors_collect(study, strand, &ret->at);
	if (r || ret->at.count < 3)
		return r;
	ret->class = CLASS_LOAD;
	ret->prior = class_prior(CLASS_LOAD);
	name_by_marks(study, strand, ret);
	return 1;
}

/*
 * Whether marks come a few at a time: calls within calls, or a loop within a step. This is all that
 * may be inferred from times.
 */
static size_t bursts(const struct strand *strand, const indices *at)
{
	size_t count = at->count - 1, close = 0;
	uint64_t mean =
		(strand->events[at->items[count]].time_ns - strand->events[at->items[0]].time_ns) /
		count;

	for (size_t i = 0; i < count; i++)
		close += strand->events[at->items[i + 1]].time_ns -
				 strand->events[at->items[i]].time_ns <
			 mean / 10;
	return close * 10 >= count * 3 ? (count + (count - close) / 2) / (count - close) : 1;
}

int steps_of_user(struct study *study, const struct strand *strand, struct choice *ret)
{
	const uint32_t mask = CLASS_BIT(CLASS_UPDATE) | CLASS_BIT(CLASS_BACKWARD);
	int r = anchors_collect(study, strand, &ret->at);
	size_t together;

	if (!r)
		r = group_by_kind(study, strand, mask, PLENTY, &ret->at);
	if (r)
		return r;
	ret->class = CLASS_USER;
	ret->prior = class_prior(CLASS_USER);
	name_by_marks(study, strand, ret);
	together = ret->at.count > 5 ? bursts(strand, &ret->at) : 1;
	if (together > 1)
		note_add(ret->note, sizeof(ret->note),
			"its marks come about %zu at a time, as of calls within calls: if those "
			"are one step, "
			"say --step %.60s/%zu",
			together, ret->signal, together);
	return 1;
}

int choose_user(struct study *study, const struct strand *strand, struct choice *ret)
{
	if (!anchors_set(study, strand, CLASS_BIT(CLASS_USER)))
		return 0;
	return steps_of_user(study, strand, ret);
}
