/* Stalls, who called System.gc(), concurrent phases in; tables out. */
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "parse.h"
#include "stall_sums.h"
#include "text_cell.h"
#include "text_safepoints.h"
#include "text_stack.h"
#include "verdict.h"

#define CALLERS_SHOWN 8
#define PHASES_SHOWN  24
#define FUNCTION_COLUMNS 36

static void put_line(FILE *out, const char *what, const struct stack_table *stacks, uint32_t frame)
{
	fprintf(out, "      %s", what);
	text_frame(out, stacks, frame, FUNCTION_COLUMNS);
	fputc('\n', out);
}

static void put_period(FILE *out, const struct explicit_caller *caller)
{
	if (!caller->period_ns)
		return;
	fprintf(out, ", %s %s", caller->regular ? "every" : "irregularly, median distance",
		FORMAT_DURATION(caller->period_ns));
}

/* What came of the calls: "12 collections, 3 without one". */
static void put_outcome(FILE *out, const struct explicit_caller *caller)
{
	const char *before = "";

	fputs("      ", out);
	if (caller->collected || !caller->unknown) {
		fprintf(out, "a collection came of %" PRIu64, caller->collected);
		before = ", ";
	}
	if (caller->idle) {
		fprintf(out, "%snone of %" PRIu64, before, caller->idle);
		before = ", ";
	}
	if (caller->unknown)
		fprintf(out, "%snot known of %" PRIu64, before, caller->unknown);
	if (caller->pauses)
		fprintf(out, "; %" PRIu64 " pause%s, %s in all, longest %s", caller->pauses,
			caller->pauses == 1 ? "" : "s", FORMAT_DURATION(caller->pause_ns),
			FORMAT_DURATION(caller->pause_max_ns));
	else
		fputs("; no pause", out);
	if (caller->freed_bytes >= 0)
		fprintf(out, "; freed %s", SAFEPOINT_BYTES(caller->freed_bytes));
	fputc('\n', out);
}

static void put_caller(FILE *out, const struct report_input *input, const struct explicit_caller *caller)
{
	const struct stack_table *stacks = input->stacks;

	fputs("  ", out);
	cell_count(out, caller->calls, 7);
	cell_duration(out, caller->blocked_ns, 11);
	cell_duration(out, caller->blocked_median_ns, 11);
	cell_duration(out, caller->blocked_max_ns, 11);
	cell_duration(out, caller->pause_ns, 11);
	fputs("  ", out);
	cell_text(out, *caller->thread ? caller->thread : "-", -16);
	fprintf(out, " %s%s",
		VERDICT_NAME(recording_process(input->recording, caller->process)),
		caller->training ? ", a training thread" : "");
	put_period(out, caller);
	fputc('\n', out);
	put_outcome(out, caller);
	if (caller->caller && caller->caller < stacks->frame_count)
		put_line(out, "called by  ", stacks, caller->caller);
	if (caller->who && caller->who != caller->caller && caller->who < stacks->frame_count)
		put_line(out, "because of ", stacks, caller->who);
}

static void put_explicit(FILE *out, const struct report_input *input)
{
	const struct explicit_calls *calls = &input->attribution->explicit_calls;
	size_t count = calls->callers.count;

	if (!count && !calls->stray)
		return;
	fprintf(out, "\nWho called System.gc() (BLOCKED: the caller, until it returned; PAUSED: everybody)\n");
	if (count)
		fprintf(out, "    CALLS    BLOCKED     MEDIAN    LONGEST     PAUSED  THREAD\n");
	for (size_t i = 0; i < count && i < CALLERS_SHOWN; i++)
		put_caller(out, input, &calls->callers.items[i]);
	if (count > CALLERS_SHOWN)
		fprintf(out, "  … and %zu more callers\n", count - CALLERS_SHOWN);
	if (calls->stray)
		fprintf(out, "  %" PRIu64 " pause%s with the cause System.gc() (%s) outside of any call that "
			     "was seen\n",
			calls->stray, calls->stray == 1 ? "" : "s", FORMAT_DURATION(calls->stray_ns));
}

static void put_stalls(FILE *out, const struct recording *recording)
{
	_cleanup_(stall_sums_release) struct stall_sums sums = {0};

	if (!recording->stalls.count || stall_sums_make(&sums, recording))
		return;
	fprintf(out, "\nStalls: one thread waited for the collector (not stop-the-world, not in the "
		     "totals above)\n"
		     "  KIND                COUNT      TOTAL        P50        P99    LONGEST\n");
	for (uint32_t i = 0; i < STALL_KINDS; i++) {
		const struct summary_class *class = &sums.kinds[i];

		if (!class->count)
			continue;
		fputs("  ", out);
		cell_text(out, stall_kind_name(i), -16);
		cell_count(out, class->count, 9);
		cell_duration(out, class->total_ns, 11);
		cell_duration(out, summary_quantile(class, 0.5), 11);
		cell_duration(out, summary_quantile(class, 0.99), 11);
		cell_duration(out, class->max_ns, 11);
		fputc('\n', out);
	}
}

static void put_phases(FILE *out, const struct recording *recording, const struct stack_table *stacks)
{
	_cleanup_(phase_sums_release) struct phase_sums sums = {0};

	if (!recording->phases.count || phase_sums_make(&sums, recording))
		return;
	fprintf(out, "\nConcurrent phases (the program ran meanwhile; one may hold others)\n"
		     "  %-38s   COUNT      TOTAL    LONGEST\n", "PHASE");
	for (size_t i = 0; i < sums.items.count && i < PHASES_SHOWN; i++) {
		const struct phase_sum *phase = &sums.items.items[i];

		fputs("  ", out);
		cell_string(out, stacks->strings, phase->name, -38);
		cell_count(out, phase->sum.count, 8);
		cell_duration(out, phase->sum.total_ns, 11);
		cell_duration(out, phase->sum.max_ns, 11);
		fputc('\n', out);
	}
	if (sums.items.count > PHASES_SHOWN)
		fprintf(out, "  … and %zu more\n", sums.items.count - PHASES_SHOWN);
}

void text_stalls(FILE *out, const struct report_input *input)
{
	if (input->attribution)
		put_explicit(out, input);
	put_stalls(out, input->recording);
	put_phases(out, input->recording, input->stacks);
}
