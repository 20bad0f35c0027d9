/*
 * A recording and its summary in; the report for a tired engineer out: the answer first, then the
 * tables.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "parse.h"
#include "terminal.h"
#include "text.h"
#include "text_cell.h"
#include "text_steps.h"
#include "text_table.h"
#include "text_worst.h"
#include "utf8.h"
#include "verdict.h"

#define DROPS_SHOWN 16
#define BAR_COLUMNS 40

static void show_field(FILE *out, const char *field, size_t size)
{
	char shown[512];

	utf8_show(shown, sizeof(shown), field, strnlen(field, size), 120);
	fputs(shown, out);
}

/* Every reason why the figures below may be too low, with what would have helped. */
static void put_incomplete(FILE *out, const struct recording *recording,
	const struct summary *summary)
{
	size_t more = 0;

	if (recording->cut_off)
		fprintf(out,
			"INCOMPLETE: the recording was cut off, after %s at the earliest: gctrace "
			"was killed, or could not write on.\n",
			FORMAT_DURATION(verdict_span_ns(recording, summary)));
	if (*recording->damage) {
		fputs("INCOMPLETE: the file is damaged (", out);
		show_field(out, recording->damage, sizeof(recording->damage));
		fputs("): only what could be read is counted. Take another copy of it.\n", out);
	}
	for (size_t i = 0; i < recording->drops.count && i < DROPS_SHOWN; i++) {
		const struct drop *drop = &recording->drops.items[i];

		if (drop_is_end(drop))
			fputs("INCOMPLETE: the recording ends early (", out);
		else
			fprintf(out, "INCOMPLETE: %llu event%s lost (",
				(unsigned long long)drop->count, drop->count == 1 ? "" : "s");
		show_field(out, drop->cause, sizeof(drop->cause));
		fputs(*drop->remedy ? "): " : ").", out);
		show_field(out, drop->remedy, sizeof(drop->remedy));
		fputs(*drop->remedy ? ".\n" : "\n", out);
	}
	if (recording->drops.count > DROPS_SHOWN)
		fprintf(out, "INCOMPLETE: events were lost for %zu cause%s more.\n",
			recording->drops.count - DROPS_SHOWN,
			recording->drops.count - DROPS_SHOWN == 1 ? "" : "s");
	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if (!runtime->missed || more++ >= DROPS_SHOWN)
			continue;
		fprintf(out,
			"INCOMPLETE: %llu collection%s of %s %s in the runtime's own books but "
			"seen by "
			"no probe: \"gctrace doctor -p %d\" shows what is probed.\n",
			(unsigned long long)runtime->missed, runtime->missed == 1 ? "" : "s",
			VERDICT_NAME(recording_process(recording, runtime->process)),
			runtime->missed == 1 ? "is" : "are",
			recording_process(recording, runtime->process)
				? (int)recording_process(recording, runtime->process)->pid
				: 0);
	}
}

static void put_histogram(FILE *out, const struct summary *summary)
{
	static const char bar[] = "########################################";
	uint64_t most = 1;
	int first = 0, last = SUMMARY_BUCKETS - 1;

	while (first < last && !summary->histogram[first])
		first++;
	while (last > first && !summary->histogram[last])
		last--;
	for (int i = first; i <= last; i++)
		if (summary->histogram[i] > most)
			most = summary->histogram[i];
	fprintf(out, "\nDuration                    PAUSES\n");
	for (int i = first; i <= last; i++) {
		uint64_t count = summary->histogram[i];
		int columns = (int)((double)count / (double)most * BAR_COLUMNS + 0.5);

		fputs("  ", out);
		cell_duration(out, i ? 1ull << i : 0, 8);
		fputs(" … ", out);
		cell_text(out, i < 63 ? FORMAT_DURATION(2ull << i) : "", -8);
		cell_count(out, count, 13);
		fprintf(out, " |%.*s%*s|\n", count && !columns ? 1 : columns, bar,
			BAR_COLUMNS - (count && !columns ? 1 : columns), "");
	}
}

static void put_tables(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++)
		text_table(out, stacks, model->tables.items[i]);
}

/* Each returns quietly when memory is out: the report is whole but for them. */
static void put_costs(FILE *out, const struct report_input *input)
{
	_cleanup_(model_release) struct model model = {0};

	model_costs(&model, input);
	put_tables(out, input->stacks, &model);
}

static void put_advice(FILE *out, const struct report_input *input)
{
	_cleanup_(model_release) struct model model = {0};

	model_advice(&model, input);
	put_tables(out, input->stacks, &model);
}

static void put_processes(FILE *out, const struct report_input *input,
	const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	model_processes(&model, input, summary);
	put_tables(out, input->stacks, &model);
}

static void put_lines(FILE *out, const struct stack_table *stacks, const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	if (stacks->node_count < 2 || summary->stacks.count < 2) {
		fprintf(out, "\nNo stacks were recorded.\n");
		return;
	}
	model_lines(&model, stacks, summary);
	put_tables(out, stacks, &model);
}

void text_summary(FILE *out, const struct report_input *input, const struct summary *summary,
	const struct model *model)
{
	const struct recording *recording = input->recording;
	bool stepped = input->attribution && input->attribution->tracks.count;
	char paragraph[VERDICT_PARAGRAPH_BYTES];

	terminal_style(out, TERMINAL_STRONG);
	utf8_print(out, verdict_paragraph(input, summary, paragraph, sizeof(paragraph)));
	fputc('\n', out);
	terminal_style(out, TERMINAL_ALARM);
	put_incomplete(out, recording, summary);
	terminal_style(out, TERMINAL_PLAIN);
	if (input->left_out)
		fprintf(out,
			"Left out everywhere (--gc-only): %llu safepoint%s in which nothing was collected.\n",
			(unsigned long long)*input->left_out, *input->left_out == 1 ? "" : "s");
	text_steps(out, input);
	if (stepped)
		put_costs(out, input);
	put_advice(out, input);
	put_processes(out, input, summary);
	put_tables(out, input->stacks, model);
	if (!summary->count)
		return;
	put_histogram(out, summary);
	text_worst(out, recording, input->stacks, summary);
	if (!stepped)
		put_lines(out, input->stacks, summary);
}
