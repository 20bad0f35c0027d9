/* Safepoints, stalls, phases and what they add up to in; JSON out. */
#include "json_jvm.h"
#include "json_line.h"
#include "json_stack.h"
#include "safepoint_words.h"

void json_safepoint(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, struct report_room *room)
{
	const struct safepoint *facts = pause_safepoint(pause);
	int64_t late_tid = facts->late_tid > 0 ? facts->late_tid : UNKNOWN;

	line_bool(out, "gc", pause->collects);
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
	line_known(out, "collections",
		stall->kind == STALL_EXPLICIT ? stall->collections : UNKNOWN);
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
						    ? &recording->stalls.items[jvm->stall]
						    : NULL;
		const struct phase *phase = jvm->phase < recording->phases.count
						    ? &recording->phases.items[jvm->phase]
						    : NULL;

		if (stall && stall->end_ns <= time_ns &&
			(!phase || stall->end_ns <= phase->end_ns)) {
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
