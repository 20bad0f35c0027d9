/* Sums by a runtime's own classes and facts in; tables out, which take their words from its entry in meaning/. */
#include "cleanup.h"
#include "model_tables.h"
#include "reporting.h"
#include "runtime_words.h"

static const struct model_column class_columns[] = {
	{"runtime", NULL, UNIT_TEXT},
	{"class", "Class", UNIT_CLASS, .width = -17}, /* the longest name there is */
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

	table->title = table->caption = model_format(model, "%s of %s by class",
		model_capital(model, meaning->pauses), meaning->label);
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

/* Of a runtime that has none of its own. */
static void add_tables(struct model *model, const struct report_input *input,
	const struct summary_kind *kind)
{
	add_classes(model, kind, model->traced_ns);
	model_facts(model, &kind->facts, kind->sum.total_ns,
		model_format(model, "Where the time of %s went", kind->meaning->label));
	add_sums(model, kind);
	if (kind->places.cause >= 0)
		model_causes(model, input, kind);
	if (kind->places.heap_after >= 0)
		model_heaps(model, input, kind);
	if (kind->places.late >= 0)
		model_late(model, input, kind);
}

/* The page says at their head what its tables lack. */
static const struct model_layout left_out = {.key = "left_out", .text = "", .json = ""};

static void add_left_out(struct model *model, const struct report_input *input)
{
	if (input->left_out && words_any(input->recording, words_apart))
		model_note(model_add(model, &left_out), IN_PAGE, "%s",
			WORDS_LEFT_OUT(input->recording, *input->left_out));
}

/* Where a runtime has tables of its own, reports say so even if none of its pauses came. */
static bool fill(struct summary *summary, const struct recording *recording)
{
	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime_meaning *meaning =
			meaning_of(recording->runtimes.items[i].kind);

		if (meaning->report && meaning->report->tables &&
			!summary_kinds_get(&summary->kinds, meaning))
			return false;
	}
	return true;
}

void model_kinds(struct model *model, const struct report_input *input, struct summary *summary)
{
	if (!fill(summary, input->recording)) {
		model->failed = true;
		return;
	}
	for (int own = 0; own < 2; own++) {
		if (own)
			add_left_out(model, input);
		for (size_t i = 0; i < summary->kinds.items.count; i++) {
			struct summary_kind *kind = &summary->kinds.items.items[i];
			const struct runtime_report *report = kind->meaning->report;

			if (own != (report && report->tables))
				continue;
			summary_kind_sort(kind);
			(own ? report->tables : add_tables)(model, input, kind);
		}
	}
}
