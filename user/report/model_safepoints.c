/* Sums of safepoints in; tables out: by operation, where the time went, kinds, causes, heap, late threads. */
#include <inttypes.h>

#include "cleanup.h"
#include "model_tables.h"
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

static void add_all(struct model_table *table, const struct summary *summary, uint64_t traced_ns)
{
	const struct safepoints *safepoints = &summary->safepoints;
	uint64_t reach_ns = 0, reach_of_ns = 0;

	for (size_t i = 0; i < safepoints->operations.count; i++) {
		stats_add(&reach_ns, safepoints->operations.items[i].reach_ns);
		stats_add(&reach_of_ns, safepoints->operations.items[i].reach_of_ns);
	}
	MODEL_TOTAL(table, model_text("all"), model_number(safepoints->count),
		model_number(safepoints->total_ns), model_share(safepoints->total_ns, traced_ns),
		model_number(summary_quantile_safepoints(summary, 0.5)),
		model_number(summary_quantile_safepoints(summary, 0.99)),
		model_number(safepoints->max_ns), model_blank(),
		model_share(reach_ns, reach_of_ns));
}

static void add_operations(struct model *model, const struct report_input *input,
	const struct summary *summary, uint64_t traced_ns)
{
	const struct safepoints *safepoints = &summary->safepoints;
	struct model_table *table = model_add(model, &operations);
	uint64_t inexact = safepoints->inexact;

	for (size_t i = 0; i < safepoints->operations.count; i++) {
		const struct safepoint_operation *operation = &safepoints->operations.items[i];
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
	add_all(table, summary, traced_ns);
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

static void add_sums(struct model *model, const struct safepoints *safepoints)
{
	const struct runtime_meaning *meaning = safepoints->facts.meaning;
	struct model_column columns[5 + PAUSE_FACTS] = {
		{"pauses", NULL, UNIT_COUNT},
		{"pause_ns", NULL, UNIT_NS},
		{"gc_pauses", NULL, UNIT_COUNT},
		{"gc_pause_ns", NULL, UNIT_NS},
	};
	struct model_cell cells[5 + PAUSE_FACTS] = {
		model_number(safepoints->count),
		model_number(safepoints->total_ns),
		model_number(safepoints->collecting),
		model_number(safepoints->collecting_ns),
	};
	size_t count = 4;

	for (size_t i = 0; i < meaning->fact_count; i++) {
		const struct summary_sum *sum = &safepoints->facts.sums[i];

		if (!meaning->facts[i].part)
			continue;
		columns[count] = (struct model_column){meaning->facts[i].key, NULL, UNIT_NS};
		cells[count] = model_number(sum->total_ns);
		cells[count++].state = sum->count ? CELL_KNOWN : CELL_UNKNOWN;
	}
	columns[count] = (struct model_column){"inexact", NULL, UNIT_COUNT};
	cells[count++] = model_number(safepoints->inexact);
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

static void add_kinds(struct model *model, const struct safepoints *safepoints, uint64_t traced_ns)
{
	const struct pause_class *classes = safepoints->facts.meaning->classes;
	struct model_table *table = model_add(model, &kinds);

	for (uint32_t i = 0; i < SAFEPOINT_KINDS; i++) {
		const struct safepoint_class *class = &safepoints->kinds[i];
		uint8_t nowhere = i == SAFEPOINT_OTHER ? IN_TEXT : 0;

		if (class->sum.count)
			MODEL_ROW(table, model_class(i, classes[i].colour, classes[i].name),
				model_number(class->sum.count),
				model_not_in(nowhere, model_known(class->young)),
				model_not_in(nowhere, model_known(class->full)),
				model_number(class->sum.total_ns),
				model_share(class->sum.total_ns, traced_ns),
				model_number(class->sum.max_ns),
				model_not_in(nowhere, model_known(class->freed)));
	}
}

static const struct model_column cause_columns[] = {
	{"cause", "Cause", UNIT_TEXT},
	{"pauses", "Safepoints", UNIT_COUNT, .heading = "COUNT"},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE"},
	{"max_ns", "Longest", UNIT_NS},
};

static const struct model_layout causes = {
	.key = "causes",
	.caption = "Causes",
	.columns = cause_columns,
	.column_count = ARRAY_SIZE(cause_columns),
	.page = "cause pauses pause_ns max_ns",
	.text_rows = 12,
	.sort = "pause_ns",
};

static void add_causes(struct model *model, const struct report_input *input,
	const struct safepoints *safepoints, uint64_t traced_ns)
{
	struct model_table *table = model_add(model, &causes);

	for (size_t i = 0; i < safepoints->causes.count; i++) {
		const struct safepoint_cause *cause = &safepoints->causes.items[i];

		MODEL_ROW(table, model_string(input->stacks->strings, cause->name),
			model_number(cause->sum.count), model_number(cause->sum.total_ns),
			model_share(cause->sum.total_ns, traced_ns),
			model_number(cause->sum.max_ns));
	}
}

static const struct model_column heap_columns[] = {
	{"process", "Process", UNIT_TEXT, .width = -24},
	{"pid", "PID", UNIT_ID},
	{"after", "After", UNIT_TEXT, .width = -6, .gap = 1},
	{"collections", "Collections", UNIT_COUNT, .heading = "COUNT"},
	{"first_bytes", "First", UNIT_BYTES},
	{"median_bytes", "Median", UNIT_BYTES},
	{"last_bytes", "Last", UNIT_BYTES},
	{"most_bytes", "Most", UNIT_BYTES},
};

static const struct model_layout heaps = {
	.key = "heaps",
	.title = "Heap in use after collections (its trend is that of what stays alive)",
	.caption = "Heap in use after collections",
	.columns = heap_columns,
	.column_count = ARRAY_SIZE(heap_columns),
	.text = "process after collections first_bytes median_bytes last_bytes most_bytes",
	.json = "",
	.page = "pid after collections first_bytes median_bytes last_bytes most_bytes",
	.text_rows = 12,
	.sort = "pid",
	.ascending = true,
};

static const struct process *process_of(const struct recording *recording, uint32_t id)
{
	const struct runtime *runtime = recording_runtime(recording, id);

	return runtime ? recording_process(recording, runtime->process) : NULL;
}

static void add_heaps(struct model *model, const struct recording *recording,
	const struct safepoints *safepoints)
{
	struct model_table *table = model_add(model, &heaps);

	for (size_t i = 0; i < safepoints->heaps.count; i++) {
		const struct safepoint_heap *heap = &safepoints->heaps.items[i];
		const struct process *process = process_of(recording, heap->runtime);

		MODEL_ROW(table, model_text(model_format(model, "%s", VERDICT_NAME(process))),
			model_number(process ? (uint64_t)process->pid : 0),
			model_text(safepoints->facts.meaning->classes[heap->kind].name),
			model_number(heap->bytes.count), model_number(heap->first),
			model_number(sums_quantile(&heap->bytes, 0.5)), model_number(heap->last),
			model_number(heap->bytes.max_ns));
	}
}

static const struct model_column late_columns[] = {
	{"thread", "Thread", UNIT_TEXT, .width = -16},
	{"tid", "TID", UNIT_ID, .width = 10, .spare = true},
	{"times", "Times", UNIT_COUNT},
	{"reach_ns", "Reach", UNIT_NS, .help = "Times to safepoint that it made long"},
	{"max_ns", "Longest", UNIT_NS},
	{"stack", "Where", UNIT_STACK, .width = -1, .wide = true},
};

static const struct model_layout late_layout = {
	.key = "late",
	.title =
		"Threads that safepoints had to wait for (REACH: the times to safepoint that they made long)",
	.caption = "Threads that safepoints had to wait for",
	.columns = late_columns,
	.column_count = ARRAY_SIZE(late_columns),
	.json = "",
	.text_rows = 10,
	.page_rows = 10,
	.sort = "reach_ns",
};

static void add_late(struct model *model, const struct recording *recording,
	const struct safepoints *safepoints)
{
	struct model_table *table = model_add(model, &late_layout);

	for (size_t i = 0; i < safepoints->late.count; i++) {
		const struct safepoint_late *late = &safepoints->late.items[i];

		MODEL_ROW(table, model_text(runtime_thread(recording, late->runtime, late->tid)),
			model_number(late->tid), model_number(late->sum.count),
			model_number(late->sum.total_ns), model_number(late->sum.max_ns),
			model_frame(late->stack, NULL));
	}
}

/* The page says at their head what its tables lack. */
static const struct model_layout left_out = {.key = "left_out", .text = "", .json = ""};

bool model_stops(const struct report_input *input, const struct summary *summary)
{
	return recording_kinds(input->recording) & RUNTIMES_JVM || summary->safepoints.count;
}

void model_safepoints(struct model *model, const struct report_input *input,
	struct summary *summary)
{
	uint64_t traced_ns = verdict_traced_ns(input->recording, summary);
	struct safepoints *safepoints = &summary->safepoints;
	uint64_t without = report_left_out(input);

	safepoints_sort(safepoints);
	if (!safepoints->facts.meaning) /* none paused: the words are needed all the same */
		safepoints->facts.meaning = meaning_with_safepoints(input->recording);
	if (input->left_out)
		model_note(model_add(model, &left_out), IN_PAGE,
			"Left out everywhere (--gc-only): %" PRIu64
			" safepoint%s in which nothing was collected.",
			without, without == 1 ? "" : "s");
	add_sums(model, safepoints);
	add_operations(model, input, summary, traced_ns);
	model_facts(model, &safepoints->facts, safepoints->total_ns,
		"Where the time at safepoints went");
	add_kinds(model, safepoints, traced_ns);
	add_causes(model, input, safepoints, traced_ns);
	add_heaps(model, input->recording, safepoints);
	add_late(model, input->recording, safepoints);
}
