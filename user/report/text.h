/* The text a person reads: pauses as they end, and the summary at the end. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "model.h"
#include "pause.h"
#include "report.h"
#include "stack_table.h"
#include "summary.h"

/* The header line for text_pause_line() of runtimes whose classes are generations. */
void text_pause_header(FILE *out);
/*
 * Writes the headers that the lines to come need and that *shown (0 at first) does
 * not have yet: for all runtimes of @recording, or if @pause is not NULL, for this one alone.
 */
void text_live_header(FILE *out, const struct recording *recording, const struct pause *pause,
	unsigned int *shown);
/*
 * One line: time, pid/comm, generation or class, reason, duration, collected, innermost frame. Of a runtime that tells how
 * its threads were stopped: time, pid/comm, class, duration, time to safepoint where that matters, heap before and
 * after, reason, innermost own frame, who was late.
 */
void text_pause_line(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause);
/* A thread waited for the collector. */
void text_stall_line(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct stall *stall);
/* Whether a stall is worth a line: a call for a collection is, and what is not over within a millisecond. */
bool text_stall_shown(const struct stall *stall);
/*
 * The whole report: verdict, steps and advice where there are any, processes and tiers, drops, the tables of the
 * model, histogram, worst with stacks.
 */
void text_summary(FILE *out, const struct report_input *input, const struct summary *summary,
	const struct model *model);
