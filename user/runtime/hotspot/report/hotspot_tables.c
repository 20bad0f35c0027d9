/* What the safepoints of HotSpot add up to in; its tables out: by operation, where the time went, kinds. */
#include <inttypes.h>

#include "cleanup.h"
#include "hotspot_report.h"
#include "verdict.h"

static const char all_threads[] = "The part that went by before all threads stood still";

static const struct model_column operation_columns[] = {
	{"operation", "Operation", UNIT_TEXT, .none = "not known"},
	{"pauses", "Safepoints", UNIT_COUNT, .heading = "COUNT"},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"p50_ns", "p50", UNIT_NS, .spare = true},
	{"p99_ns", "p99", UNIT_NS},
	{"max_ns", "Longest", UNIT_NS},
	{"ttsp_ns", "Reach", UNIT_NS},
	{"reach", "Reach", UNIT_SHARE, .width = 9, .spare = true, .help = all_threads},
};

static const struct model_layout operations = {
	.key = "operations",
	.group = "safepoints",
	.title =
		"Safepoints by operation (REACH: the part that went by before all threads stood still)",
	.caption = "Safepoints by operation",
	.columns = operation_columns,
	.column_count = ARRAY_SIZE(operation_columns),
	.text = "operation pauses pause_ns share p50_ns p99_ns max_ns reach",
	.json = "operation pauses pause_ns max_ns p50_ns p99_ns ttsp_ns",
	.page = "operation pauses pause_ns share p50_ns p99_ns max_ns reach",
	.sort = "pause_ns",
};

static void add_all(struct model_table *table, const struct summary_kind *kind, uint64_t traced_ns)
{
	uint64_t reach_ns = 0, reach_of_ns = 0;

	for (size_t i = 0; i < kind->operations.count; i++) {
		stats_add(&reach_ns, kind->operations.items[i].reach_ns);
		stats_add(&reach_of_ns, kind->operations.items[i].reach_of_ns);
	}
	MODEL_TOTAL(table, model_text("all"), model_number(kind->sum.count),
		model_number(kind->sum.total_ns), model_share(kind->sum.total_ns, traced_ns),
		model_number(summary_quantile_kind(kind, 0.5)),
		model_number(summary_quantile_kind(kind, 0.99)), model_number(kind->sum.max_ns),
		model_blank(), model_share(reach_ns, reach_of_ns));
}

static void add_operations(struct model *model, const struct report_input *input,
	const struct summary_kind *kind, uint64_t traced_ns)
{
	struct model_table *table = model_add(model, &operations);
	uint64_t inexact = kind->inexact;

	for (size_t i = 0; i < kind->operations.count; i++) {
		const struct summary_operation *operation = &kind->operations.items[i];
		const struct sums *class = &operation->class;
		struct model_cell reach_ns = model_number(operation->reach_ns);

		if (!operation->reach_of_ns)
			reach_ns.state = CELL_UNKNOWN;
		MODEL_ROW(table, model_string(input->stacks->strings, operation->name),
			model_number(class->count), model_number(class->total_ns),
			model_share(class->total_ns, traced_ns),
			model_number(sums_quantile(class, 0.5)),
			model_number(sums_quantile(class, 0.99)), model_number(class->max_ns),
			reach_ns, model_share(operation->reach_ns, operation->reach_of_ns));
	}
	add_all(table, kind, traced_ns);
	if (!inexact)
		return;
	model_note(table, IN_TEXT,
		"Of %" PRIu64 " of them begin or length are those of gctrace's probes, "
		"not HotSpot's own: some microseconds off.",
		inexact);
	model_note(table, IN_PAGE,
		"Of %" PRIu64 " safepoint%s begin or length are those of probes, "
		"not HotSpot's own: some microseconds off.",
		inexact, inexact == 1 ? "" : "s");
}

