/* The runtimes' own parts of a session: each is asked what its struct capture_ops answers. */
#include <errno.h>
#include <stdlib.h>

#include "trace_priv.h"

const struct capture_program **trace_program_lists(void)
{
	const struct capture_program **lists;
	size_t count = 0;

	while (probe_runtimes[count])
		count++;
	lists = calloc(count + 1, sizeof(const struct capture_program *));
	for (size_t i = 0; lists && i < count; i++)
		lists[i] = probe_runtimes[i]->capture->programs;
	return lists;
}

int trace_captures_open(struct trace *trace)
{
	for (size_t i = 0; probe_runtimes[i]; i++) {
		const struct capture_ops *ops = probe_runtimes[i]->capture;
		struct capture *slot = vec_add(&trace->captures);

		if (!slot)
			return -ENOMEM;
		slot->ops = ops;
		slot->state = ops->open(trace);
		if (!slot->state)
			return -ENOMEM;
	}
	return 0;
}

void trace_captures_close(struct trace *trace)
{
	for (size_t i = 0; i < trace->captures.count; i++)
		if (trace->captures.items[i].state)
			trace->captures.items[i].ops->close(trace->captures.items[i].state);
	vec_free(&trace->captures);
}

const struct capture *trace_capture(const struct trace *trace, uint32_t image)
{
	for (size_t i = 0; i < trace->captures.count; i++)
		if (trace->captures.items[i].ops == trace->images[image].plan.ops->capture)
			return &trace->captures.items[i];
	return NULL; /* each plan is of a registered runtime */
}

const struct capture *trace_capture_of_record(const struct trace *trace, uint32_t type)
{
	for (size_t i = 0; i < trace->captures.count; i++) {
		const struct capture *capture = &trace->captures.items[i];

		if (type >= capture->ops->first_record && type <= capture->ops->last_record)
			return capture;
	}
	return NULL;
}

/* Asks all of those that have an answer. */
#define ASK(trace, question, ...)                                                                  \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (trace)->captures.count; i_++) {                          \
			const struct capture *capture_ = &(trace)->captures.items[i_];             \
			if (capture_->ops->question)                                               \
				capture_->ops->question(capture_->state, ##__VA_ARGS__);           \
		}                                                                                  \
	} while (0)

void trace_captures_targeted(struct trace *trace, pid_t pid)
{
	ASK(trace, targeted, pid);
}

void trace_captures_over(struct trace *trace, pid_t pid, uint64_t time_ns)
{
	ASK(trace, over, pid, time_ns);
}

void trace_captures_fork(struct trace *trace, uint32_t parent, uint32_t child)
{
	ASK(trace, fork, parent, child);
}

void trace_captures_retire(struct trace *trace)
{
	ASK(trace, retire);
}

void trace_captures_turn(struct trace *trace)
{
	ASK(trace, turn);
}

void trace_captures_move_strings(struct trace *trace, const struct strtab *from, struct strtab *to)
{
	ASK(trace, move_strings, from, to);
}

void trace_captures_look(struct trace *trace)
{
	ASK(trace, look);
}

void trace_captures_finish(struct trace *trace)
{
	ASK(trace, finish);
}

void trace_captures_drops(struct trace *trace)
{
	ASK(trace, drops);
}

const struct trace_options *trace_options(const struct trace *trace)
{
	return &trace->options;
}

struct probe_plan *trace_plan(struct trace *trace, uint32_t image)
{
	return image < trace->image_count ? &trace->images[image].plan : NULL;
}

const struct bpf_map *trace_map(const struct trace *trace, const char *name)
{
	return bpf_object__find_map_by_name(trace->programs.bpf->obj, name);
}

bool trace_knows(const struct trace *trace, uint32_t process)
{
	return recording_process(&trace->recording, process);
}

bool trace_ran_before(const struct trace *trace, uint32_t process, uint32_t image)
{
	return u64map_get(&trace->aged, trace_runtime_key(process, image));
}

struct stack_table *trace_stack_table(struct trace *trace)
{
	return &trace->stacks;
}

struct books *trace_books(struct trace *trace)
{
	return &trace->books;
}

void trace_saw_pause(struct trace *trace, uint32_t process, uint32_t image, uint64_t interpreter,
	uint64_t start_ns)
{
	trace->images[image].pauses++;
	trace_meet_runtime(trace, process, image);
	trace_begun_next(trace, process, interpreter, start_ns);
}

void trace_put_pause(struct trace *trace, struct pause *pause)
{
	pause->id = ++trace->pauses;
	trace_note_sink(trace, trace->sink.pause(trace->sink.arg, pause));
}

void trace_put_stall(struct trace *trace, struct stall *stall)
{
	stall->id = ++trace->stalls;
	trace_note_sink(trace, trace->sink.stall ? trace->sink.stall(trace->sink.arg, stall) : 0);
}

void trace_put_phase(struct trace *trace, struct phase *phase)
{
	phase->id = ++trace->phases;
	trace_note_sink(trace, trace->sink.phase ? trace->sink.phase(trace->sink.arg, phase) : 0);
}

void trace_note_unprobed(struct trace *trace)
{
	trace->unprobed++;
}
