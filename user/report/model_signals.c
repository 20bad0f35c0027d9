/* Candidate step signals, and the functions that were probed for them, in; a table of each out. */
#include "cleanup.h"
#include "model_signals.h"

#define SHOWN 160 /* characters of a signal's name and of its probe in a sentence */

static const struct model_column candidate_columns[] = {
	{"mark", NULL, UNIT_TEXT, .width = -2, .none = ""},
	{"pid", "PID", UNIT_ID, .width = 7},
	{"tid", NULL, UNIT_ID},
	{"signal", "Signal, as for --step", UNIT_TEXT, .heading = "SIGNAL (as for --step)",
		.width = -44, .gap = 1, .code = true, .wide = true, .badge = "chosen"},
	{"marks", "Marks", UNIT_COUNT, .width = 9},
	{"per_second", "A second", UNIT_REAL, .digits = 1, .width = 10, .spare = true},
	{"per_step", "A step", UNIT_COUNT, .width = 7},
	{"variation", "Variation", UNIT_PART, .heading = "VARY", .width = 8, .spare = true},
	{"confidence", "Confidence", UNIT_REAL, .digits = 2, .width = 11},
	{"chosen", NULL, UNIT_BOOL},
	{"why", "Why", UNIT_TEXT, .wide = true},
};

static const struct model_layout candidates_layout = {
	.key = "step_candidate",
	.caption = "Step signals considered",
	.columns = candidate_columns,
	.column_count = ARRAY_SIZE(candidate_columns),
	.text = "mark pid signal marks per_second per_step variation confidence why",
	.json = "pid tid signal marks per_second per_step variation confidence chosen why",
	.page = "confidence signal marks per_second per_step variation why chosen",
	.records = true,
	.margin = true,
	.text_rows = UINT16_MAX,
	.page_rows = 10,
	.sort = "confidence",
};

static void add_candidates(struct model *model, const struct recording *recording,
	const struct steps *steps)
{
	struct model_table *table = model_add(model, &candidates_layout);

	for (size_t i = 0; i < steps->candidates.count; i++) {
		const struct step_candidate *candidate = &steps->candidates.items[i];
		const struct process *process = recording_process(recording, candidate->process);

		MODEL_ROW(table, model_text(candidate->chosen ? "*" : NULL),
			model_known(process ? process->pid : UNKNOWN), model_number(candidate->tid),
			model_text(candidate->signal), model_number(candidate->marks),
			model_real(candidate->per_second), model_unless_zero(candidate->per_step),
			model_real(candidate->variation), model_real(candidate->confidence),
			model_number(candidate->chosen), model_text(candidate->why));
	}
	for (size_t i = 0; i < steps->tracks.count; i++)
		if (*steps->tracks.items[i].note)
			model_note(table, IN_TEXT, "%s", steps->tracks.items[i].note);
	if (*steps->note)
		model_note(table, IN_TEXT, "%s", steps->note);
}

static const struct model_column signal_columns[] = {
	{"sentence", NULL, UNIT_TEXT, .most = 512},
	{"signal", "Signal", UNIT_TEXT, .code = true},
	{"calls", "Calls", UNIT_COUNT},
	{"kept", "Kept", UNIT_TEXT},
	{"probe", "Probe", UNIT_TEXT, .most = UINT16_MAX, .code = true, .wide = true},
};

/* JSON has neither: the file's own table of signals is read with SQL. */
static const struct model_layout signals_layout = {
	.key = "signals",
	.caption = "Functions probed for them",
	.columns = signal_columns,
	.column_count = ARRAY_SIZE(signal_columns),
	.text = "sentence",
	.json = "",
	.page = "signal calls kept probe",
	.margin = true,
	.text_rows = UINT16_MAX,
	.page_rows = 10,
	.sort = "calls",
};

static const char *sentence(struct model *model, const struct signal *signal)
{
	return model_format(model, "probed: %s, %llu call%s: %s%s",
		model_shown(model, signal->name, sizeof(signal->name), SHOWN),
		(unsigned long long)signal->hits, signal->hits == 1 ? "" : "s",
		model_shown(model, signal->probe, SIZE_MAX, SHOWN),
		signal->let_go_ns ? "; let go, too hot" : "");
}

static void add_signals(struct model *model, const struct recording *recording)
{
	struct model_table *table = model_add(model, &signals_layout);

	for (size_t i = 0; i < recording->signals.count; i++) {
		const struct signal *signal = &recording->signals.items[i];

		MODEL_ROW(table, model_text(sentence(model, signal)), model_text(signal->name),
			model_number(signal->hits),
			model_text(signal->let_go_ns ? "let go: too hot" : "yes"),
			model_text(signal->probe));
	}
}

void model_signals(struct model *model, const struct recording *recording,
	const struct steps *steps)
{
	if (steps)
		add_candidates(model, recording, steps);
	add_signals(model, recording);
}
