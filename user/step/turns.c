/*
 * Marks that are alike and yet take turns: the optimizers of an actor and of a critic are both Adam. In: where steps begin,
 * and what lies between. Out: whether a step may as well be several of them, which then is said and not decided.
 */
#include "step_priv.h"

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

/*
 * After how many marks the same comes again, by the classes of what is differentiated and by the losses' names. 0: all marks
 * are alike, or in no order. 0 or -ENOMEM.
 */
static int find_round(struct study *study, const struct choice *choice, uint32_t *ret)
{
	const uint32_t mask = CLASS_BIT(CLASS_BACKWARD) | CLASS_BIT(CLASS_LOSS);
	size_t count = choice->at.count ? choice->at.count - 1 : 0;
	struct period period = {};
	struct kinds kinds;
	int r = kinds_build(study, choice->strand, &choice->at, mask, 0, &kinds);

	*ret = 0;
	if (!r)
		r = kinds_normalise(&kinds, count);
	if (!r && count >= 6)
		period = period_find(kinds.of.items, count, LONGEST);
	if (period.length > 1 && period.match >= MATCH_AT_LEAST && differ(&kinds, &period))
		*ret = period.length;
	kinds_release(&kinds);
	return r;
}

int turns_judge(struct study *study, struct choice *choice)
{
	uint32_t length;
	int r = find_round(study, choice, &length);

	if (r || !length)
		return r;
	if (choice->prior > PRIOR_TURNS)
		choice->prior = PRIOR_TURNS;
	note_add(choice->note, sizeof(choice->note),
		"%u of them in turn learn different things: if these are one step, say --step %.100s/%u (%zu steps)",
		length, choice->signal, length, choice->at.count / length);
	return 0;
}
