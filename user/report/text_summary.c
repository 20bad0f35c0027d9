/* A recording and its summary in; the report out, for a tired engineer: the answer first, then the tables. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "model_longest.h"
#include "model_tables.h"
#include "parse.h"
#include "runtime_words.h"
#include "terminal.h"
#include "text.h"
#include "text_cell.h"
#include "text_steps.h"
#include "text_table.h"
#include "utf8.h"
#include "verdict.h"

#define BAR_COLUMNS 40

static void put_histogram(FILE *out, const struct summary *summary)
{
	static const char bar[] = "########################################";
	uint64_t most = 1;

	for (int i = 0; i < SUMMARY_BUCKETS; i++)
		if (summary->histogram[i] > most)
			most = summary->histogram[i];
	fprintf(out, "\nDuration                    PAUSES\n");
	for (int i = 0; i < SUMMARY_BUCKETS; i++) {
		uint64_t count = summary->histogram[i];
		int columns = (int)((double)count / (double)most * BAR_COLUMNS + 0.5);

		if (!count)
			continue;
		fputs("  ", out);
		cell_duration(out, i ? 1ull << i : 0, 8);
		fputs(" … ", out);
		cell_text(out, i < 63 ? FORMAT_DURATION(2ull << i) : "", -8);
		cell_count(out, count, 13);
		fprintf(out, " |%.*s%*s|\n", columns ? columns : 1, bar,
			BAR_COLUMNS - (columns ? columns : 1), "");
	}
}

/* Each returns quietly when memory runs out: the report is whole except for that part. */
static void put_costs(FILE *out, const struct report_input *input)
{
	_cleanup_(model_release) struct model model = {0};

	model_costs(&model, input);
	text_tables(out, input->stacks, &model);
}

static void put_missing(FILE *out, const struct recording *recording, const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	model_missing(&model, recording, summary, NULL);
	text_bodies(out, NULL, &model);
	if (model.failed) /* what is missing is never passed over */
		fputs("INCOMPLETE: memory ran out while listing the reasons.\n", out);
}

static void put_advice(FILE *out, const struct report_input *input)
{
	_cleanup_(model_release) struct model model = {0};

	model_advice(&model, input);
	text_tables(out, input->stacks, &model);
}

static void put_processes(FILE *out, const struct report_input *input,
	const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	model_processes(&model, input, summary);
	text_tables(out, input->stacks, &model);
}

static void put_longest(FILE *out, const struct report_input *input, const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};
	struct longest_pause longest[SUMMARY_WORST];

	for (uint32_t i = 0; i < summary->worst_count; i++)
		longest[i] = (struct longest_pause){.pause = summary->worst[i],
			.order = summary->worst_at[i],
			.track = UNKNOWN,
			.step = UNKNOWN};
	model_longest(&model, input, longest, summary->worst_count);
	text_tables(out, input->stacks, &model);
}

static void put_lines(FILE *out, const struct stack_table *stacks, const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	if (stacks->node_count < 2 || summary->stacks.count < 2) {
		fprintf(out, "\nNo stacks were recorded.\n");
		return;
	}
	model_lines(&model, stacks, summary);
	text_tables(out, stacks, &model);
}

/* The first line is the answer; the others say what it is about. */
static void put_verdict(FILE *out, const struct report_input *input, const struct summary *summary)
{
	struct verdict verdict;

	verdict_make(input, summary, &verdict);
	for (size_t i = 0; i < verdict.count; i++) {
		if (i)
			fprintf(out, "  %-7s", verdict.lines[i].label);
		else
			terminal_style(out, TERMINAL_STRONG);
		utf8_print(out, verdict.lines[i].text);
		fputc('\n', out);
		if (!i)
			terminal_style(out, TERMINAL_PLAIN);
	}
}

/* Whether there are steps of which anything is said. */
static bool has_steps(const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;

	for (size_t i = 0; attribution && i < attribution->tracks.count; i++)
		if (step_track_confident(&attribution->steps->tracks.items[i]))
			return true;
	return false;
}

void text_summary(FILE *out, const struct report_input *input, const struct summary *summary,
	const struct model *model)
{
	const struct recording *recording = input->recording;
	bool stepped = has_steps(input);

	put_verdict(out, input, summary);
	terminal_style(out, TERMINAL_ALARM);
	put_missing(out, recording, summary);
	terminal_style(out, TERMINAL_PLAIN);
	if (input->left_out)
		fprintf(out, "%s\n", WORDS_LEFT_OUT(recording, *input->left_out));
	text_steps(out, input);
	if (stepped)
		put_costs(out, input);
	put_advice(out, input);
	put_processes(out, input, summary);
	text_tables(out, input->stacks, model);
	if (!summary->count)
		return;
	put_histogram(out, summary);
	put_longest(out, input, summary);
	if (!stepped)
		put_lines(out, input->stacks, summary);
}
