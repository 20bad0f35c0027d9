/*
 * DL4J: its updaters run natively, one after another, once per training step, and before them the
 * loss is reduced. In: a thread's marks of both. Out: the first update of each step.
 */
#include <stdio.h>
#include <string.h>

#include "step_priv.h"

#define PLENTY                                                                                     \
	64 /* the most updates in one step where only their pattern shows how many there are */
#define PRIOR_LOSS  0.75 /* score() reduces a loss as well */
#define PRIOR_CALLS 0.85 /* by what is called between updates */
#define PRIOR_ALONE 0.6	 /* how many updates make a step is unknown: no claim is made */

static bool is_signal(const struct symbol *symbol, const char *name)
{
	return symbol->used && !strcmp(symbol->signal, name);
}

/* Makes the marks of @name the anchors; returns how many there are. */
static uint64_t anchors_of(struct study *study, const struct strand *strand, const char *name)
{
	uint64_t marks = 0;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		symbol->anchor = may_anchor(symbol) && is_signal(symbol, name);
		marks += symbol->anchor ? symbol->marks : 0;
	}
	return marks;
}

bool dl4j_updates(const struct study *study, const struct strand *strand)
{
	bool any = false;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (symbol->anchor && !is_signal(symbol, "dl4j:update"))
			return false;
		any |= symbol->anchor;
	}
	return any;
}

/*
 * In how many of the intervals between updates the loss was reduced, not counting the open last
 * one.
 */
static size_t losses_between(const struct study *study, const struct strand *strand,
	const indices *at)
{
	size_t with = 0;

	for (size_t i = 0; i + 1 < at->count; i++)
		for (size_t j = at->items[i]; j < at->items[i + 1]; j++)
			if (is_signal(&study->symbols.items[strand->events[j].symbol],
				    "dl4j:loss")) {
				with++;
				break;
			}
	return with;
}

/* By other calls, or by the updaters' names, where these show how many updates make a step. */
static int group_by_pattern(struct study *study, const struct strand *strand, struct choice *ret)
{
	size_t marks = ret->at.count, symbols = 0;
	int r = group_by_kind(study, strand, CLASS_BIT(CLASS_UPDATE) | CLASS_BIT(CLASS_CALL),
		PLENTY, &ret->at);

	for (size_t i = 0; i < strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		symbols +=
			symbol->used && (CLASS_BIT(symbol->class) &
						(CLASS_BIT(CLASS_UPDATE) | CLASS_BIT(CLASS_CALL)));
	}
	ret->prior = symbols > 1 ? PRIOR_CALLS : PRIOR_ALONE;
	if (!r && ret->at.count == marks && symbols == 1)
		note_add(ret->note, sizeof(ret->note),
			"no loss was seen, so that each update was taken for a step: if N make "
			"one, "
			"as with SameDiff's variables, say --step dl4j:update/N");
	return r;
}

int steps_of_dl4j(struct study *study, const struct strand *strand, struct choice *ret)
{
	const struct symbol *first;
	size_t losses;
	int r = anchors_collect(study, strand, &ret->at);

	if (r || !ret->at.count)
		return r;
	first = &study->symbols.items[strand->events[ret->at.items[0]].symbol];
	symbol_name(first, ret->signal, sizeof(ret->signal));
	ret->class = CLASS_UPDATE;
	ret->prior = class_prior(CLASS_UPDATE);
	losses = losses_between(study, strand, &ret->at);
	/* A mark of a loss may have been missed; a handful of calls of score() alone means nothing. */
	if (losses >= 3 && losses * PLENTY >= ret->at.count)
		group_without(study, strand, CLASS_BIT(CLASS_LOSS), &ret->at);
	else if (ret->at.count >= 3)
		r = group_by_pattern(study, strand, ret);
	return r ? r : 1;
}

int choose_dl4j(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r;

	if (anchors_of(study, strand, "dl4j:update"))
		return steps_of_dl4j(study, strand, ret);
	if (anchors_of(study, strand, "dl4j:loss") < 3)
		return 0;
	r = anchors_collect(study, strand, &ret->at);
	ret->class = CLASS_BACKWARD;
	ret->prior = PRIOR_LOSS;
	snprintf(ret->signal, sizeof(ret->signal), "dl4j:loss");
	note_add(ret->note, sizeof(ret->note),
		"no updater was seen (NoOp?): each loss counts as a step, those of score() too");
	return r ? r : 1;
}
