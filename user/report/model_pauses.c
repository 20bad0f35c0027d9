/* Sums of pauses whose classes are generations in; tables by generation and by cause out. */
#include "cleanup.h"
#include "model_tables.h"
#include "verdict.h"

static const struct model_column generation_columns[] = {
	{"name", "Generation", UNIT_TEXT, .heading = "Generation", .width = -10},
	{"generation", "Generation", UNIT_ID},
	{"class", "Generation", UNIT_CLASS},
	{"pauses", "Pauses", UNIT_COUNT},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"p50_ns", "p50", UNIT_NS, .spare = true},
	{"p99_ns", "p99", UNIT_NS},
	{"max_ns", "Longest", UNIT_NS},
	{"collected", "Collected", UNIT_COUNT, .width = 11, .spare = true, .help = "Objects freed"},
	{"uncollectable", "Uncollectable", UNIT_COUNT, .width = 15, .spare = true},
};

static const struct model_layout generations = {
	.key = "generations",
	.caption = "Pauses by generation",
	.columns = generation_columns,
	.column_count = ARRAY_SIZE(generation_columns),
	.text = "name pauses pause_ns share p50_ns p99_ns max_ns collected uncollectable",
	.json = "generation pauses pause_ns p50_ns p99_ns max_ns collected uncollectable",
	.page = "class pauses pause_ns share p50_ns p99_ns max_ns collected uncollectable",
	.flush = true,
	.sort = "pause_ns",
};

static void add_generations(struct model *model, const struct summary *summary, uint64_t traced_ns)
{
	static const char *const names[SUMMARY_GENERATIONS] = {"0", "1", "2", "unknown"};
	struct model_table *table = model_add(model, &generations);
	struct summary_sum all = summary_of_generations(summary);
	int64_t collected = UNKNOWN, uncollectable = UNKNOWN;

	for (uint32_t i = 0; i < SUMMARY_GENERATIONS; i++) {
		const struct sums *class = &summary->generations[i];
		const struct summary_yield *yield = &summary->yields[i];

		if (!class->count)
			continue;
		MODEL_ROW(table, model_text(names[i]),
			model_known(i < SUMMARY_GENERATIONS - 1 ? (int64_t)i : UNKNOWN),
			model_class(i, i, NULL), model_number(class->count),
			model_number(class->total_ns), model_share(class->total_ns, traced_ns),
			model_number(sums_quantile(class, 0.5)),
			model_number(sums_quantile(class, 0.99)), model_number(class->max_ns),
			model_known(yield->collected), model_known(yield->uncollectable));
		collected = summary_add_known(collected, yield->collected);
		uncollectable = summary_add_known(uncollectable, yield->uncollectable);
	}
	MODEL_TOTAL(table, model_text("all"), model_blank(), model_blank(), model_number(all.count),
		model_number(all.total_ns), model_share(all.total_ns, traced_ns),
		model_number(summary_quantile_generations(summary, 0.5)),
		model_number(summary_quantile_generations(summary, 0.99)), model_number(all.max_ns),
		model_known(collected), model_known(uncollectable));
}

static const struct model_column cause_columns[] = {
	{"cause", "Cause", UNIT_TEXT, .heading = "Cause", .width = -10},
	{"pauses", "Pauses", UNIT_COUNT},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"max_ns", "Longest", UNIT_NS},
};

static const struct model_layout causes = {
	.key = "causes",
	.caption = "Pauses by cause",
	.columns = cause_columns,
	.column_count = ARRAY_SIZE(cause_columns),
	.flush = true,
	.sort = "pause_ns",
};

static void add_causes(struct model *model, const struct summary *summary, uint64_t traced_ns)
{
	struct model_table *table = model_add(model, &causes);

	for (uint32_t cause = 0; cause < SUMMARY_CAUSES; cause++) {
		const struct summary_sum *sum = &summary->causes[cause];
		struct model_cell name = model_text(pause_cause_name(cause));

		if (!sum->count)
			continue;
		MODEL_ROW(table, cause ? name : model_not_in(IN_JSON, name),
			model_number(sum->count), model_number(sum->total_ns),
			model_share(sum->total_ns, traced_ns), model_number(sum->max_ns));
	}
	if (!table->rows)
		return;
	if (summary->slept)
		model_note(table, IN_TEXT,
			"In %llu of them the thread slept: a finalizer waited or did I/O, or memory was paged in.",
			(unsigned long long)summary->slept);
	if (summary->open)
		model_note(table, IN_TEXT,
			"%llu of them began before the recording did, or had not ended when it ended: they lasted at least as long as shown (≥).",
			(unsigned long long)summary->open);
}

void model_pauses(struct model *model, const struct report_input *input,
	const struct summary *summary)
{
	uint64_t traced_ns = verdict_traced_ns(input->recording, summary);

	add_generations(model, summary, traced_ns);
	add_causes(model, summary, traced_ns);
	if (summary->parts_of_ns)
		model_facts(model, &summary->parts, summary->parts_of_ns,
			model_format(model, "Where the time of %s went",
				summary->parts.meaning->label));
}
