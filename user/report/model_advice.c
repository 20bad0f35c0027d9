/* Advice in; a table of it out: a numbered list in text, records in JSON, cards in the page. */
#include "cleanup.h"
#include "describe.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

static const struct model_column advice_columns[] = {
	{"numbered", NULL, UNIT_TEXT, .most = 200},
	{"advice", NULL, UNIT_TEXT},
	{"pid", NULL, UNIT_ID},
	{"title", NULL, UNIT_TEXT},
	{"line", NULL, UNIT_TEXT, .below = true, .gap = 7, .most = 200},
	{"saves_ns", NULL, UNIT_NS},
	{"saves_low_ns", NULL, UNIT_NS},
	{"saves_high_ns", NULL, UNIT_NS},
	{"worse_ns", NULL, UNIT_NS},
	{"saves_share", NULL, UNIT_REAL},
	{"grows_objects", NULL, UNIT_COUNT},
	{"grows_bytes", NULL, UNIT_BYTES},
	{"grows_objects_per_step", NULL, UNIT_REAL},
	{"every", NULL, UNIT_COUNT},
	{"estimate", NULL, UNIT_TEXT, .heading = "saves: ", .below = true, .gap = 5, .most = 640},
	{"risk", NULL, UNIT_TEXT, .heading = "risk:  ", .below = true, .gap = 5, .most = 640},
	{"calm", NULL, UNIT_BOOL},
	{"whose", NULL, UNIT_TEXT},
	{"less", NULL, UNIT_TEXT},
	{"saves", NULL, UNIT_TEXT},
	{"range", NULL, UNIT_TEXT},
};

static const struct model_layout advice_layout = {
	.key = "advice",
	.title = "Advice, computed on this recording",
	.columns = advice_columns,
	.column_count = ARRAY_SIZE(advice_columns),
	.text = "numbered line estimate risk",
	.json = "advice pid title line saves_ns saves_low_ns saves_high_ns worse_ns saves_share "
		"grows_objects grows_bytes grows_objects_per_step every estimate risk",
	.page = "title calm whose less saves range line estimate risk",
	.records = true,
	.text_rows = UINT16_MAX,
};

/* Whether its share is one of steps, or of the time it was traced. */
static bool has_steps(const struct report_input *input, uint32_t process)
{
	return input->attribution && attrib_speaker(input->attribution, process) != ATTRIB_NONE;
}

static void add_advice(struct model_table *table, const struct report_input *input,
	const struct advice *advice)
{
	struct model *model = table->model;
	const struct process *process = recording_process(input->recording, advice->process);
	const char *less = NULL, *saves = NULL, *range = NULL;

	if (advice->saves_ns) {
		less = model_format(model, "−%.*f\u202f%%", advice->saves_share < 0.01 ? 2 : 1,
			100 * advice->saves_share);
		saves = model_format(model, "%s: %s",
			has_steps(input, advice->process) ? "of training time"
							  : "of the traced time",
			FORMAT_DURATION(advice->saves_ns));
		range = model_format(model, "(range: %s%s to %s)", advice->worse_ns ? "−" : "",
			FORMAT_DURATION(advice->saves_low_ns + advice->worse_ns),
			FORMAT_DURATION(advice->saves_high_ns));
	}
	MODEL_ROW(table, model_text(model_format(model, "%zu. %s", table->rows + 1, advice->title)),
		model_text(advice_name(advice->kind)),
		model_known(process ? process->pid : UNKNOWN), model_text(advice->title),
		model_text(advice->line), model_number(advice->saves_ns),
		model_number(advice->saves_low_ns), model_number(advice->saves_high_ns),
		model_number(advice->worse_ns), model_real(advice->saves_share),
		model_known(advice->grows_objects), model_known(advice->grows_bytes),
		model_real(advice->grows_objects_per_step), model_unless_zero(advice->every),
		model_text(advice->estimate), model_text(advice->risk),
		model_number(advice->kind == &advice_nothing),
		model_text(process ? model_format(model, "%s", VERDICT_NAME(process)) : NULL),
		model_text(less), model_text(saves), model_text(range));
}

/*
 * What it saves is counted in pauses. Where less than that was lost, or nobody knows, steps may gain less.
 */
static void note_lost(struct model_table *table, const struct report_input *input,
	const struct advice *advice)
{
	uint32_t index = attrib_speaker(input->attribution, advice->process);
	const struct track_cost *cost = &input->attribution->tracks.items[index];
	uint64_t lost_ns = describe_lost_ns(cost->cost.ns);

	if (!attrib_told(cost))
		model_note(table, IN_TEXT | IN_PAGE,
			"What is saved are pauses. How much of them was lost, and so what steps would gain, "
			"cannot be told.");
	else if (cost->cost.high_ns < (int64_t)cost->overlap_ns)
		model_note(table, IN_TEXT | IN_PAGE,
			"What is saved are pauses. Of the %s that they stopped only %s were lost (%s%s): "
			"steps would gain accordingly less.",
			FORMAT_DURATION(cost->overlap_ns), FORMAT_DURATION(lost_ns),
			describe_source(attrib_source(cost)), DESCRIBE_INTERVAL(cost, false));
}

void model_advice(struct model *model, const struct report_input *input)
{
	const struct advices *advices = input->advices;
	struct model_table *table = model_add(model, &advice_layout);
	bool noted = false;

	for (size_t i = 0; advices && i < advices->items.count; i++) {
		const struct advice *advice = &advices->items.items[i];

		add_advice(table, input, advice);
		/* The ranks of one job get each piece of advice once: so is this said of the first. */
		if (noted || !advice->saves_ns || !has_steps(input, advice->process))
			continue;
		note_lost(table, input, advice);
		noted = true;
	}
}
