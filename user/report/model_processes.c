/* A recording's processes and the sums of their runtimes in; a table out: a row for each runtime, what paused most first. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "verdict.h"

#define SHOWN 120 /* characters of each part of how a runtime is probed */

static const struct model_column process_columns[] = {
	{"pid", "PID", UNIT_ID, .width = 7},
	{"inside", "PID", UNIT_ID},
	{"ns_pid", "NS PID", UNIT_ID},
	{"comm", "Command", UNIT_TEXT, .width = -15},
	{"runtime", "Runtime", UNIT_TEXT, .width = -17, .gap = 1},
	{"software", "Runtime", UNIT_TEXT},
	{"pauses", "Pauses", UNIT_COUNT, .spare = true},
	{"pause_ns", "Total", UNIT_NS},
	{"share", "of its time", UNIT_SHARE, .heading = "SHARE", .spare = true},
	{"max_ns", "Longest", UNIT_NS, .spare = true},
	{"missed", "Missed", UNIT_COUNT, .spare = true,
		.help = "Collections in its own books that no probe saw"},
	{"probed_by", "Probed by", UNIT_TEXT, .most = 4 * SHOWN},
	{"probe", "Probed by", UNIT_TEXT, .most = UINT16_MAX, .wide = true, .tip = "path"},
	{"path", NULL, UNIT_TEXT, .most = UINT16_MAX},
};

/* JSON has a record of each process instead, from when it was seen. */
static const struct model_layout processes_layout = {
	.key = "processes",
	.title = "Processes (SHARE: of the time each was traced)",
	.caption = "Processes",
	.columns = process_columns,
	.column_count = ARRAY_SIZE(process_columns),
	.text = "pid ns_pid comm runtime pauses pause_ns share max_ns probed_by",
	.json = "",
	.page = "inside comm software pauses pause_ns share max_ns missed probe path",
	.text_rows = 24,
	.page_rows = 24,
	.sort = "pause_ns",
};

/* A runtime, or a process without any. */
struct row {
	const struct process *process;
	const struct runtime *runtime;
	struct summary_sum sum;
	uint32_t order;	    /* as recorded */
	uint32_t namesakes; /* further processes of that name, likewise without a runtime */
};

static int costliest_first(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->sum.total_ns != other->sum.total_ns)
		return one->sum.total_ns < other->sum.total_ns ? 1 : -1;
	return (one->order > other->order) - (one->order < other->order);
}

static uint64_t name_key(const struct process *process)
{
	uint64_t words[2] = {0};

	memcpy(words, process->comm, strnlen(process->comm, sizeof(words)));
	return u64_mix(words[0]) ^ words[1];
}

/* A process without a runtime: one row for all of the same name. */
static void add_bare(struct row *rows, uint32_t *count, struct u64map *names,
	const struct process *process)
{
	const uint64_t *at = u64map_get(names, name_key(process));

	if (at && !strncmp(rows[*at].process->comm, process->comm, sizeof(process->comm))) {
		rows[*at].namesakes++;
		return;
	}
	u64map_put(names, name_key(process), *count);
	rows[*count] = (struct row){.process = process, .order = *count};
	++*count;
}

/* The caller frees them; NULL: no memory. */
static struct row *make_rows(const struct recording *recording, const struct summary *summary,
	uint32_t *ret_count)
{
	size_t runtimes = recording->runtimes.count, processes = recording->processes.count;
	struct row *rows = calloc(runtimes + processes + 1, sizeof(*rows));
	struct u64map traced = {0}, names = {0};
	uint32_t count = 0;

	for (size_t i = 0; rows && i < runtimes; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		rows[count] = (struct row){
			.process = recording_process(recording, runtime->process),
			.runtime = runtime,
			.sum = summary_of_runtime(summary, runtime->id),
			.order = count,
		};
		count += rows[count].process && !u64map_put(&traced, runtime->process, 1);
	}
	for (size_t i = 0; rows && i < processes; i++)
		if (!u64map_get(&traced, recording->processes.items[i].id))
			add_bare(rows, &count, &names, &recording->processes.items[i]);
	u64map_release(&traced);
	u64map_release(&names);
	if (rows)
		qsort(rows, count, sizeof(*rows), costliest_first);
	*ret_count = count;
	return rows;
}

