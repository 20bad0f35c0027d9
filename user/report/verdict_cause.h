/*
 * What stopped the steps of a track, and where that was triggered, as sentences. For verdict_*.c only.
 */
#pragma once

#include "report.h"
#include "summary.h"
#include "verdict_say.h"

/* "Generation-2 collections, automatic: 4 of 25 pauses, 98.4 % of their time." Nothing where no pause stopped a step. */
void cause_say(struct prose *prose, const struct report_input *input, size_t track,
	const struct summary *summary);
/* "Triggered in Trainer.step (train.py:41)." of these; nothing where no stack was taken. */
void cause_say_where(struct prose *prose, const struct report_input *input, size_t track);
/* The same of all pauses in @summary. */
void cause_say_all_where(struct prose *prose, const struct report_input *input,
	const struct summary *summary);