/* JSON has what safepoints come to as an object, and in it the tables that name it as their group. */
static const struct model_layout safepoints_layout = {
	.key = "safepoints",
	.text = "",
	.page = "",
	.object = true,
};

static void add_sums(struct model *model, const struct summary_kind *kind)
{
	const struct runtime_meaning *meaning = kind->meaning;
	struct model_column columns[5 + PAUSE_FACTS] = {
		{"pauses", NULL, UNIT_COUNT},
		{"pause_ns", NULL, UNIT_NS},
		{"gc_pauses", NULL, UNIT_COUNT},
		{"gc_pause_ns", NULL, UNIT_NS},
	};
	struct model_cell cells[5 + PAUSE_FACTS] = {
		model_number(kind->sum.count),
		model_number(kind->sum.total_ns),
		model_number(kind->collecting),
		model_number(kind->collecting_ns),
	};
	size_t count = 4;

	for (size_t i = 0; i < meaning->fact_count; i++) {
		const struct summary_sum *sum = &kind->facts.sums[i];

		if (!meaning->facts[i].part)
			continue;
		columns[count] = (struct model_column){meaning->facts[i].key, NULL, UNIT_NS};
		cells[count] = model_number(sum->total_ns);
		cells[count++].state = sum->count ? CELL_KNOWN : CELL_UNKNOWN;
	}
	columns[count] = (struct model_column){"inexact", NULL, UNIT_COUNT};
	cells[count++] = model_number(kind->inexact);
	model_row(model_add_with(model, &safepoints_layout, columns, count), cells, count);
}

static const struct model_column kind_columns[] = {
	{"kind", "Kind", UNIT_CLASS},
	{"pauses", "Safepoints", UNIT_COUNT, .width = 12},
	{"young_collections", "Young", UNIT_COUNT, .width = 7, .spare = true},
	{"full_collections", "Full", UNIT_COUNT, .width = 7, .spare = true},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"max_ns", "Longest", UNIT_NS},
	{"freed_bytes", "Freed", UNIT_BYTES},
};

static const struct model_layout kinds = {
	.key = "kinds",
	.group = "safepoints",
	.title = "Collections (one safepoint may hold several)",
	.columns = kind_columns,
	.column_count = ARRAY_SIZE(kind_columns),
	.json = "kind pauses pause_ns max_ns young_collections full_collections freed_bytes",
	.sort = "pause_ns",
};

static void add_kinds(struct model *model, const struct summary_kind *kind, uint64_t traced_ns)
{
	const struct pause_class *classes = kind->meaning->classes;
	struct model_table *table = model_add(model, &kinds);

	for (uint32_t i = 0; i < HOTSPOT_CLASSES; i++) {
		const struct sums *class = &kind->classes[i];
		const struct summary_counts *counts = &kind->counts[i];
		uint8_t nowhere = i == HOTSPOT_OTHER ? IN_TEXT : 0;

		if (class->count)
			MODEL_ROW(table, model_class(i, classes[i].colour, classes[i].name),
				model_number(class->count),
				model_not_in(nowhere,
					model_known(counts->facts[HOTSPOT_YOUNG_COLLECTIONS])),
				model_not_in(nowhere,
					model_known(counts->facts[HOTSPOT_FULL_COLLECTIONS])),
				model_number(class->total_ns),
				model_share(class->total_ns, traced_ns),
				model_number(class->max_ns),
				model_not_in(nowhere, model_known(counts->freed)));
	}
}

void hotspot_tables(struct model *model, const struct report_input *input,
	const struct summary_kind *kind)
{
	uint64_t traced_ns = model->traced_ns;

	add_sums(model, kind);
	add_operations(model, input, kind, traced_ns);
	model_facts(model, &kind->facts, kind->sum.total_ns, "Where the time at safepoints went");
	add_kinds(model, kind, traced_ns);
	model_causes(model, input, kind);
	model_heaps(model, input, kind);
	model_late(model, input, kind);
}
