/*
 * What the pauses of one runtime's kind add up to, by its classes and its facts. In: pauses, the runtime's entry in
 * meaning/. Out: figures.
 */
#pragma once

#include "meaning.h"
#include "pause.h"
#include "summary_sum.h"

/* Facts in ns, by their places; the others stay zero. */
struct summary_facts {
	const struct runtime_meaning *meaning; /* NULL: no pause yet */
	struct summary_sum sums[PAUSE_FACTS];  /* over the pauses of which they are known */
	uint64_t unsplit_ns;		       /* of the pauses, in no known part of them */
};

void summary_facts_add(struct summary_facts *facts, const struct pause *pause);

struct summary_kind {
	const struct runtime_meaning *meaning;
	struct summary_sum sum;
	struct sums classes[CLASSES_MOST]; /* by struct pause_class.order */
	struct summary_facts facts;
};

struct summary_kinds {
	VEC(struct summary_kind) items; /* in order of the first pause */
};

/*
 * Whether @pause is summed up by its runtime's own classes: not those of generations and of safepoints, which have tables
 * of longer standing.
 */
bool summary_by_class(const struct pause *pause);
int summary_kinds_add(struct summary_kinds *kinds, const struct pause *pause); /* 0 or -ENOMEM */
void summary_kinds_release(struct summary_kinds *kinds);
