/* The text a person reads: pauses as they end, and the summary at the end. */
#pragma once

#include <stdio.h>

#include "pause.h"
#include "report.h"
#include "stack_table.h"
#include "summary.h"

/* The header line for text_pause_line(). */
void text_pause_header(FILE *out);
/* One line: time, pid/comm, generation, reason, duration, collected, innermost frame. */
void text_pause_line(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct pause *pause);
/*
 * The whole report: verdict, steps and advice where there are any, processes and tiers, drops, totals, generations,
 * histogram, worst with stacks.
 */
void text_summary(FILE *out, const struct report_input *input, struct summary *summary);
