/*
 * Which network an update is of, where optimizers are alike by their names: the tensor that it writes to first. In: the
 * marks of a strand, among them what was written to. Out: the strand without these, and for each update its learner.
 */
#include <errno.h>
#include <stdlib.h>

#include "step_priv.h"

static void fold_strand(struct study *study, struct strand *strand)
{
	size_t kept = 0;

	strand->learners = study->learners + (strand->events - study->events);
	for (size_t i = 0; i < strand->count; i++) {
		const struct strand_event event = strand->events[i];
		const struct symbol *symbol = &study->symbols.items[event.symbol];

		if (symbol->class != CLASS_LEARNER) {
			strand->events[kept++] = event;
			continue;
		}
		if (kept && symbol->number != UNKNOWN &&
			study->symbols.items[strand->events[kept - 1].symbol].class == CLASS_UPDATE)
			strand->learners[kept - 1] = event.symbol + 1;
	}
	strand->count = kept;
}

int learners_fold(struct study *study)
{
	size_t total = 0;
	bool any = false;

	for (size_t i = 0; i < study->symbols.count; i++)
		any |= study->symbols.items[i].class == CLASS_LEARNER;
	if (!any)
		return 0;
	for (size_t i = 0; i < study->strands.count; i++)
		total += study->strands.items[i].count;
	study->learners = calloc(total ? total : 1, sizeof(*study->learners));
	if (!study->learners)
		return -ENOMEM;
	for (size_t i = 0; i < study->strands.count; i++)
		fold_strand(study, &study->strands.items[i]);
	for (size_t i = 0; i < study->symbols.count; i++)
		study->symbols.items[i].used &= study->symbols.items[i].class != CLASS_LEARNER;
	return 0;
}
