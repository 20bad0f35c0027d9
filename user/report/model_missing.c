/* What a recording lacks in; a table of the reasons out, each a sentence. */
#include "cleanup.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

#define LISTED 16  /* drops, and runtimes with missed collections */
#define SHOWN  120 /* characters of a cause, or what damage was found */

static const struct model_column missing_columns[] = {
	{"line", NULL, UNIT_TEXT, .most = 512},
	{"sentence", NULL, UNIT_TEXT},
};

/* JSON has the figures instead: drops as they come, the rest in the recording's and the summary's records. */
static const struct model_layout missing_layout = {
	.key = "incomplete",
	.columns = missing_columns,
	.column_count = ARRAY_SIZE(missing_columns),
	.text = "line",
	.json = "",
	.page = "sentence",
	.margin = true,
	.text_rows = UINT16_MAX,
};

/* @reason is the model's. */
static void add_reason(struct model_table *table, const char *reason)
{
	struct model *model = table->model;

	MODEL_ROW(table, model_text(model_format(model, "INCOMPLETE: %s", reason)),
		model_text(model_capital(model, reason)));
}

static void add_drop(struct model_table *table, const struct drop *drop)
{
	struct model *model = table->model;
	const char *cause = model_shown(model, drop->cause, sizeof(drop->cause), SHOWN);
	const char *remedy = model_shown(model, drop->remedy, sizeof(drop->remedy), DROP_REMEDY);
	const char *what = "the recording ends early";

	if (!drop_is_end(drop))
		what = model_format(model, "%llu event%s lost", (unsigned long long)drop->count,
			drop->count == 1 ? "" : "s");
	add_reason(table,
		model_format(model, "%s (%s)%s%s.", what, cause, *remedy ? ": " : "", remedy));
}

static void add_missed(struct model_table *table, const struct recording *recording,
	const struct runtime *runtime)
{
	const struct process *process = recording_process(recording, runtime->process);

	add_reason(table,
		model_format(table->model,
			"%llu collection%s of %s %s in the runtime's own books but seen by no probe: "
			"\"gctrace doctor -p %d\" shows what is probed.",
			(unsigned long long)runtime->missed, runtime->missed == 1 ? "" : "s",
			VERDICT_NAME(process), runtime->missed == 1 ? "is" : "are",
			process ? (int)process->pid : 0));
}

static void add_losses(struct model_table *table, const struct recording *recording)
{
	size_t more = recording->drops.count > LISTED ? recording->drops.count - LISTED : 0;
	size_t listed = 0;

	for (size_t i = 0; i < recording->drops.count && i < LISTED; i++)
		add_drop(table, &recording->drops.items[i]);
	if (more)
		add_reason(table,
			model_format(table->model, "events were lost for %zu more cause%s.", more,
				more == 1 ? "" : "s"));
	for (size_t i = 0; i < recording->runtimes.count && listed < LISTED; i++)
		if (recording->runtimes.items[i].missed) {
			add_missed(table, recording, &recording->runtimes.items[i]);
			listed++;
		}
}

void model_missing(struct model *model, const struct recording *recording,
	const struct summary *summary, const char *unread)
{
	struct model_table *table = model_add(model, &missing_layout);

	if (recording->cut_off)
		add_reason(table,
			model_format(model,
				"the recording was cut off after at least %s: gctrace was killed, or could "
				"no longer write.",
				FORMAT_DURATION(verdict_span_ns(recording, summary))));
	if (*recording->damage)
		add_reason(table,
			model_format(model,
				"the file is damaged (%s): only what could be read is counted. Take "
				"another copy of it.",
				model_shown(model, recording->damage, sizeof(recording->damage),
					SHOWN)));
	if (unread)
		add_reason(table, model_format(model, "not all pauses could be read: %s", unread));
	add_losses(table, recording);
}
