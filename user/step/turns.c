/*
 * Marks that are alike and yet take turns: the optimizers of an actor and of a critic are both Adam. In: where steps begin,
 * and what lies between. Out: whether a step may as well be several of them, which then is said and not decided.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "step_priv.h"

#define UNSEEN UINT32_MAX

#define FEWEST	       6
#define LONGEST	       64  /* marks that take turns */
#define MATCH_AT_LEAST 0.9 /* of the marks a round apart */
#define PRIOR_TURNS                                                                                \
	0.65 /* which of the levels the user calls a step cannot be known: no claim is made */

/*
 * Whether two of the kinds of a round differ so that neither is the other with something added, as an evaluation or a
 * regularizer adds calls.
 */
static bool differ(const struct kinds *kinds, const struct period *period)
{
	const uint32_t *round = &kinds->of.items[period->from];

	for (uint32_t i = 0; i < period->length; i++)
		for (uint32_t j = 0; j < i; j++)
			if (!kinds_cover(kinds, round[i], round[j]) &&
				!kinds_cover(kinds, round[j], round[i]))
				return true;
	return false;
}

/* Marks that take turns. */
struct turns {
	uint32_t length; /* of a round, in marks; 0: they take none */
	uint32_t most;	 /* of these, the marks of the learner that has most of them, */
	uint32_t who;	 /* which is this one, */
	indices of;	 /* where this is each mark's */
};

/* In the round at @round, who has most of the marks. */
static void count_turns(struct turns *turns, const uint32_t *round)
{
	for (uint32_t i = 0; i < turns->length; i++) {
		uint32_t count = 0;

		for (uint32_t j = 0; j < turns->length; j++)
			count += round[j] == round[i];
		if (count <= turns->most)
			continue;
		turns->most = count;
		turns->who = round[i];
	}
}

/* 0 or -ENOMEM. */
static int add_index(indices *list, uint32_t value)
{
	uint32_t *slot = vec_add(list);

	if (slot)
		*slot = value;
	return slot ? 0 : -ENOMEM;
}

/* By the classes of what is differentiated and by the losses' names, which come before the mark. 0 or -ENOMEM. */
static int find_by_losses(struct study *study, const struct strand *strand, const indices *at,
	struct turns *ret)
{
	const uint32_t mask = CLASS_BIT(CLASS_BACKWARD) | CLASS_BIT(CLASS_LOSS);
	size_t count = at->count ? at->count - 1 : 0;
	struct period period = {};
	struct kinds kinds;
	int r = kinds_build(study, strand, at, mask, 0, &kinds);

	if (!r)
		r = kinds_normalise(&kinds, count);
	if (!r && count >= FEWEST)
		period = period_find(kinds.of.items, count, LONGEST);
	if (period.length > 1 && period.match >= MATCH_AT_LEAST && differ(&kinds, &period)) {
		ret->length = period.length;
		count_turns(ret, &kinds.of.items[period.from]);
		r = add_index(&ret->of, kinds.of.items[period.length - 1]);
		for (size_t i = 0; !r && i < count; i++)
			r = add_index(&ret->of, kinds.of.items[i]);
	}
	kinds_release(&kinds);
	return r;
}

/* Whom the updates of each mark's interval are of: the first one that is known, or UNSEEN. 0 or -ENOMEM. */
static int read_learners(const struct strand *strand, const indices *at, indices *ret)
{
	int r = 0;

	for (size_t i = 0; !r && i < at->count; i++) {
		size_t to = i + 1 < at->count ? at->items[i + 1] : strand->count;
		uint32_t learner = 0;

		for (size_t j = at->items[i]; j < to && !learner; j++)
			learner = strand->learners[j];
		r = add_index(ret, learner ? learner : UNSEEN);
	}
	return r;
}

/* Where it was not seen whose a mark is, it is that of a round before, or after. */
static void fill_in(struct turns *turns)
{
	for (size_t i = turns->length; i < turns->of.count; i++)
		if (turns->of.items[i] == UNSEEN)
			turns->of.items[i] = turns->of.items[i - turns->length];
	for (size_t i = turns->of.count; i-- > turns->length;)
		if (turns->of.items[i - turns->length] == UNSEEN)
			turns->of.items[i - turns->length] = turns->of.items[i];
}

/* By what they write to, where that was seen. 0 or -ENOMEM. */
static int find_by_learners(const struct strand *strand, const indices *at, struct turns *ret)
{
	struct period period = {};
	indices seen = {};
	int r = strand->learners ? read_learners(strand, at, &ret->of) : 0;

	for (size_t i = 0; !r && i < ret->of.count; i++)
		if (ret->of.items[i] != UNSEEN)
			r = add_index(&seen, ret->of.items[i]);
	if (!r && seen.count >= FEWEST)
		period = period_find(seen.items, seen.count, LONGEST);
	if (period.length > 1 && period.match >= MATCH_AT_LEAST) {
		ret->length = period.length;
		count_turns(ret, &seen.items[period.from]);
		fill_in(ret);
	}
	vec_free(&seen);
	return r;
}

/* The longer round of both: networks that are alike in one way may differ in the other. 0 or -ENOMEM. */
static int find_turns(struct study *study, const struct strand *strand, const indices *at,
	struct turns *ret)
{
	struct turns losses = {};
	int r;

	*ret = (struct turns){};
	r = find_by_learners(strand, at, ret);
	if (!r)
		r = find_by_losses(study, strand, at, &losses);
	if (!r && losses.length > ret->length) {
		vec_free(&ret->of);
		*ret = losses;
	} else {
		vec_free(&losses.of);
	}
	return r;
}

int turns_keep_most(struct study *study, const struct strand *strand, indices *at)
{
	struct turns turns;
	size_t kept = 0;
	int r = find_turns(study, strand, at, &turns);

	if (!r && turns.length) {
		for (size_t i = 0; i < at->count; i++)
			if (turns.of.items[i] == turns.who)
				at->items[kept++] = at->items[i];
		at->count = kept;
		r = 1;
	}
	vec_free(&turns.of);
	return r;
}

/* The levels beside that of single updates. */
static void say_levels(const struct turns *turns, struct choice *choice)
{
	size_t rounds = choice->at.count / turns->length, most = 0;
	char part[16];

	snprintf(part, sizeof(part), "%u", turns->length);
	levels_add(&choice->levels, choice->signal, part, rounds);
	note_add(choice->note, sizeof(choice->note),
		"%u of them in turn learn different things: if these are one step, say --step %.100s/%u (%zu steps)",
		turns->length, choice->signal, turns->length, rounds);
	if (turns->most < 2)
		return;
	for (size_t i = 0; i < turns->of.count; i++)
		most += turns->of.items[i] == turns->who;
	levels_add(&choice->levels, choice->signal, "most", most);
	note_add(choice->note, sizeof(choice->note),
		"if each of the %u that learn the same is one, and what comes with it, say --step %.100s/most (%zu steps)",
		turns->most, choice->signal, most);
}

int turns_judge(struct study *study, struct choice *choice)
{
	struct turns turns;
	int r = find_turns(study, choice->strand, &choice->at, &turns);

	if (!r && turns.length) {
		if (choice->prior > PRIOR_TURNS)
			choice->prior = PRIOR_TURNS;
		say_levels(&turns, choice);
	}
	vec_free(&turns.of);
	return r;
}
