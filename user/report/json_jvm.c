/* Safepoints, stalls, phases and what they add up to in; JSON out. */
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "json_jvm.h"
#include "json_line.h"
#include "stall_sums.h"

void json_safepoint(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, struct report_room *room)
{
	const struct safepoint *facts = &pause->safepoint;
	int64_t late_tid = facts->late_tid > 0 ? facts->late_tid : UNKNOWN;

	line_bool(out, "gc", safepoint_collects(pause));
	json_word(out, "operation", stacks, facts->operation);
	line_bool(out, "concurrent", !!(pause->flags & PAUSE_CONCURRENT));
	line_known(out, "young_collections", facts->young);
	line_known(out, "full_collections", facts->full);
	line_known(out, "ttsp_ns", facts->ttsp_ns);
	line_known(out, "cleanup_ns", facts->cleanup_ns);
	line_known(out, "core_ns", facts->core_ns);
	line_known(out, "leave_ns", facts->leave_ns);
	line_known(out, "heap_before_bytes", facts->heap_before);
	line_known(out, "live_bytes", facts->heap_after);
	line_known(out, "freed_bytes", safepoint_freed(facts));
	line_text(out, "thread", runtime_thread(recording, pause->runtime, pause->tid));
	line_known(out, "late_tid", late_tid);
	line_text(out, "late_thread", runtime_thread(recording, pause->runtime, late_tid));
	json_stack(out, "late_stack", stacks, facts->late_stack, room);
	line_bool(out, "exact", !(pause->flags & PAUSE_INEXACT));
}

/* Which thread of which process it was of, and when. */
static void put_origin(FILE *out, const struct recording *recording, uint32_t id, uint32_t tid,
	uint64_t start_ns, uint64_t end_ns)
{
	const struct runtime *runtime = recording_runtime(recording, id);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;

	line_known(out, "pid", process ? process->pid : UNKNOWN);
	line_int(out, "tid", tid);
	line_text(out, "thread", runtime_thread(recording, id, tid));
	line_text(out, "runtime", runtime ? runtime->kind : NULL);
	line_int(out, "runtime_id", id);
	line_unsigned(out, "start_ns", start_ns);
	line_unsigned(out, "end_ns", end_ns);
	line_unsigned(out, "duration_ns", end_ns > start_ns ? end_ns - start_ns : 0);
}

void json_stall(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct stall *stall, struct report_room *room)
{
	line_begin(out, "stall");
	line_unsigned(out, "id", stall->id);
	put_origin(out, recording, stall->runtime, stall->tid, stall->start_ns, stall->end_ns);
	line_text(out, "kind", stall_kind_name(stall->kind));
	line_known(out, "collections", stall->kind == STALL_EXPLICIT ? stall->collections : UNKNOWN);
	json_stack(out, "stack", stacks, stall->stack, room);
	line_end(out);
}

void json_phase(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct phase *phase)
{
	line_begin(out, "phase");
	line_unsigned(out, "id", phase->id);
	put_origin(out, recording, phase->runtime, phase->tid, phase->start_ns, phase->end_ns);
	json_word(out, "name", stacks, phase->name);
	line_end(out);
}

void json_jvm_until(struct json_jvm *jvm, FILE *out, const struct report_input *input,
	uint64_t time_ns, struct report_room *room)
{
	const struct recording *recording = input->recording;

	for (;;) {
		const struct stall *stall = jvm->stall < recording->stalls.count
			? &recording->stalls.items[jvm->stall] : NULL;
		const struct phase *phase = jvm->phase < recording->phases.count
			? &recording->phases.items[jvm->phase] : NULL;

		if (stall && stall->end_ns <= time_ns && (!phase || stall->end_ns <= phase->end_ns)) {
			json_stall(out, recording, input->stacks, stall, room);
			jvm->stall++;
		} else if (phase && phase->end_ns <= time_ns) {
			json_phase(out, recording, input->stacks, phase);
			jvm->phase++;
		} else {
			return;
		}
	}
}

