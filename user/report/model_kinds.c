/* Sums by a runtime's own classes and facts in; tables out, which take their words from its entry in meaning/. */
#include <ctype.h>

#include "cleanup.h"
#include "model_tables.h"
#include "verdict.h"

static const struct model_column fact_columns[] = {
	{"name", "Part", UNIT_TEXT, .heading = "OF WHICH"},
	{"part", "Part", UNIT_TEXT},
	{"count", "Known of", UNIT_COUNT, .heading = "KNOWN"},
	{"total_ns", "Total", UNIT_NS},
	{"share", "of all", UNIT_SHARE, .heading = "OF", .spare = true},
	{"max_ns", "Longest", UNIT_NS, .width = 33},
};

/* JSON has the totals beside those of the pauses. */
static const struct model_layout fact_layout = {
	.key = "parts",
	.columns = fact_columns,
	.column_count = ARRAY_SIZE(fact_columns),
	.text = "name count total_ns share max_ns",
	.json = "",
	.page = "part count total_ns share max_ns",
	.sort = "total_ns",
};

void model_facts(struct model *model, const struct summary_facts *facts, uint64_t total_ns,
	const char *caption)
{
	const struct runtime_meaning *meaning = facts->meaning;
	struct model_table *table = model_add(model, &fact_layout);

	table->caption = caption;
	for (size_t i = 0; meaning && i < meaning->fact_count; i++) {
		const struct summary_sum *sum = &facts->sums[i];

		if (meaning->facts[i].part && sum->count)
			MODEL_ROW(table, model_text(meaning->facts[i].name),
				model_text(model_capital(model, meaning->facts[i].name)),
				model_number(sum->count), model_number(sum->total_ns),
				model_share(sum->total_ns, total_ns), model_number(sum->max_ns));
	}
	if (facts->unsplit_ns)
		MODEL_TOTAL(table, model_text("not told apart"), model_blank(), model_blank(),
			model_number(facts->unsplit_ns), model_share(facts->unsplit_ns, total_ns),
			model_blank());
}

static const struct model_column class_columns[] = {
	{"runtime", NULL, UNIT_TEXT},
	{"class", "Class", UNIT_CLASS},
	{"pauses", "Pauses", UNIT_COUNT},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"p50_ns", "p50", UNIT_NS, .spare = true},
	{"p99_ns", "p99", UNIT_NS},
	{"max_ns", "Longest", UNIT_NS},
};

static const struct model_layout classes = {
	.key = "classes",
	.columns = class_columns,
	.column_count = ARRAY_SIZE(class_columns),
	.text = "class pauses pause_ns share p50_ns p99_ns max_ns",
	.page = "class pauses pause_ns share p50_ns p99_ns max_ns",
	.sort = "pause_ns",
};

static void add_classes(struct model *model, const struct summary_kind *kind, uint64_t traced_ns)
{
	const struct runtime_meaning *meaning = kind->meaning;
	struct model_table *table = model_add(model, &classes);

	table->title = table->caption = model_format(model, "%c%s of %s by class",
		toupper((unsigned char)*meaning->pauses), meaning->pauses + 1, meaning->label);
	for (uint32_t i = 0; i < meaning->class_count; i++) {
		const struct sums *class = &kind->classes[i];

		if (class->count)
			MODEL_ROW(table, model_text(meaning->kind),
				model_class(i, meaning->classes[i].colour,
					meaning->classes[i].name),
				model_number(class->count), model_number(class->total_ns),
				model_share(class->total_ns, traced_ns),
				model_number(sums_quantile(class, 0.5)),
				model_number(sums_quantile(class, 0.99)),
				model_number(class->max_ns));
	}
	MODEL_TOTAL(table, model_blank(), model_class(0, 0, "all"), model_number(kind->sum.count),
		model_number(kind->sum.total_ns), model_share(kind->sum.total_ns, traced_ns),
		model_number(summary_quantile_kind(kind, 0.5)),
		model_number(summary_quantile_kind(kind, 0.99)), model_number(kind->sum.max_ns));
}

/* JSON's totals of the facts, by their keys. */
static const struct model_column sum_columns[] = {
	{"runtime", NULL, UNIT_TEXT},
	{"fact", NULL, UNIT_TEXT},
	{"known", NULL, UNIT_COUNT},
	{"sum_ns", NULL, UNIT_NS},
	{"max_ns", NULL, UNIT_NS},
};

static const struct model_layout sums = {
	.key = "facts",
	.columns = sum_columns,
	.column_count = ARRAY_SIZE(sum_columns),
	.text = "",
	.page = "",
};

static void add_sums(struct model *model, const struct summary_kind *kind)
{
	const struct runtime_meaning *meaning = kind->meaning;
	struct model_table *table = model_add(model, &sums);

	for (size_t i = 0; i < meaning->fact_count; i++)
		if (meaning->facts[i].unit == FACT_NS)
			MODEL_ROW(table, model_text(meaning->kind),
				model_text(meaning->facts[i].key),
				model_number(kind->facts.sums[i].count),
				model_number(kind->facts.sums[i].total_ns),
				model_number(kind->facts.sums[i].max_ns));
}

void model_kinds(struct model *model, const struct report_input *input,
	const struct summary *summary)
{
	uint64_t traced_ns = verdict_traced_ns(input->recording, summary);

	for (size_t i = 0; i < summary->kinds.items.count; i++) {
		const struct summary_kind *kind = &summary->kinds.items.items[i];

		add_classes(model, kind, traced_ns);
		model_facts(model, &kind->facts, kind->sum.total_ns,
			model_format(model, "Where the time of %s went", kind->meaning->label));
		add_sums(model, kind);
	}
}
