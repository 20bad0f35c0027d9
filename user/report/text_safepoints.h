/* The parts of the text report that only JVMs have: safepoints, heap, late threads, stalls, phases. */
#pragma once

#include <stdio.h>

#include "report.h"
#include "summary.h"

/* Tables of what safepoints add up to; they are sorted by it. Nothing without safepoints. */
void text_safepoints(FILE *out, const struct report_input *input, struct summary *summary,
	uint64_t traced_ns);

/* Who called System.gc(), stalls, concurrent phases; nothing of what there is none of. */
void text_stalls(FILE *out, const struct report_input *input);

/* Those of the longest pauses that are safepoints, each with its stack. */
void text_worst_safepoints(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary);
