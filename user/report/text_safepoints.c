/* Sums of safepoints in; tables out: operations, where the time went, kinds, causes, heap, late threads. */
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "parse.h"
#include "terminal.h"
#include "text_cell.h"
#include "text_safepoints.h"
#include "text_stack.h"
#include "utf8.h"
#include "verdict.h"

#define OPERATIONS_SHOWN 16
#define CAUSES_SHOWN	 12
#define HEAPS_SHOWN	 12
#define LATE_SHOWN	 10
#define NAME_COLUMNS	 30

static void put_operation(FILE *out, const struct stack_table *stacks,
	const struct safepoint_operation *operation, uint64_t traced_ns)
{
	const struct summary_class *class = &operation->class;

	fputs("  ", out);
	if (operation->name)
		cell_string(out, stacks->strings, operation->name, -NAME_COLUMNS);
	else
		cell_text(out, "not known", -NAME_COLUMNS);
	cell_count(out, class->count, 8);
	cell_duration(out, class->total_ns, 11);
	cell_text(out, VERDICT_SHARE(class->total_ns, traced_ns), 8);
	cell_duration(out, summary_quantile(class, 0.5), 11);
	cell_duration(out, summary_quantile(class, 0.99), 11);
	cell_duration(out, class->max_ns, 11);
	cell_text(out, VERDICT_SHARE(operation->reach_ns, operation->reach_of_ns), 9);
	fputc('\n', out);
}

static void put_all(FILE *out, const struct summary *summary, uint64_t traced_ns)
{
	const struct safepoints *safepoints = &summary->safepoints;
	uint64_t reach_ns = 0, reach_of_ns = 0;

	for (size_t i = 0; i < safepoints->operations.count; i++) {
		summary_add_to(&reach_ns, safepoints->operations.items[i].reach_ns);
		summary_add_to(&reach_of_ns, safepoints->operations.items[i].reach_of_ns);
	}
	fputs("  ", out);
	cell_text(out, "all", -NAME_COLUMNS);
	cell_count(out, safepoints->count, 8);
	cell_duration(out, safepoints->total_ns, 11);
	cell_text(out, VERDICT_SHARE(safepoints->total_ns, traced_ns), 8);
	cell_duration(out, summary_quantile_safepoints(summary, 0.5), 11);
	cell_duration(out, summary_quantile_safepoints(summary, 0.99), 11);
	cell_duration(out, safepoints->max_ns, 11);
	cell_text(out, VERDICT_SHARE(reach_ns, reach_of_ns), 9);
	fputc('\n', out);
}

static void put_operations(FILE *out, const struct stack_table *stacks, const struct summary *summary,
	uint64_t traced_ns)
{
	const struct safepoints *safepoints = &summary->safepoints;
	size_t count = safepoints->operations.count;

	fprintf(out, "\nSafepoints by operation (REACH: the part that went by before all threads stood still)\n"
		     "  %-*s   COUNT      TOTAL   SHARE        P50        P99    LONGEST    REACH\n",
		NAME_COLUMNS, "OPERATION");
	for (size_t i = 0; i < count && i < OPERATIONS_SHOWN; i++)
		put_operation(out, stacks, &safepoints->operations.items[i], traced_ns);
	if (count > OPERATIONS_SHOWN)
		fprintf(out, "  … and %zu more\n", count - OPERATIONS_SHOWN);
	put_all(out, summary, traced_ns);
	if (safepoints->inexact)
		fprintf(out, "  Of %" PRIu64 " of them begin or length are those of gctrace's probes, not "
			     "HotSpot's own: some microseconds off.\n", safepoints->inexact);
}

static void put_part(FILE *out, const char *name, const struct safepoint_part *part, uint64_t total_ns)
{
	if (!part->count)
		return;
	fputs("  ", out);
	cell_text(out, name, -NAME_COLUMNS);
	cell_count(out, part->count, 8);
	cell_duration(out, part->total_ns, 11);
	cell_text(out, VERDICT_SHARE(part->total_ns, total_ns), 8);
	cell_duration(out, part->max_ns, 33);
	fputc('\n', out);
}

