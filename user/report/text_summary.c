/*
 * A recording and its summary in; the report for a tired engineer out: the answer first, then the
 * tables.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "parse.h"
#include "terminal.h"
#include "text.h"
#include "text_cell.h"
#include "text_steps.h"
#include "text_table.h"
#include "text_worst.h"
#include "utf8.h"
#include "verdict.h"

#define PROCESSES_SHOWN 24
#define DROPS_SHOWN	16
#define BAR_COLUMNS	40

static void show_field(FILE *out, const char *field, size_t size)
{
	char shown[512];

	utf8_show(shown, sizeof(shown), field, strnlen(field, size), 120);
	fputs(shown, out);
}

/* Every reason why the figures below may be too low, with what would have helped. */
static void put_incomplete(FILE *out, const struct recording *recording,
	const struct summary *summary)
{
	size_t more = 0;

	if (recording->cut_off)
		fprintf(out,
			"INCOMPLETE: the recording was cut off, after %s at the earliest: gctrace "
			"was killed, or could not write on.\n",
			FORMAT_DURATION(verdict_span_ns(recording, summary)));
	if (*recording->damage) {
		fputs("INCOMPLETE: the file is damaged (", out);
		show_field(out, recording->damage, sizeof(recording->damage));
		fputs("): only what could be read is counted. Take another copy of it.\n", out);
	}
	for (size_t i = 0; i < recording->drops.count && i < DROPS_SHOWN; i++) {
		const struct drop *drop = &recording->drops.items[i];

		if (drop_is_end(drop))
			fputs("INCOMPLETE: the recording ends early (", out);
		else
			fprintf(out, "INCOMPLETE: %llu event%s lost (",
				(unsigned long long)drop->count, drop->count == 1 ? "" : "s");
		show_field(out, drop->cause, sizeof(drop->cause));
		fputs(*drop->remedy ? "): " : ").", out);
		show_field(out, drop->remedy, sizeof(drop->remedy));
		fputs(*drop->remedy ? ".\n" : "\n", out);
	}
	if (recording->drops.count > DROPS_SHOWN)
		fprintf(out, "INCOMPLETE: events were lost for %zu cause%s more.\n",
			recording->drops.count - DROPS_SHOWN,
			recording->drops.count - DROPS_SHOWN == 1 ? "" : "s");
	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if (!runtime->missed || more++ >= DROPS_SHOWN)
			continue;
		fprintf(out,
			"INCOMPLETE: %llu collection%s of %s %s in the runtime's own books but "
			"seen by "
			"no probe: \"gctrace doctor -p %d\" shows what is probed.\n",
			(unsigned long long)runtime->missed, runtime->missed == 1 ? "" : "s",
			VERDICT_NAME(recording_process(recording, runtime->process)),
			runtime->missed == 1 ? "is" : "are",
			recording_process(recording, runtime->process)
				? (int)recording_process(recording, runtime->process)->pid
				: 0);
	}
}

/* One line of the table of processes: a runtime, or a process without any. */
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

/* The rows of the table, the costliest first. Caller frees; NULL: none, or no memory. */
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

static void put_row(FILE *out, const struct recording *recording, const struct summary *summary,
	const struct row *row)
{
	const struct process *process = row->process;
	const struct runtime *runtime = row->runtime;
	char version[sizeof(runtime->kind) + sizeof(runtime->version) + 2];

	fputs("  ", out);
	cell_known(out, process->pid, 7);
	cell_known(out, process->ns_pid == process->pid ? UNKNOWN : process->ns_pid, 8);
	fputs("  ", out);
	cell_bytes(out, process->comm, strnlen(process->comm, sizeof(process->comm)), -16);
	if (!runtime) {
		fputs("no runtime found", out);
		if (row->namesakes)
			fprintf(out, ", nor in %u more of that name", row->namesakes);
		fputc('\n', out);
		return;
	}
	snprintf(version, sizeof(version), "%.15s %.31s", runtime->kind, runtime->version);
	cell_text(out, version, -17);
	cell_count(out, row->sum.count, 8);
	cell_duration(out, row->sum.total_ns, 11);
	cell_text(out,
		VERDICT_SHARE(row->sum.total_ns,
			verdict_process_span_ns(recording, summary, process)),
		8);
	cell_duration(out, row->sum.max_ns, 11);
	fputs("  ", out);
	if (*runtime->collector) {
		show_field(out, runtime->collector, sizeof(runtime->collector));
		fputs(", ", out);
	}
	show_field(out, runtime->tier, sizeof(runtime->tier));
	if (runtime->detail && *runtime->detail) {
		fputs(": ", out);
		show_field(out, runtime->detail, strlen(runtime->detail));
	}
	fputc('\n', out);
}