static void put_sum(FILE *out, const struct summary_sum *sum)
{
	line_unsigned(out, "pauses", sum->count);
	line_unsigned(out, "pause_ns", sum->total_ns);
	line_unsigned(out, "max_ns", sum->max_ns);
}

void json_jvm_causes(FILE *out, const struct stack_table *stacks, struct summary *summary, bool first)
{
	const struct safepoints *safepoints = &summary->safepoints;

	for (size_t i = 0; i < safepoints->causes.count; i++) {
		fputs_unlocked(first && !i ? "{\"cause\":" : ",{\"cause\":", out);
		line_string(out, strtab_get(stacks->strings, safepoints->causes.items[i].name),
			strtab_len(stacks->strings, safepoints->causes.items[i].name));
		put_sum(out, &safepoints->causes.items[i].sum);
		putc_unlocked('}', out);
	}
}

static void put_operations(FILE *out, const struct stack_table *stacks, const struct safepoints *safepoints)
{
	line_key(out, "operations");
	putc_unlocked('[', out);
	for (size_t i = 0; i < safepoints->operations.count; i++) {
		const struct safepoint_operation *operation = &safepoints->operations.items[i];
		const struct summary_class *class = &operation->class;
		bool reach = operation->reach_of_ns > 0;

		fputs_unlocked(i ? ",{\"operation\":" : "{\"operation\":", out);
		if (operation->name)
			line_string(out, strtab_get(stacks->strings, operation->name),
				strtab_len(stacks->strings, operation->name));
		else
			fputs_unlocked("null", out);
		put_sum(out, &(struct summary_sum){class->count, class->total_ns, class->max_ns});
		line_unsigned(out, "p50_ns", summary_quantile(class, 0.5));
		line_unsigned(out, "p99_ns", summary_quantile(class, 0.99));
		line_known(out, "ttsp_ns", reach ? (int64_t)operation->reach_ns : UNKNOWN);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_kinds(FILE *out, const struct safepoints *safepoints)
{
	bool first = true;

	line_key(out, "kinds");
	putc_unlocked('[', out);
	for (int i = 0; i < SAFEPOINT_KINDS; i++) {
		const struct safepoint_class *class = &safepoints->kinds[i];

		if (!class->sum.count)
			continue;
		fputs_unlocked(first ? "{\"kind\":" : ",{\"kind\":", out);
		first = false;
		line_string(out, safepoint_kind_name(i), strlen(safepoint_kind_name(i)));
		put_sum(out, &class->sum);
		line_known(out, "young_collections", class->young);
		line_known(out, "full_collections", class->full);
		line_known(out, "freed_bytes", class->freed);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_safepoints(FILE *out, const struct stack_table *stacks, struct summary *summary)
{
	static const char *const parts[PARTS] = {
		[PART_REACH] = "ttsp_ns",
		[PART_CLEANUP] = "cleanup_ns",
		[PART_CORE] = "core_ns",
		[PART_LEAVE] = "leave_ns",
	};
	const struct safepoints *safepoints = &summary->safepoints;

	line_key(out, "safepoints");
	fputs_unlocked("{\"pauses\":", out);
	line_number(out, (int64_t)safepoints->count);
	line_unsigned(out, "pause_ns", safepoints->total_ns);
	line_unsigned(out, "gc_pauses", safepoints->collecting);
	line_unsigned(out, "gc_pause_ns", safepoints->collecting_ns);
	for (int i = 0; i < PARTS; i++)
		line_known(out, parts[i],
			safepoints->parts[i].count ? (int64_t)safepoints->parts[i].total_ns : UNKNOWN);
	line_unsigned(out, "inexact", safepoints->inexact);
	put_operations(out, stacks, safepoints);
	put_kinds(out, safepoints);
	putc_unlocked('}', out);
}

static void put_stalls(FILE *out, const struct recording *recording)
{
	_cleanup_(stall_sums_release) struct stall_sums sums = {0};
	bool first = true;

	line_key(out, "stalls");
	putc_unlocked('[', out);
	if (stall_sums_make(&sums, recording))
		sums = (struct stall_sums){0};
	for (uint32_t i = 0; i < STALL_KINDS; i++) {
		const struct summary_class *class = &sums.kinds[i];

		if (!class->count)
			continue;
		fputs_unlocked(first ? "{\"kind\":" : ",{\"kind\":", out);
		first = false;
		line_string(out, stall_kind_name(i), strlen(stall_kind_name(i)));
		line_unsigned(out, "count", class->count);
		line_unsigned(out, "stall_ns", class->total_ns);
		line_unsigned(out, "max_ns", class->max_ns);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_phases(FILE *out, const struct recording *recording, const struct stack_table *stacks)
{
	_cleanup_(phase_sums_release) struct phase_sums sums = {0};

	line_key(out, "phases");
	putc_unlocked('[', out);
	if (phase_sums_make(&sums, recording))
		sums.items.count = 0;
	for (size_t i = 0; i < sums.items.count; i++) {
		const struct phase_sum *phase = &sums.items.items[i];

		fputs_unlocked(i ? ",{\"name\":" : "{\"name\":", out);
		line_string(out, strtab_get(stacks->strings, phase->name),
			strtab_len(stacks->strings, phase->name));
		line_unsigned(out, "count", phase->sum.count);
		line_unsigned(out, "phase_ns", phase->sum.total_ns);
		line_unsigned(out, "max_ns", phase->sum.max_ns);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_caller(FILE *out, const struct report_input *input, const struct explicit_caller *caller)
{
	const struct process *process = recording_process(input->recording, caller->process);

	fputs_unlocked("{\"pid\":", out);
	if (process)
		line_number(out, process->pid);
	else
		fputs_unlocked("null", out);
	line_int(out, "tid", caller->tid);
	line_field(out, "thread", caller->thread, sizeof(caller->thread));
	line_bool(out, "training", caller->training);
	json_frame(out, "caller", input->stacks, caller->caller);
	json_frame(out, "who", input->stacks, caller->who);
	line_unsigned(out, "calls", caller->calls);
	line_unsigned(out, "collected", caller->collected);
	line_unsigned(out, "idle", caller->idle);
	line_unsigned(out, "unknown", caller->unknown);
	line_unsigned(out, "blocked_ns", caller->blocked_ns);
	line_unsigned(out, "blocked_median_ns", caller->blocked_median_ns);
	line_unsigned(out, "blocked_max_ns", caller->blocked_max_ns);
	line_unsigned(out, "pauses", caller->pauses);
	line_unsigned(out, "pause_ns", caller->pause_ns);
	line_unsigned(out, "max_ns", caller->pause_max_ns);
	line_unsigned(out, "overlap_ns", caller->overlap_ns);
	line_known(out, "freed_bytes", caller->freed_bytes);
	line_known(out, "period_ns", caller->period_ns ? (int64_t)caller->period_ns : UNKNOWN);
	line_bool(out, "regular", caller->period_ns ? caller->regular : UNKNOWN);
	putc_unlocked('}', out);
}

static void put_explicit(FILE *out, const struct report_input *input)
{
	const struct explicit_calls *calls = &input->attribution->explicit_calls;

	line_key(out, "explicit_gc");
	putc_unlocked('[', out);
	for (size_t i = 0; i < calls->callers.count; i++) {
		if (i)
			putc_unlocked(',', out);
		put_caller(out, input, &calls->callers.items[i]);
	}
	putc_unlocked(']', out);
}

void json_jvm_summary(FILE *out, const struct report_input *input, struct summary *summary)
{
	if (!(recording_kinds(input->recording) & RUNTIMES_JVM) && !summary->safepoints.count)
		return;
	put_safepoints(out, input->stacks, summary);
	put_stalls(out, input->recording);
	put_phases(out, input->recording, input->stacks);
	if (input->attribution)
		put_explicit(out, input);
	if (input->left_out)
		line_unsigned(out, "left_out", *input->left_out);
}
