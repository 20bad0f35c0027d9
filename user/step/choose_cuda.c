/* Calls of CUDA's driver → steps: graphs that are launched; where there is nothing better, waits for a device. */
#include <string.h>

#include "step_priv.h"

/*
 * What was captured calls no framework when it is launched, but its warm-up did. So a framework's calls say more only if
 * they go on: if there is one after half of the launches.
 */
static bool stands_alone(const struct study *study, const struct strand *strand, uint64_t launches)
{
	uint64_t left = launches / 2;

	for (size_t i = 0; i < strand->count; i++) {
		enum step_class class = study->symbols.items[strand->events[i].symbol].class;

		if (class == CLASS_GRAPH)
			left -= left > 0;
		else if (!left && CLASS_BIT(class) & TRAINING)
			return false;
	}
	return true;
}

#define MOST_PARTS 32 /* launches of one graph that are of one step: its micro-batches */

static struct symbol *find_busiest(struct study *study, const struct strand *strand)
{
	struct symbol *busiest = NULL;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (symbol->anchor && (!busiest || symbol->marks > busiest->marks))
			busiest = symbol;
	}
	return busiest;
}

/*
 * Whether each launch of @busiest is a step, and other graphs are an evaluation: they come in rows, too. A graph that comes
 * alone after some of @busiest's may be the update after their gradients.
 */
static bool is_whole_step(const struct study *study, const struct strand *strand,
	const struct symbol *busiest)
{
	size_t row = 0, longest = 0, longest_other = 0;
	const struct symbol *last = NULL;

	for (size_t i = 0; i < strand->count; i++) {
		const struct symbol *symbol = &study->symbols.items[strand->events[i].symbol];
		size_t *most = symbol == busiest ? &longest : &longest_other;

		if (!symbol->anchor)
			continue;
		row = symbol == last ? row + 1 : 1;
		last = symbol;
		*most = row > *most ? row : *most;
	}
	return longest > MOST_PARTS || (longest > 1 && longest_other > 1);
}

int choose_graph(struct study *study, const struct strand *strand, struct choice *ret)
{
	uint64_t launches = anchors_set(study, strand, CLASS_BIT(CLASS_GRAPH));
	struct symbol *busiest = find_busiest(study, strand);

	if (!launches || !stands_alone(study, strand, launches))
		return 0;
	if (busiest->marks * 2 <= launches || !is_whole_step(study, strand, busiest))
		return choose_class(study, strand, CLASS_GRAPH, ret);
	ret->class = CLASS_GRAPH;
	ret->prior = class_prior(CLASS_GRAPH);
	anchors_clear(study, strand);
	busiest->anchor = true;
	return choose_single(study, strand, ret);
}

int choose_sync(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r = choose_class(study, strand, CLASS_SYNC, ret);

	return r ? r : choose_single(study, strand, ret);
}
