/*
 * Sums by what facts of a runtime's pauses say in; tables out that any runtime with such facts has: where the time went,
 * causes, the heap that collections left, threads that were late.
 */
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "runtime_words.h"
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

static const struct model_column cause_columns[] = {
	{"cause", "Cause", UNIT_TEXT},
	{"pauses", "Pauses", UNIT_COUNT, .heading = "COUNT"},
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

void model_causes(struct model *model, const struct report_input *input,
	const struct summary_kind *kind)
{
	struct model_column columns[ARRAY_SIZE(cause_columns)];
	struct model_table *table;

	memcpy(columns, cause_columns, sizeof(columns));
	columns[1].title = model_capital(model, kind->meaning->pauses);
	table = model_add_with(model, &causes, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < kind->causes.count; i++) {
		const struct summary_cause *cause = &kind->causes.items[i];

		MODEL_ROW(table, model_string(input->stacks->strings, cause->name),
			model_number(cause->sum.count), model_number(cause->sum.total_ns),
			model_share(cause->sum.total_ns, model->traced_ns),
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

void model_heaps(struct model *model, const struct report_input *input,
	const struct summary_kind *kind)
{
	struct model_table *table = model_add(model, &heaps);

	for (size_t i = 0; i < kind->heaps.count; i++) {
		const struct summary_heap *heap = &kind->heaps.items[i];
		const struct process *process = process_of(input->recording, heap->runtime);

		MODEL_ROW(table, model_text(model_format(model, "%s", VERDICT_NAME(process))),
			model_number(process ? (uint64_t)process->pid : 0),
			model_text(heap->class->cell), model_number(heap->bytes.count),
			model_number(heap->first), model_number(sums_quantile(&heap->bytes, 0.5)),
			model_number(heap->last), model_number(heap->bytes.max_ns));
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
	.columns = late_columns,
	.column_count = ARRAY_SIZE(late_columns),
	.json = "",
	.text_rows = 10,
	.page_rows = 10,
	.sort = "reach_ns",
};

void model_late(struct model *model, const struct report_input *input,
	const struct summary_kind *kind)
{
	struct model_table *table = model_add(model, &late_layout);
	const char *pauses = kind->meaning->pauses;

	table->title = model_format(model,
		"Threads that %s had to wait for (REACH: the times to safepoint that they made long)",
		pauses);
	table->caption = model_format(model, "Threads that %s had to wait for", pauses);
	for (size_t i = 0; i < kind->late.count; i++) {
		const struct summary_late *late = &kind->late.items[i];

		MODEL_ROW(table,
			model_text(words_thread(input->recording, late->runtime, late->tid)),
			model_number(late->tid), model_number(late->sum.count),
			model_number(late->sum.total_ns), model_number(late->sum.max_ns),
			model_frame(late->stack, NULL));
	}
}
