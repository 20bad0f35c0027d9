/* What pauses stopped of servers' requests in; a table of the servers out, and one of those that are not told. */
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

static const struct model_column request_columns[] = {
	{"process", "Server", UNIT_TEXT, .width = -22},
	{"pid", NULL, UNIT_ID},
	{"requests", "Requests", UNIT_COUNT},
	{"unanswered", "Unanswered", UNIT_COUNT, .heading = "NO ANSWER", .width = 10, .spare = true,
		.help = "Begun, and without a response when the recording ended or their connection did"},
	{"at_once", "At once", UNIT_COUNT, .help = "The most under way at one moment"},
	{"stopped", "Stopped", UNIT_COUNT, .help = "Those that a pause overlaps"},
	{"share", "of the requests", UNIT_SHARE, .heading = "SHARE"},
	{"time_ns", NULL, UNIT_NS},
	{"overlap_ns", NULL, UNIT_NS},
	{"overlap_max_ns", "Longest stop", UNIT_NS, .heading = "LONGEST",
		.help = "The most for which pauses stopped one request"},
	{"p50_ns", "p50", UNIT_NS},
	{"p99_ns", "p99", UNIT_NS},
	{"p99_without_ns", "p99 without", UNIT_NS, .heading = "LESS PAUSES", .width = 12,
		.help = "Of the durations less what pauses took of them"},
	{"max_ns", "Longest", UNIT_NS, .heading = "MAX"},
	{"p50_without_ns", NULL, UNIT_NS},
	{"max_without_ns", NULL, UNIT_NS},
};

static const struct model_layout requests_layout = {
	.key = "requests",
	.title = "Requests (from when one is read until its response begins; they may overlap)",
	.caption = "Requests",
	.columns = request_columns,
	.column_count = ARRAY_SIZE(request_columns),
	.text = "process requests unanswered at_once stopped share overlap_max_ns p50_ns p99_ns "
		"p99_without_ns max_ns",
	.json = "pid requests unanswered at_once stopped time_ns overlap_ns overlap_max_ns p50_ns p99_ns "
		"max_ns p50_without_ns p99_without_ns max_without_ns",
	.page = "process requests unanswered at_once stopped share overlap_max_ns p50_ns p99_ns "
		"p99_without_ns max_ns",
	.text_rows = 8,
	.more = "server",
	.sort = "requests",
};

/* Text and page say it in the answer. */
static const struct model_column untold_columns[] = {
	{"pid", NULL, UNIT_ID},
	{"encrypted", NULL, UNIT_BOOL},
	{"http2", NULL, UNIT_BOOL},
	{"responses", NULL, UNIT_COUNT},
};

static const struct model_layout untold_layout = {
	.key = "requests_untold",
	.columns = untold_columns,
	.column_count = ARRAY_SIZE(untold_columns),
	.text = "",
	.page = "",
};

static void add_server(struct model_table *table, const struct recording *recording,
	const struct request_cost *cost)
{
	const struct process *process = recording_process(recording, cost->process);

	MODEL_ROW(table, model_text(model_format(table->model, "%s", VERDICT_NAME(process))),
		model_known(process ? process->pid : UNKNOWN), model_number(cost->requests),
		model_number(cost->unanswered), model_number(cost->at_once),
		model_number(cost->stopped), model_share(cost->stopped, cost->requests),
		model_number(cost->time_ns), model_number(cost->overlap_ns),
		model_number(cost->overlap_max_ns), model_number(cost->with.p50_ns),
		model_number(cost->with.p99_ns), model_number(cost->without.p99_ns),
		model_number(cost->with.max_ns), model_number(cost->without.p50_ns),
		model_number(cost->without.max_ns));
}

/* Requests before the probes, and after they were let go, are in no figure. */
static void note_seen(struct model_table *table, const struct recording *recording)
{
	for (size_t i = 0; i < recording->signals.count; i++) {
		const struct signal *signal = &recording->signals.items[i];

		if (strcmp(signal->name, "http:request") != 0 || !signal->attached_ns)
			continue;
		if (signal->attached_ns > recording->start_ns)
			model_note(table, IN_TEXT | IN_PAGE,
				"Seen since %s after the recording began.",
				FORMAT_DURATION(signal->attached_ns - recording->start_ns));
		if (signal->let_go_ns)
			model_note(table, IN_TEXT | IN_PAGE | NOTE_WARNS,
				"They came too often and were let go after %s: later ones are not known.",
				FORMAT_DURATION(signal->let_go_ns - recording->start_ns));
	}
}

static void add_untold(struct model *model, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	struct model_table *table = model_add(model, &untold_layout);

	for (size_t i = 0; i < attribution->requests_untold.count; i++) {
		const struct request_untold *untold = &attribution->requests_untold.items[i];
		const struct process *process =
			recording_process(input->recording, untold->process);

		MODEL_ROW(table, model_known(process ? process->pid : UNKNOWN),
			model_number(untold->encrypted), model_number(untold->http2),
			model_number(untold->responses));
	}
}

void model_requests(struct model *model, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	struct model_table *table;

	if (attribution && attribution->requests_untold.count)
		add_untold(model, input);
	if (!attribution || !attribution->requests.count)
		return;
	table = model_add(model, &requests_layout);
	for (size_t i = 0; i < attribution->requests.count; i++)
		add_server(table, input->recording, &attribution->requests.items[i]);
	note_seen(table, input->recording);
}
