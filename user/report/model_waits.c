/* Stalls, who called for collections, concurrent phases in; tables out. */
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "parse.h"
#include "runtime_words.h"
#include "stall_sums.h"
#include "verdict.h"

static const struct model_column caller_columns[] = {
	{"pid", "PID", UNIT_ID},
	{"tid", "TID", UNIT_ID},
	{"thread", "Thread", UNIT_TEXT, .width = -16},
	{"training", "Trains", UNIT_BOOL},
	{"caller", "Called by", UNIT_FRAME, .heading = "called by  ", .width = -36, .below = true,
		.wide = true},
	{"who", "Because of", UNIT_FRAME, .heading = "because of ", .width = -36, .below = true,
		.wide = true},
	{"calls", "Calls", UNIT_COUNT, .width = 7},
	{"collected", "With a collection", UNIT_COUNT, .spare = true},
	{"idle", NULL, UNIT_COUNT},
	{"unknown", NULL, UNIT_COUNT},
	{"blocked_ns", "Blocked", UNIT_NS, .help = "The caller, until it returned"},
	{"blocked_median_ns", "Median", UNIT_NS},
	{"blocked_max_ns", "Longest", UNIT_NS},
	{"pauses", NULL, UNIT_COUNT},
	{"pause_ns", "Paused", UNIT_NS, .help = "Everybody, by what it caused"},
	{"max_ns", NULL, UNIT_NS},
	{"overlap_ns", NULL, UNIT_NS},
	{"freed_bytes", NULL, UNIT_BYTES},
	{"period_ns", "Period", UNIT_NS},
	{"rest_ns", NULL, UNIT_NS},
	{"regular", NULL, UNIT_BOOL},
	{"whose", "Thread", UNIT_TEXT},
	{"process", NULL, UNIT_TEXT, .gap = 1},
	{"outcome", NULL, UNIT_TEXT, .below = true},
};

static const struct model_layout callers_layout = {
	.key = "explicit_gc",
	.columns = caller_columns,
	.column_count = ARRAY_SIZE(caller_columns),
	.text = "calls blocked_ns blocked_median_ns blocked_max_ns pause_ns thread process outcome caller who",
	.json = "pid tid thread training caller who calls collected idle unknown blocked_ns "
		"blocked_median_ns blocked_max_ns pauses pause_ns max_ns overlap_ns freed_bytes period_ns "
		"rest_ns regular",
	.page = "caller who whose calls collected blocked_ns pause_ns period_ns",
	.json_last = true,
	.text_rows = 8,
	.more = "caller",
	.page_rows = 10,
	.sort = "blocked_ns",
};

/* "every 500.0 ms", "500.0 ms after it returned": when it calls again. "" if too seldom to say. */
static const char *rhythm(struct model *model, const struct explicit_caller *caller,
	const char *irregular)
{
	if (!caller->period_ns)
		return "";
	if (caller->rests && !caller->regular)
		return model_format(model, "%s after it returned",
			FORMAT_DURATION(caller->rest_ns));
	return model_format(model, "%s %s", caller->regular ? "every" : irregular,
		FORMAT_DURATION(caller->period_ns));
}

/* "spark (4711), a training thread, every 500.0 ms": what stands behind the thread's name. */
static const char *process_text(struct model *model, const struct recording *recording,
	const struct explicit_caller *caller)
{
	const char *again = rhythm(model, caller, "irregularly, median distance");

	return model_format(model, "%s%s%s%s",
		VERDICT_NAME(recording_process(recording, caller->process)),
		caller->training ? ", a training thread" : "", *again ? ", " : "", again);
}

/* What came of the calls: "a collection came of 12, none of 3; 12 pauses, …". */
static const char *outcome_text(struct model *model, const struct explicit_caller *caller)
{
	bool told = caller->collected || !caller->unknown;
	char calls[160] = "", idle[48] = "", unknown[48] = "", pauses[128] = "; no pause";

	if (told)
		snprintf(calls, sizeof(calls), "a collection came of %" PRIu64, caller->collected);
	if (caller->idle)
		snprintf(idle, sizeof(idle), "%snone of %" PRIu64, told ? ", " : "", caller->idle);
	if (caller->unknown)
		snprintf(unknown, sizeof(unknown), "%snot known of %" PRIu64,
			told || caller->idle ? ", " : "", caller->unknown);
	if (caller->pauses)
		snprintf(pauses, sizeof(pauses), "; %" PRIu64 " pause%s, %s in all, longest %s",
			caller->pauses, caller->pauses == 1 ? "" : "s",
			FORMAT_DURATION(caller->pause_ns), FORMAT_DURATION(caller->pause_max_ns));
	return model_format(model, "%s%s%s%s%s%s", calls, idle, unknown, pauses,
		caller->freed_bytes >= 0 ? "; freed " : "",
		caller->freed_bytes >= 0 ? WORDS_BYTES(caller->freed_bytes) : "");
}

static struct model_cell period_of(struct model *model, const struct explicit_caller *caller)
{
	struct model_cell period = model_unless_zero(caller->period_ns);

	if (caller->period_ns)
		period.text = rhythm(model, caller, "about every");
	return period;
}

static struct model_cell frame_of(const struct stack_table *stacks, uint32_t frame)
{
	return model_frame(frame < stacks->frame_count ? frame : 0, NULL);
}

