/* Stalls and phases in; a JSON record each out. */
#include "json_line.h"
#include "json_stack.h"
#include "json_waits.h"
#include "runtime_words.h"

/* Which thread of which process it was of, and when. */
static void put_origin(FILE *out, const struct recording *recording, uint32_t id, uint32_t tid,
	uint64_t start_ns, uint64_t end_ns)
{
	const struct runtime *runtime = recording_runtime(recording, id);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;

	line_known(out, "pid", process ? process->pid : UNKNOWN);
	line_int(out, "tid", tid);
	line_text(out, "thread", words_thread(recording, id, tid));
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
	line_text(out, "kind", meaning_wait(recording, stall));
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

void json_waits_until(struct json_waits *waits, FILE *out, const struct report_input *input,
	uint64_t time_ns, struct report_room *room)
{
	const struct recording *recording = input->recording;

	for (;;) {
		const struct stall *stall = waits->stall < recording->stalls.count
						    ? &recording->stalls.items[waits->stall]
						    : NULL;
		const struct phase *phase = waits->phase < recording->phases.count
						    ? &recording->phases.items[waits->phase]
						    : NULL;

		if (stall && stall->end_ns <= time_ns &&
			(!phase || stall->end_ns <= phase->end_ns)) {
			json_stall(out, recording, input->stacks, stall, room);
			waits->stall++;
		} else if (phase && phase->end_ns <= time_ns) {
			json_phase(out, recording, input->stacks, phase);
			waits->phase++;
		} else {
			return;
		}
	}
}
