/* Marks of a signal that fires several times a step → those of them at which a step begins. */
#include <errno.h>
#include <stdlib.h>

#include "step_priv.h"

#define COMMON	       0.02 /* of the intervals: a kind that belongs to the pattern */
#define SAME_AT_MOST   0.7  /* of neighbours that are alike, where marks differ within a step */
#define MATCH_AT_LEAST 0.9  /* of neighbours a period apart */

void anchors_clear(struct study *study, const struct strand *strand)
{
	for (size_t i = 0; i < strand->symbol_count; i++)
		study->symbols.items[strand->symbols[i]].anchor = false;
}

uint64_t anchors_set(struct study *study, const struct strand *strand, uint32_t mask)
{
	uint64_t marks = 0;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		symbol->anchor = may_anchor(symbol) && mask & CLASS_BIT(symbol->class);
		marks += symbol->anchor ? symbol->marks : 0;
	}
	return marks;
}

int anchors_collect(const struct study *study, const struct strand *strand, indices *at)
{
	at->count = 0;
	for (size_t i = 0; i < strand->count; i++) {
		uint32_t *slot;

		if (!study->symbols.items[strand->events[i].symbol].anchor)
			continue;
		slot = vec_add(at);
		if (!slot)
			return -ENOMEM;
		*slot = (uint32_t)i;
	}
	return 0;
}

void group_without(const struct study *study, const struct strand *strand, uint32_t mask,
	indices *at)
{
	size_t kept = 0, from = 0;

	for (size_t i = 0; i < at->count; i++) {
		bool apart = !i;

		for (size_t j = from; j < at->items[i] && !apart; j++)
			apart = mask &
				CLASS_BIT(study->symbols.items[strand->events[j].symbol].class);
		from = at->items[i];
		if (apart)
			at->items[kept++] = at->items[i];
	}
	at->count = kept;
}

bool kinds_cover(const struct kinds *kinds, uint32_t wide, uint32_t narrow)
{
	const uint16_t *more = kinds_counts(kinds, wide), *less = kinds_counts(kinds, narrow);

	for (uint32_t i = 0; i < kinds->columns; i++)
		if (more[i] < less[i])
			return false;
	return true;
}

static uint32_t kind_weight(const struct kinds *kinds, uint32_t kind)
{
	const uint16_t *counts = kinds_counts(kinds, kind);
	uint32_t weight = 0;

	for (uint32_t i = 0; i < kinds->columns; i++)
		weight += counts[i];
	return weight;
}

/*
 * What an odd interval counts as: the largest common kind within it, because an evaluation or the
 * end of an epoch only adds calls; itself if there is none.
 */
static uint32_t stands_for(const struct kinds *kinds, uint32_t kind, const indices *common)
{
	uint32_t best = kind, weight = 0;

	for (size_t i = 0; i < common->count; i++) {
		uint32_t other = common->items[i], its = kind_weight(kinds, other);

		if (other == kind)
			return kind;
		if (kinds_cover(kinds, kind, other) && (best == kind || its > weight)) {
			best = other;
			weight = its;
		}
	}
	return best;
}

int kinds_normalise(struct kinds *kinds, size_t count)
{
	double least = COMMON * (double)count;
	indices common = {}, map = {};
	int r = 0;

	for (uint32_t kind = 0; !r && kind < kinds->uses.count; kind++)
		if (kinds->uses.items[kind] >= 2 && (double)kinds->uses.items[kind] >= least) {
			uint32_t *slot = vec_add(&common);

			if (slot)
				*slot = kind;
			else
				r = -ENOMEM;
		}
	for (uint32_t kind = 0; !r && kind < kinds->uses.count; kind++) {
		uint32_t *slot = vec_add(&map);

		if (slot)
			*slot = stands_for(kinds, kind, &common);
		else
			r = -ENOMEM;
	}
	for (size_t i = 0; !r && i < count; i++)
		kinds->of.items[i] = map.items[kinds->of.items[i]];
	vec_free(&common);
	vec_free(&map);
	return r;
}

/* Whether marks differ within a step, and in which pattern. */
static bool has_pattern(const struct kinds *kinds, size_t count, uint32_t longest,
	struct period *period)
{
	size_t same = 0;

	if (count < 6)
		return false;
	for (size_t i = 1; i < count; i++)
		same += kinds->of.items[i] == kinds->of.items[i - 1];
	if ((double)same > SAME_AT_MOST * (double)(count - 1))
		return false;
	*period = period_find(kinds->of.items, count, longest);
	return period->length > 1 && period->match >= MATCH_AT_LEAST;
}

/*
 * Keeps the marks whose interval begins with @gram. The last interval is open, so its place is
 * extrapolated.
 */
static void keep_grams(const struct kinds *kinds, const struct gram *gram, uint32_t period,
	size_t count, indices *at)
{
	size_t kept = 0, last = 0;

	for (size_t i = 0; i < count; i++)
		if (gram_at(gram, kinds->of.items, count, i)) {
			at->items[kept++] = at->items[i];
			last = i;
		}
	if (kept && last + period + gram->length > count && last + period < at->count)
		at->items[kept++] = at->items[last + period];
	at->count = kept;
}

int group_by_kind(struct study *study, const struct strand *strand, uint32_t mask, uint32_t longest,
	indices *at)
{
	size_t count = at->count ? at->count - 1 : 0;
	struct period period = {};
	struct kinds kinds;
	struct gram gram;
	indices weight = {};
	int r = kinds_build(study, strand, at, mask, mask & ~CLASS_BIT(CLASS_UPDATE), &kinds);

	if (!r)
		r = kinds_normalise(&kinds, count);
	if (!r && has_pattern(&kinds, count, longest, &period)) {
		for (size_t i = 0; !r && i < count; i++) {
			uint32_t *slot = vec_add(&weight);

			if (slot)
				*slot = kind_weight(&kinds, kinds.of.items[i]);
			else
				r = -ENOMEM;
		}
		if (!r)
			r = gram_find(kinds.of.items, count, &period, weight.items, &gram);
		if (r > 0)
			keep_grams(&kinds, &gram, period.length, count, at);
	}
	vec_free(&weight);
	kinds_release(&kinds);
	return r < 0 ? r : 0;
}
