/* Pauses one by one → sums by class and by fact. */
#include <errno.h>
#include <stdlib.h>

#include "summary_kind.h"

void summary_facts_add(struct summary_facts *facts, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;
	uint64_t duration_ns = pause_duration(pause), split_ns = 0;

	facts->meaning = meaning;
	for (size_t i = 0; i < meaning->fact_count; i++) {
		if (meaning->facts[i].unit != FACT_NS || pause->facts[i] < 0)
			continue;
		summary_sum_add(&facts->sums[i], (uint64_t)pause->facts[i]);
		if (meaning->facts[i].part)
			stats_add(&split_ns, (uint64_t)pause->facts[i]);
	}
	if (duration_ns > split_ns)
		stats_add(&facts->unsplit_ns, duration_ns - split_ns);
}

bool summary_by_class(const struct pause *pause)
{
	return pause->class && meaning_is_by_class(pause->class->of);
}

static struct summary_kind *find(struct summary_kinds *kinds, const struct runtime_meaning *meaning)
{
	struct summary_kind *kind;

	for (size_t i = 0; i < kinds->items.count; i++)
		if (kinds->items.items[i].meaning == meaning)
			return &kinds->items.items[i];
	kind = vec_add(&kinds->items);
	if (kind)
		kind->meaning = meaning;
	return kind;
}

int summary_kinds_add(struct summary_kinds *kinds, const struct pause *pause)
{
	struct summary_kind *kind = find(kinds, pause->class->of);

	if (!kind)
		return -ENOMEM;
	summary_sum_add(&kind->sum, pause_duration(pause));
	summary_facts_add(&kind->facts, pause);
	return sums_add(&kind->classes[pause->class->order], pause_duration(pause));
}

void summary_kinds_release(struct summary_kinds *kinds)
{
	for (size_t i = 0; i < kinds->items.count; i++)
		for (size_t k = 0; k < CLASSES_MOST; k++)
			sums_release(&kinds->items.items[i].classes[k]);
	vec_free(&kinds->items);
}
