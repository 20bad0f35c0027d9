/* Pauses and stalls as they end; the lines of the live view out. */
#include <string.h>

#include "attrib.h"
#include "parse.h"
#include "runtime_words.h"
#include "text.h"
#include "text_cell.h"
#include "text_stack.h"
#include "utf8.h"

#define STALL_SHOWN_NS 1000000
#define REASON_COLUMNS 26

void text_pause_header(FILE *out)
{
	fprintf(out, "%-12s %7s %-15s %3s %-9s %10s %10s  %s\n", "TIME", "PID", "COMM", "GEN",
		"REASON", "DURATION", "COLLECTED", "FRAME");
}

static void put_stop_header(FILE *out)
{
	fprintf(out, "%-12s %7s %-8s %-5s %9s %9s %12s  %-*s  %s\n", "TIME", "PID", "COMM", "GC",
		"DURATION", "REACH", "HEAP", REASON_COLUMNS, "REASON", "FRAME");
}

static void put_class_header(FILE *out)
{
	fprintf(out, "%-12s %7s %-15s %-5s %-9s %10s  %s\n", "TIME", "PID", "COMM", "CLASS",
		"REASON", "DURATION", "FRAME");
}

enum { LINES_OF_GENERATIONS = 1, LINES_OF_STOPS = 2, LINES_OF_CLASSES = 4 };

/* What is told of how threads were stopped, and of the heap, has columns. */
static unsigned int lines_of(const struct runtime_meaning *meaning)
{
	return meaning->generations   ? LINES_OF_GENERATIONS
	       : words_reach(meaning) ? LINES_OF_STOPS
				      : LINES_OF_CLASSES;
}

void text_live_header(FILE *out, const struct recording *recording, const struct pause *pause,
	unsigned int *shown)
{
	unsigned int needed = 0;

	for (size_t i = 0; !pause && i < recording->runtimes.count; i++)
		needed |= lines_of(meaning_of(recording->runtimes.items[i].kind));
	if (pause)
		needed = lines_of(pause->class->of);
	needed &= ~*shown;
	if (needed & LINES_OF_GENERATIONS)
		text_pause_header(out);
	if (needed & LINES_OF_CLASSES)
		put_class_header(out);
	if (needed & LINES_OF_STOPS)
		put_stop_header(out);
	*shown |= needed;
}

static const struct process *process_of(const struct recording *recording, uint32_t id)
{
	const struct runtime *runtime = recording_runtime(recording, id);

	return runtime ? recording_process(recording, runtime->process) : NULL;
}

/* Time, pid and comm, which all lines begin with. */
static void put_origin(FILE *out, const struct recording *recording, uint64_t start_ns,
	uint32_t runtime, int comm_columns)
{
	const struct process *process = process_of(recording, runtime);
	const char *comm = process ? process->comm : "?";

	cell_time(out, recording, start_ns);
	cell_known(out, process ? process->pid : UNKNOWN, 8);
	fputc(' ', out);
	cell_bytes(out, comm, strnlen(comm, sizeof(process->comm)), -comm_columns);
}

static void put_thread(FILE *out, const char *what, const struct recording *recording,
	uint32_t runtime, int64_t tid)
{
	const char *name = words_thread(recording, runtime, tid);
	char shown[64];

	utf8_show(shown, sizeof(shown), name ? name : "", name ? strlen(name) : 0, 16);
	if (name)
		fprintf(out, "%s%s", what, shown);
	else
		fprintf(out, "%sthread %lld", what, (long long)tid);
}

/* "512M→98M", right-aligned. */
static void put_heap(FILE *out, int64_t before, int64_t after, int width)
{
	char text[40];
	int columns =
		snprintf(text, sizeof(text), "%s→%s", WORDS_BYTES(before), WORDS_BYTES(after)) -
		2; /* the arrow is one column of 3 bytes */

	if (before < 0 && after < 0)
		cell_text(out, "", width);
	else
		fprintf(out, "%*s%s", width > columns ? width - columns : 0, "", text);
}

/* In the runtime's own words, or by the number of its cause. */
static void put_reason(FILE *out, const struct stack_table *stacks, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;

	if (meaning->reason)
		cell_string(out, stacks->strings, meaning->reason(pause), -REASON_COLUMNS);
	else
		cell_text(out, pause_cause_name(pause->cause), -REASON_COLUMNS);
}

static void put_stop(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause)
{
	int64_t ttsp_ns = meaning_value(pause, FACT_TTSP), late = meaning_value(pause, FACT_LATE);
	uint32_t frame = attrib_trigger(stacks, pause->stack);

	put_origin(out, recording, pause->start_ns, pause->runtime, 8);
	fputc(' ', out);
	cell_text(out, pause->class->cell, -5);
	cell_pause(out, pause, 10);
	if (words_reach_matters(pause, ttsp_ns))
		cell_duration(out, (uint64_t)ttsp_ns, 10);
	else
		cell_text(out, "", 10);
	put_heap(out, meaning_value(pause, FACT_HEAP_BEFORE), meaning_value(pause, FACT_HEAP_AFTER),
		13);
	fputs("  ", out);
	put_reason(out, stacks, pause);
	fputs("  ", out);
	if (frame)
		text_frame_short(out, stacks, frame);
	else
		fputc('-', out);
	if (late > 0)
		put_thread(out, "  late: ", recording, pause->runtime, late);
	fputc('\n', out);
}

void text_pause_line(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause)
{
	unsigned int lines = lines_of(pause->class->of);
	bool by_class = lines == LINES_OF_CLASSES;

	if (lines == LINES_OF_STOPS) {
		put_stop(out, recording, stacks, pause);
		return;
	}
	put_origin(out, recording, pause->start_ns, pause->runtime, 15);
	if (by_class) {
		fputc(' ', out);
		cell_text(out, pause->class->cell, -5);
	} else {
		cell_known(out, pause->generation, 4);
	}
	fputc(' ', out);
	cell_text(out, pause_cause_name(pause->cause), -9);
	cell_pause(out, pause, 11);
	if (!by_class)
		cell_known(out, pause->collected, 11);
	fputs("  ", out);
	if (pause->stack && pause->stack < stacks->node_count)
		text_frame(out, stacks, stacks->nodes[pause->stack].frame, 0);
	else
		fputc('-', out);
	fputc('\n', out);
}

bool text_stall_shown(const struct stall *stall)
{
	return stall->kind == STALL_EXPLICIT ||
	       (stall->end_ns > stall->start_ns &&
		       stall->end_ns - stall->start_ns >= STALL_SHOWN_NS);
}

void text_stall_line(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct stall *stall)
{
	uint32_t frame = explicit_asked(stacks, stall->stack);

	if (!frame)
		frame = attrib_trigger(stacks, stall->stack);
	put_origin(out, recording, stall->start_ns, stall->runtime, 8);
	fputs(" stall", out);
	cell_duration(out, stall->end_ns > stall->start_ns ? stall->end_ns - stall->start_ns : 0,
		10);
	cell_text(out, "", 23);
	fputs("  ", out);
	cell_text(out, WORDS_WAIT(recording, stall), -REASON_COLUMNS);
	fputs("  ", out);
	if (frame)
		text_frame_short(out, stacks, frame);
	else
		fputc('-', out);
	put_thread(out, "  in ", recording, stall->runtime, stall->tid);
	fputc('\n', out);
}
