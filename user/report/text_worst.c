/* The longest pauses of a summary in; a line and the stack of each out. */
#include <inttypes.h>
#include <string.h>

#include "parse.h"
#include "runtime_words.h"
#include "terminal.h"
#include "text_cell.h"
#include "text_stack.h"
#include "text_worst.h"
#include "utf8.h"
#include "verdict.h"

/* "12:00:02.000 (+2.000 s)  train (4711)" */
static void put_moment(FILE *out, const struct recording *recording, const struct pause *pause)
{
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;
	uint64_t start_ns = pause->start_ns;

	cell_time(out, recording, start_ns);
	start_ns = start_ns > recording->start_ns ? start_ns - recording->start_ns : 0;
	fprintf(out, " (+%.3f s)  %s", (double)start_ns / 1e9, VERDICT_NAME(process));
}

static void put_reason(FILE *out, const struct stack_table *stacks, const struct pause *pause)
{
	size_t len;
	const char *reason = meaning_reason(stacks->strings, pause, &len);

	cell_bytes(out, reason, len, -9);
}

/* "marking 3.1 ms, size 64 KiB": what a runtime with classes of its own says of the pause in figures. */
static void put_facts(FILE *out, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;
	const char *before = "      ";

	for (size_t i = 0; i < meaning->fact_count; i++) {
		const struct pause_fact *fact = &meaning->facts[i];

		if (fact->unit > FACT_COUNT || pause->facts[i] < 0)
			continue;
		if (fact->unit == FACT_COUNT)
			fprintf(out, "%s%s%s%s %" PRId64, before, fact->name, fact->of ? " " : "",
				fact->of ? fact->of : "", pause->facts[i]);
		else
			fprintf(out, "%s%s %s", before, fact->name,
				fact->unit == FACT_NS ? FORMAT_DURATION((uint64_t)pause->facts[i])
						      : WORDS_BYTES(pause->facts[i]));
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* The end of a pause's line: when and where, and anything else to say about it. */
static void put_end(FILE *out, const struct recording *recording, const struct pause *pause)
{
	fputs("  ", out);
	put_moment(out, recording, pause);
	fputs(pause->flags & PAUSE_SLEPT ? "; the thread slept in it" : "", out);
	fputs(pause->flags & PAUSE_BEGUN_BEFORE ? "; it had begun before" : "", out);
	fputs(pause->flags & PAUSE_UNFINISHED ? "; it had not ended\n" : "\n", out);
	terminal_style(out, TERMINAL_PLAIN);
}

/* Those of a runtime with classes of its own. */
static void worst_of(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct summary *summary, const struct runtime_meaning *meaning)
{
	fprintf(out,
		"\nLongest %s of %s (stacks innermost first)\n"
		"    DURATION  CLASS  CAUSE      AT\n",
		meaning->pauses, meaning->label);
	for (uint32_t i = 0; i < summary->worst_count; i++) {
		const struct pause *pause = &summary->worst[i];

		if (pause->class->of != meaning)
			continue;
		terminal_style(out, TERMINAL_STRONG);
		fputs("  ", out);
		cell_pause(out, pause, 10);
		fputs("  ", out);
		cell_text(out, pause->class->cell, -5);
		fputs("  ", out);
		put_reason(out, stacks, pause);
		put_end(out, recording, pause);
		put_facts(out, pause);
		text_stack(out, stacks, pause->stack);
	}
}

static void worst_pauses(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary)
{
	fprintf(out, "\nLongest pauses (stacks innermost first)\n"
		     "    DURATION  GEN  CAUSE       COLLECTED  AT\n");
	for (uint32_t i = 0; i < summary->worst_count; i++) {
		const struct pause *pause = &summary->worst[i];

		if (summary_by_class(pause))
			continue;
		terminal_style(out, TERMINAL_STRONG);
		fputs("  ", out);
		cell_pause(out, pause, 10);
		cell_known(out, pause->generation, 5);
		fputs("  ", out);
		put_reason(out, stacks, pause);
		cell_known(out, pause->collected, 12);
		put_end(out, recording, pause);
		text_stack(out, stacks, pause->stack);
	}
}

static void put_thread(FILE *out, const struct recording *recording, uint32_t runtime, int64_t tid)
{
	const char *name = words_thread(recording, runtime, tid);
	char shown[64];

	utf8_show(shown, sizeof(shown), name ? name : "", name ? strlen(name) : 0, 16);
	if (name)
		fprintf(out, "%s (%" PRId64 ")", shown, tid);
	else
		fprintf(out, "thread %" PRId64, tid);
}

static void put_stop(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause)
{
	int64_t ttsp_ns = meaning_value(pause, FACT_TTSP), late = meaning_value(pause, FACT_LATE);
	int64_t late_stack = meaning_value(pause, FACT_LATE_STACK);

	terminal_style(out, TERMINAL_STRONG);
	fputs("  ", out);
	cell_pause(out, pause, 10);
	fputs("  ", out);
	cell_text(out, pause->class->cell, -5);
	cell_text(out, ttsp_ns < 0 ? "-" : FORMAT_DURATION((uint64_t)ttsp_ns), 11);
	cell_text(out, WORDS_BYTES(meaning_value(pause, FACT_HEAP_BEFORE)), 7);
	cell_text(out, WORDS_BYTES(meaning_value(pause, FACT_HEAP_AFTER)), 7);
	fputs("  ", out);
	if (pause->class->of->reason)
		cell_string(out, stacks->strings, pause->class->of->reason(pause), -26);
	else
		cell_text(out, pause_cause_name(pause->cause), -26);
	fputs("  ", out);
	put_moment(out, recording, pause);
	fputs(pause->flags & PAUSE_INEXACT ? "; timed by probes\n" : "\n", out);
	terminal_style(out, TERMINAL_PLAIN);
	if (pause->tid && pause->class->of->asked) {
		fputs("      asked for by ", out);
		put_thread(out, recording, pause->runtime, pause->tid);
		fputc('\n', out);
	}
	text_stack(out, stacks, pause->stack);
	if (late <= 0)
		return;
	fputs("      late: ", out);
	put_thread(out, recording, pause->runtime, late);
	fputc('\n', out);
	text_stack(out, stacks, late_stack < 0 ? STACK_NONE : (uint32_t)late_stack);
}

/* Those of a runtime that tells how its threads were stopped. */
static void worst_stops(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary,
	const struct runtime_meaning *meaning)
{
	fprintf(out,
		"\nLongest %s (stacks innermost first)\n"
		"    DURATION  GC          REACH BEFORE  AFTER  %-26s  AT\n",
		meaning->pauses, "REASON");
	for (uint32_t i = 0; i < summary->worst_count; i++)
		if (summary->worst[i].class->of == meaning)
			put_stop(out, recording, stacks, &summary->worst[i]);
}

/* The runtimes among the worst that @stops says, each once. */
static void worst_by_class(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary, bool stops)
{
	for (uint32_t i = 0; i < summary->worst_count; i++) {
		const struct runtime_meaning *meaning = summary->worst[i].class->of;
		bool first = !meaning->generations && words_reach(meaning) == stops;

		for (uint32_t j = 0; j < i; j++)
			first &= summary->worst[j].class->of != meaning;
		if (first)
			(stops ? worst_stops : worst_of)(out, recording, stacks, summary, meaning);
	}
}

void text_worst(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct summary *summary)
{
	uint32_t by_class = 0;

	for (uint32_t i = 0; i < summary->worst_count; i++)
		by_class += summary_by_class(&summary->worst[i]);
	if (by_class < summary->worst_count)
		worst_pauses(out, recording, stacks, summary);
	worst_by_class(out, recording, stacks, summary, false);
	worst_by_class(out, recording, stacks, summary, true);
}
