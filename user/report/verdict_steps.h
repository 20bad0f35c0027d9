/*
 * What steps say of a run, in sentences. For verdict_*.c only.
 */
#pragma once

#include "report.h"
#include "summary.h"
#include "verdict_say.h"

/* The track that was stopped for the largest share of its time, of those that speak (attrib_speaks()); ATTRIB_NONE: none does. */
size_t steps_speaker(const struct attribution *attribution);
/* Whether no process was hurt by its pauses, in steps or outside. */
bool steps_harmless(const struct attribution *attribution);

/* "GC stopped training for 203.2 ms (25.1 % of its time), all of it lost (measured)" */
void steps_say_cost(struct prose *prose, const struct report_input *input, size_t track);
/* "Every 13th step is 6.0 × the median of 9.960 ms, the worst 60.07 ms." */
void steps_say_felt(struct prose *prose, const struct report_input *input, size_t track);
/* "61 steps of 9.960 ms cover 809.9 ms of 3.000 s, signal …, confidence 0.98, nothing dropped." */
void steps_say_sure(struct prose *prose, const struct report_input *input, size_t track);
/* Why the steps that there are do not speak. */
void steps_say_silent(struct prose *prose, const struct attribution *attribution);
/* What pauses of ranks in step with it add; nothing where there are none. */
void steps_say_siblings(struct prose *prose, const struct report_input *input, size_t track);