static void put_parts(FILE *out, const struct safepoints *safepoints)
{
	static const char *const names[PARTS] = {
		[PART_REACH] = "reaching (time to safepoint)",
		[PART_CLEANUP] = "cleanup",
		[PART_CORE] = "at the safepoint",
		[PART_LEAVE] = "leaving",
	};

	fprintf(out, "\n  %-*s   KNOWN      TOTAL      OF                          LONGEST\n",
		NAME_COLUMNS, "OF WHICH");
	for (int i = 0; i < PARTS; i++)
		put_part(out, names[i], &safepoints->parts[i], safepoints->total_ns);
	if (!safepoints->unsplit_ns)
		return;
	fprintf(out, "  %-*s%8s", NAME_COLUMNS, "not told apart", "");
	cell_duration(out, safepoints->unsplit_ns, 11);
	cell_text(out, VERDICT_SHARE(safepoints->unsplit_ns, safepoints->total_ns), 8);
	fputc('\n', out);
}

static void put_kinds(FILE *out, const struct safepoints *safepoints, uint64_t traced_ns)
{
	fprintf(out, "\nCollections (one safepoint may hold several)\n"
		     "  %-16s  SAFEPOINTS  YOUNG   FULL      TOTAL   SHARE    LONGEST    FREED\n", "KIND");
	for (int i = 0; i < SAFEPOINT_KINDS; i++) {
		const struct safepoint_class *class = &safepoints->kinds[i];
		bool collects = i != SAFEPOINT_OTHER;

		if (!class->sum.count)
			continue;
		fputs("  ", out);
		cell_text(out, safepoint_kind_name(i), -16);
		cell_count(out, class->sum.count, 12);
		cell_known(out, collects ? class->young : UNKNOWN, 7);
		cell_known(out, collects ? class->full : UNKNOWN, 7);
		cell_duration(out, class->sum.total_ns, 11);
		cell_text(out, VERDICT_SHARE(class->sum.total_ns, traced_ns), 8);
		cell_duration(out, class->sum.max_ns, 11);
		cell_text(out, SAFEPOINT_BYTES(collects ? class->freed : UNKNOWN), 9);
		fputc('\n', out);
	}
}

static void put_causes(FILE *out, const struct stack_table *stacks, const struct safepoints *safepoints,
	uint64_t traced_ns)
{
	size_t count = safepoints->causes.count;

	if (!count)
		return;
	fprintf(out, "\n  %-*s   COUNT      TOTAL   SHARE    LONGEST\n", NAME_COLUMNS, "CAUSE");
	for (size_t i = 0; i < count && i < CAUSES_SHOWN; i++) {
		const struct safepoint_cause *cause = &safepoints->causes.items[i];

		fputs("  ", out);
		cell_string(out, stacks->strings, cause->name, -NAME_COLUMNS);
		cell_count(out, cause->sum.count, 8);
		cell_duration(out, cause->sum.total_ns, 11);
		cell_text(out, VERDICT_SHARE(cause->sum.total_ns, traced_ns), 8);
		cell_duration(out, cause->sum.max_ns, 11);
		fputc('\n', out);
	}
	if (count > CAUSES_SHOWN)
		fprintf(out, "  … and %zu more\n", count - CAUSES_SHOWN);
}

static const char *name_of(const struct recording *recording, uint32_t id, char *text, size_t size)
{
	const struct runtime *runtime = recording_runtime(recording, id);

	return verdict_process_name(
		runtime ? recording_process(recording, runtime->process) : NULL, text, size);
}
#define NAME_OF(recording, runtime) name_of((recording), (runtime), (char[96]){0}, 96)

static void put_heaps(FILE *out, const struct recording *recording, const struct safepoints *safepoints)
{
	size_t count = safepoints->heaps.count;

	if (!count)
		return;
	fprintf(out, "\nHeap in use after collections (its trend is that of what stays alive)\n"
		     "  %-24s %-6s   COUNT    FIRST   MEDIAN     LAST     MOST\n", "PROCESS", "AFTER");
	for (size_t i = 0; i < count && i < HEAPS_SHOWN; i++) {
		const struct safepoint_heap *heap = &safepoints->heaps.items[i];
		const uint64_t values[] = {heap->first, summary_quantile(&heap->bytes, 0.5),
			heap->last, heap->bytes.max_ns};

		fputs("  ", out);
		cell_text(out, NAME_OF(recording, heap->runtime), -24);
		fputc(' ', out);
		cell_text(out, safepoint_kind_name(heap->kind), -6);
		cell_count(out, heap->bytes.count, 8);
		for (size_t k = 0; k < ARRAY_SIZE(values); k++)
			cell_text(out, SAFEPOINT_BYTES((int64_t)values[k]), 9);
		fputc('\n', out);
	}
	if (count > HEAPS_SHOWN)
		fprintf(out, "  … and %zu more\n", count - HEAPS_SHOWN);
}