static void put_processes(FILE *out, const struct recording *recording,
	const struct summary *summary)
{
	uint32_t count = 0;
	_cleanup_free_ struct row *rows = make_rows(recording, summary, &count);

	if (!count)
		return;
	fprintf(out, "\nProcesses (SHARE: of the time each was traced)\n"
		     "      PID  NS PID  COMMAND         RUNTIME            PAUSES      TOTAL   "
		     "SHARE    "
		     "LONGEST  PROBED BY\n");
	for (uint32_t i = 0; i < count && i < PROCESSES_SHOWN; i++)
		put_row(out, recording, summary, &rows[i]);
	if (count > PROCESSES_SHOWN)
		fprintf(out, "  … and %u more\n", count - PROCESSES_SHOWN);
}

static void put_histogram(FILE *out, const struct summary *summary)
{
	static const char bar[] = "########################################";
	uint64_t most = 1;
	int first = 0, last = SUMMARY_BUCKETS - 1;

	while (first < last && !summary->histogram[first])
		first++;
	while (last > first && !summary->histogram[last])
		last--;
	for (int i = first; i <= last; i++)
		if (summary->histogram[i] > most)
			most = summary->histogram[i];
	fprintf(out, "\nDuration                    PAUSES\n");
	for (int i = first; i <= last; i++) {
		uint64_t count = summary->histogram[i];
		int columns = (int)((double)count / (double)most * BAR_COLUMNS + 0.5);

		fputs("  ", out);
		cell_duration(out, i ? 1ull << i : 0, 8);
		fputs(" … ", out);
		cell_text(out, i < 63 ? FORMAT_DURATION(2ull << i) : "", -8);
		cell_count(out, count, 13);
		fprintf(out, " |%.*s%*s|\n", count && !columns ? 1 : columns, bar,
			BAR_COLUMNS - (count && !columns ? 1 : columns), "");
	}
}

static void put_tables(FILE *out, const struct stack_table *stacks, const struct model *model)
{
	for (size_t i = 0; i < model->tables.count; i++)
		text_table(out, stacks, model->tables.items[i]);
}

/* Each returns quietly when memory is out: the report is whole but for them. */
static void put_costs(FILE *out, const struct report_input *input)
{
	_cleanup_(model_release) struct model model = {0};

	model_costs(&model, input);
	put_tables(out, input->stacks, &model);
}

static void put_lines(FILE *out, const struct stack_table *stacks, const struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};

	if (stacks->node_count < 2 || summary->stacks.count < 2) {
		fprintf(out, "\nNo stacks were recorded.\n");
		return;
	}
	model_lines(&model, stacks, summary);
	put_tables(out, stacks, &model);
}

void text_summary(FILE *out, const struct report_input *input, const struct summary *summary,
	const struct model *model)
{
	const struct recording *recording = input->recording;
	bool stepped = input->attribution && input->attribution->tracks.count;
	char paragraph[VERDICT_PARAGRAPH_BYTES];

	terminal_style(out, TERMINAL_STRONG);
	utf8_print(out, verdict_paragraph(input, summary, paragraph, sizeof(paragraph)));
	fputc('\n', out);
	terminal_style(out, TERMINAL_ALARM);
	put_incomplete(out, recording, summary);
	terminal_style(out, TERMINAL_PLAIN);
	if (input->left_out)
		fprintf(out,
			"Left out everywhere (--gc-only): %llu safepoint%s in which nothing was collected.\n",
			(unsigned long long)*input->left_out, *input->left_out == 1 ? "" : "s");
	text_steps(out, input);
	if (stepped)
		put_costs(out, input);
	text_advice(out, input);
	put_processes(out, recording, summary);
	put_tables(out, input->stacks, model);
	if (!summary->count)
		return;
	put_histogram(out, summary);
	text_worst(out, recording, input->stacks, summary);
	if (!stepped)
		put_lines(out, input->stacks, summary);
}