static void add_caller(struct model_table *table, const struct report_input *input,
	const struct explicit_caller *caller)
{
	struct model *model = table->model;
	const struct process *process = recording_process(input->recording, caller->process);
	struct model_cell who = frame_of(input->stacks, caller->who);
	struct model_cell thread = model_text(caller->thread);
	const char *named = *caller->thread ? caller->thread : "-";

	if (caller->who == caller->caller)
		who = model_not_in(IN_TEXT, who);
	MODEL_ROW(table, model_known(process ? process->pid : UNKNOWN), model_number(caller->tid),
		thread, model_number(caller->training), frame_of(input->stacks, caller->caller),
		who, model_number(caller->calls), model_number(caller->collected),
		model_number(caller->idle), model_number(caller->unknown),
		model_number(caller->blocked_ns), model_number(caller->blocked_median_ns),
		model_number(caller->blocked_max_ns), model_number(caller->pauses),
		model_number(caller->pause_ns), model_number(caller->pause_max_ns),
		model_number(caller->overlap_ns), model_known(caller->freed_bytes),
		period_of(model, caller),
		model_known(caller->period_ns ? (int64_t)caller->rest_ns : UNKNOWN),
		model_known(caller->period_ns ? caller->regular || caller->rests : UNKNOWN),
		model_text(caller->training ? model_format(model, "%s, trains", named)
					    : caller->thread),
		model_text(process_text(model, input->recording, caller)),
		model_text(outcome_text(model, caller)));
}

static void add_callers(struct model *model, const struct report_input *input)
{
	const struct explicit_calls *calls = &input->attribution->explicit_calls;
	struct model_table *table = model_add(model, &callers_layout);
	const char *call = words_call(input->recording);

	table->title = model_format(model,
		"Who called %s (BLOCKED: the caller, until it returned; PAUSED: everybody)", call);
	table->caption = model_format(model, "Who called %s", call);
	for (size_t i = 0; i < calls->callers.count; i++)
		add_caller(table, input, &calls->callers.items[i]);
	if (calls->stray)
		model_note(table, IN_TEXT,
			"%" PRIu64 " pause%s with the cause %s (%s) outside of any "
			"call that was seen",
			calls->stray, calls->stray == 1 ? "" : "s", call,
			FORMAT_DURATION(calls->stray_ns));
}

static const struct model_column stall_columns[] = {
	{"kind", "Stall", UNIT_TEXT, .heading = "KIND", .width = -16},
	{"count", "Count", UNIT_COUNT, .width = 9},
	{"stall_ns", "Total", UNIT_NS},
	{"p50_ns", "p50", UNIT_NS, .spare = true},
	{"p99_ns", "p99", UNIT_NS},
	{"max_ns", "Longest", UNIT_NS},
};

static const struct model_layout stalls_layout = {
	.key = "stalls",
	.title =
		"Stalls: one thread waited for the collector (added to no total above; pauses within are in those)",
	.caption =
		"Stalls: one thread waited for the collector; added to no total above, which have the pauses within",
	.columns = stall_columns,
	.column_count = ARRAY_SIZE(stall_columns),
	.json = "kind count stall_ns max_ns",
	.sort = "stall_ns",
};

static void add_stalls(struct model *model, const struct recording *recording)
{
	_cleanup_(stall_sums_release) struct stall_sums sums = {0};
	struct model_table *table = model_add(model, &stalls_layout);

	if (stall_sums_make(&sums, recording)) {
		model->failed = true;
		return;
	}
	for (size_t i = 0; i < sums.kinds.count; i++) {
		const struct sums *class = &sums.kinds.items[i].class;

		MODEL_ROW(table, model_text(sums.kinds.items[i].name), model_number(class->count),
			model_number(class->total_ns), model_number(sums_quantile(class, 0.5)),
			model_number(sums_quantile(class, 0.99)), model_number(class->max_ns));
	}
}

static const struct model_column phase_columns[] = {
	{"name", "Phase", UNIT_TEXT, .width = -38},
	{"count", "Count", UNIT_COUNT},
	{"phase_ns", "Total", UNIT_NS},
	{"max_ns", "Longest", UNIT_NS},
};

static const struct model_layout phases_layout = {
	.key = "phases",
	.title = "Concurrent phases (the program ran meanwhile; one may hold others)",
	.caption = "Concurrent phases: the program ran meanwhile; one may hold others",
	.columns = phase_columns,
	.column_count = ARRAY_SIZE(phase_columns),
	.text_rows = 24,
	.sort = "phase_ns",
};

static void add_phases(struct model *model, const struct report_input *input)
{
	_cleanup_(phase_sums_release) struct phase_sums sums = {0};
	struct model_table *table = model_add(model, &phases_layout);

	if (phase_sums_make(&sums, input->recording)) {
		model->failed = true;
		return;
	}
	for (size_t i = 0; i < sums.items.count; i++) {
		const struct phase_sum *phase = &sums.items.items[i];

		MODEL_ROW(table, model_string(input->stacks->strings, phase->name),
			model_number(phase->sum.count), model_number(phase->sum.total_ns),
			model_number(phase->sum.max_ns));
	}
}

void model_waits(struct model *model, const struct report_input *input)
{
	if (!words_any(input->recording, words_waits))
		return;
	if (input->attribution)
		add_callers(model, input);
	add_stalls(model, input->recording);
	add_phases(model, input);
}