static void put_late(FILE *out, const struct report_input *input, const struct safepoint_late *late)
{
	const struct stack_table *stacks = input->stacks;
	const char *name = runtime_thread(input->recording, late->runtime, late->tid);

	fputs("  ", out);
	cell_text(out, name ? name : "-", -16);
	cell_count(out, late->tid, 10);
	cell_count(out, late->sum.count, 8);
	cell_duration(out, late->sum.total_ns, 11);
	cell_duration(out, late->sum.max_ns, 11);
	fputs("  ", out);
	if (late->stack && late->stack < stacks->node_count)
		text_frame(out, stacks, stacks->nodes[late->stack].frame, 0);
	else
		fputc('-', out);
	fputc('\n', out);
}

static void put_latest(FILE *out, const struct report_input *input, const struct safepoints *safepoints)
{
	size_t count = safepoints->late.count;

	if (!count)
		return;
	fprintf(out, "\nThreads that safepoints had to wait for (REACH: the times to safepoint that they "
		     "made long)\n"
		     "  THREAD                  TID   TIMES      REACH    LONGEST  WHERE\n");
	for (size_t i = 0; i < count && i < LATE_SHOWN; i++)
		put_late(out, input, &safepoints->late.items[i]);
	if (count > LATE_SHOWN)
		fprintf(out, "  … and %zu more\n", count - LATE_SHOWN);
}

void text_safepoints(FILE *out, const struct report_input *input, struct summary *summary,
	uint64_t traced_ns)
{
	struct safepoints *safepoints = &summary->safepoints;

	if (!safepoints->count)
		return;
	safepoints_sort(safepoints);
	put_operations(out, input->stacks, summary, traced_ns);
	put_parts(out, safepoints);
	put_kinds(out, safepoints, traced_ns);
	put_causes(out, input->stacks, safepoints, traced_ns);
	put_heaps(out, input->recording, safepoints);
	put_latest(out, input, safepoints);
}

static void put_thread(FILE *out, const struct recording *recording, uint32_t runtime, int64_t tid)
{
	const char *name = runtime_thread(recording, runtime, tid);
	char shown[64];

	utf8_show(shown, sizeof(shown), name ? name : "", name ? strlen(name) : 0, 16);
	if (name)
		fprintf(out, "%s (%" PRId64 ")", shown, tid);
	else
		fprintf(out, "thread %" PRId64, tid);
}

static void put_worst(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause)
{
	const struct safepoint *facts = &pause->safepoint;
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);

	terminal_style(out, TERMINAL_STRONG);
	fputs("  ", out);
	cell_pause(out, pause, 10);
	fputs("  ", out);
	cell_text(out, safepoint_kind_cell(safepoint_kind(pause)), -5);
	cell_text(out, facts->ttsp_ns < 0 ? "-" : FORMAT_DURATION((uint64_t)facts->ttsp_ns), 11);
	cell_text(out, SAFEPOINT_BYTES(facts->heap_before), 7);
	cell_text(out, SAFEPOINT_BYTES(facts->heap_after), 7);
	fputs("  ", out);
	cell_string(out, stacks->strings, safepoint_reason(pause), -26);
	fputs("  ", out);
	cell_time(out, recording, pause->start_ns);
	fprintf(out, " (+%.3f s)  %s", pause->start_ns > recording->start_ns
		? (double)(pause->start_ns - recording->start_ns) / 1e9 : 0.0,
		VERDICT_NAME(runtime ? recording_process(recording, runtime->process) : NULL));
	fputs(pause->flags & PAUSE_INEXACT ? "; timed by probes\n" : "\n", out);
	terminal_style(out, TERMINAL_PLAIN);
	if (pause->tid) {
		fputs("      asked for by ", out);
		put_thread(out, recording, pause->runtime, pause->tid);
		fputc('\n', out);
	}
	text_stack(out, stacks, pause->stack);
	if (facts->late_tid <= 0)
		return;
	fputs("      late: ", out);
	put_thread(out, recording, pause->runtime, facts->late_tid);
	fputc('\n', out);
	text_stack(out, stacks, facts->late_stack);
}

void text_worst_safepoints(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary)
{
	fprintf(out, "\nLongest safepoints (stacks innermost first)\n"
		     "    DURATION  GC          REACH BEFORE  AFTER  %-26s  AT\n", "REASON");
	for (uint32_t i = 0; i < summary->worst_count; i++)
		if (pause_is_safepoint(&summary->worst[i]))
			put_worst(out, recording, stacks, &summary->worst[i]);
}
