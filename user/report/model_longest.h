/* The longest pauses as tables of the model, which text and page share. */
#pragma once

#include "model.h"
#include "report.h"

/* One of them, with what attribution says of it. */
struct longest_pause {
	struct pause pause;
	uint64_t order; /* how many pauses come before it in the recording */
	uint64_t cost_ns;
	int64_t track, step; /* UNKNOWN: it belongs to none, lies in none */
	bool charged;	     /* there are tracks, and what its own lost can be told */
	bool worker;
};

/*
 * Adds a table for those of @count pauses, longest first, whose runtimes have generations, and one for each other kind of
 * runtime.
 */
void model_longest(struct model *model, const struct report_input *input,
	const struct longest_pause *pauses, size_t count);