/* "G1, symbol: collect+4 (push)" */
static const char *probed_by(struct model *model, const struct runtime *runtime)
{
	const char *collector = runtime->collector, *tier = runtime->tier,
		   *detail = runtime->detail ? runtime->detail : "";

	return model_format(model, "%s%s%s%s%s",
		model_shown(model, collector, sizeof(runtime->collector), SHOWN),
		*collector ? ", " : "", model_shown(model, tier, sizeof(runtime->tier), SHOWN),
		*detail ? ": " : "", model_shown(model, detail, SIZE_MAX, SHOWN));
}

/* The same without the collector, whole. */
static const char *probe_text(struct model *model, const struct runtime *runtime)
{
	bool detailed = runtime->detail && *runtime->detail;

	return model_format(model, "%s%s%s", runtime->tier, detailed ? ": " : "",
		detailed ? runtime->detail : "");
}

/* What runs in it: "toy 1.2"; with the collector, if @collector. */
static const char *software(struct model *model, const struct runtime *runtime, bool collector)
{
	collector &= *runtime->collector != '\0';
	return model_format(model, "%.15s %.31s%s%s", runtime->kind, runtime->version,
		collector ? ", " : "", collector ? runtime->collector : "");
}

/* Its id, with the one that it has in its own namespace if that is another. */
static struct model_cell inside(struct model *model, const struct process *process)
{
	struct model_cell cell = model_known(process->pid);

	if (process->ns_pid > 0 && process->ns_pid != process->pid)
		cell.text = model_format(model, "%d (%d inside)", (int)process->pid,
			(int)process->ns_pid);
	return cell;
}

static struct model_cell ns_pid(const struct process *process)
{
	return model_known(process->ns_pid == process->pid ? UNKNOWN : process->ns_pid);
}

static void add_without_runtime(struct model_table *table, const struct row *row)
{
	struct model *model = table->model;
	const struct process *process = row->process;
	const char *none =
		!row->namesakes
			? "no runtime found"
			: model_format(model, "no runtime found, nor in %u more of that name",
				  row->namesakes);

	MODEL_ROW(table, model_known(process->pid), inside(model, process), ns_pid(process),
		model_bytes(process->comm, strnlen(process->comm, sizeof(process->comm))),
		model_text(none), model_text(none), model_blank(), model_blank(), model_blank(),
		model_blank(), model_blank(), model_blank(), model_blank(), model_blank());
}

static void add_runtime(struct model_table *table, const struct row *row, uint64_t span_ns)
{
	struct model *model = table->model;
	const struct process *process = row->process;
	const struct runtime *runtime = row->runtime;

	MODEL_ROW(table, model_known(process->pid), inside(model, process), ns_pid(process),
		model_bytes(process->comm, strnlen(process->comm, sizeof(process->comm))),
		model_text(software(model, runtime, false)),
		model_text(software(model, runtime, true)), model_number(row->sum.count),
		model_number(row->sum.total_ns), model_share(row->sum.total_ns, span_ns),
		model_number(row->sum.max_ns), model_number(runtime->missed),
		model_text(probed_by(model, runtime)), model_text(probe_text(model, runtime)),
		model_text(runtime->path));
}

#define LOST "another thread's collection was under way, or it was disabled meanwhile"

/* Only where there are any: no column for one runtime among others. */
static void note_idle_calls(struct model_table *table, const struct row *row)
{
	const struct runtime *runtime = row->runtime;
	const char *why = "it was disabled, or another thread's collection was under way";

	if (!runtime || runtime->idle_calls <= 0)
		return;
	if (!runtime->disabled_calls)
		why = LOST;
	else if (runtime->disabled_calls == runtime->idle_calls)
		why = "it was disabled";
	else if (runtime->disabled_calls > 0)
		why = model_format(table->model, "for %lld it was disabled, for the others " LOST,
			(long long)runtime->disabled_calls);
	model_note(table, IN_TEXT | IN_PAGE,
		"%lld call%s of the collector of process %d collected nothing: %s.",
		(long long)runtime->idle_calls, runtime->idle_calls == 1 ? "" : "s",
		(int)row->process->pid, why);
}

void model_processes(struct model *model, const struct report_input *input,
	const struct summary *summary)
{
	const struct recording *recording = input->recording;
	struct model_table *table = model_add(model, &processes_layout);
	uint32_t count = 0;
	_cleanup_free_ struct row *rows = make_rows(recording, summary, &count);

	if (!rows)
		model->failed = true;
	if (!summary->count)
		table->sort = "inside";
	for (uint32_t i = 0; rows && i < count; i++) {
		if (rows[i].runtime)
			add_runtime(table, &rows[i],
				verdict_process_span_ns(recording, summary, rows[i].process));
		else
			add_without_runtime(table, &rows[i]);
		note_idle_calls(table, &rows[i]);
	}
}
