/* What may mark steps, as tables of the model: for the page and for `doctor --steps`. */
#pragma once

#include "model.h"
#include "step.h"

/* The candidates, best first, and the functions that were probed. @steps NULL: only the latter. */
void model_signals(struct model *model, const struct recording *recording,
	const struct steps *steps);
