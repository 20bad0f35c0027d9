/*
 * Processes that have ended → out of the session's tables, so that a day's need no more memory than those that
 * live at once. Their rows went to the sink, whose file keeps them.
 */
#include <stdlib.h>

#include "clock.h"
#include "trace_priv.h"

#define RETIRE_NS    2000000000ull /* after an exit: the ring holds nothing older by then */
#define MOST_DEAD    256	   /* unless so many have ended since */
#define ROUND_NS     500000000ull
#define MOST_THREADS 65536 /* names of threads: a process may make new ones for ever */

/* Keeps those elements of @vec for which @keep holds, with @item at each, in their order. */
#define VEC_KEEP(vec, item, keep)                                                                  \
	do {                                                                                       \
		size_t kept_ = 0;                                                                  \
		for (size_t i_ = 0; i_ < (vec)->count; i_++) {                                     \
			item = &(vec)->items[i_];                                                  \
			if (keep)                                                                  \
				(vec)->items[kept_++] = (vec)->items[i_];                          \
		}                                                                                  \
		(vec)->count = kept_;                                                              \
	} while (0)

/* When a process must have ended to be retired. */
static uint64_t due_before(const struct trace *trace, uint64_t now)
{
	const struct recording *recording = &trace->feed.recording;
	size_t dead = 0;

	for (size_t i = 0; i < recording->processes.count; i++)
		dead += !!recording->processes.items[i].exit_ns;
	return dead > MOST_DEAD ? UINT64_MAX : now - RETIRE_NS;
}

static bool is_due(const struct process *process, uint64_t before)
{
	return process->exit_ns && process->exit_ns < before;
}

static void forget_process(struct trace *trace, struct process *process)
{
	runtimes_forget(&trace->runtimes, process->id);
	free(process->cmdline);
}

/* Whether the process is still in the table, @arg being the session. */
static bool is_known(void *arg, uint32_t process)
{
	const struct trace *trace = arg;

	return recording_process(&trace->feed.recording, process);
}

/* What a runtime missed was counted after its row had been sent. */
static bool keep_runtime(struct trace *trace, struct runtime *runtime)
{
	if (is_known(trace, runtime->process))
		return true;
	if (runtime->missed) {
		trace->retired_missed += runtime->missed;
		feed_runtime(&trace->feed, runtime);
	}
	free(runtime->path);
	free(runtime->detail);
	return false;
}

static void sift(struct trace *trace)
{
	struct recording *recording = &trace->feed.recording;
	struct runtime *runtime;
	struct thread *thread;

	VEC_KEEP(&recording->runtimes, runtime, keep_runtime(trace, runtime));
	VEC_KEEP(&recording->threads, thread, is_known(trace, thread->process));
	captures_retire(&trace->captures);
	books_keep(&trace->ledger.books, is_known, trace);
	steps_sift_series(&trace->steps);
}

static void empty_stacks(struct trace *trace)
{
	struct stack_table fresh;

	if (stack_table_init(&fresh))
		return; /* another time */
	fresh.generation = trace->stacks.generation + 1;
	captures_move_strings(&trace->captures, trace->stacks.strings, fresh.strings);
	stack_table_release(&trace->stacks);
	trace->stacks = fresh;
}

void trace_retire_turn(struct trace *trace)
{
	size_t count = trace->feed.recording.processes.count;
	uint64_t now = now_ns(), before;
	struct process *process;

	if (trace->feed.recording.threads.count > MOST_THREADS)
		trace->feed.recording.threads.count =
			0; /* each is read and told again when it is met */
	if (stack_table_is_large(&trace->stacks))
		empty_stacks(trace);
	books_turn(&trace->ledger.books);
	if (trace->ring.more || (trace->processes.live.count + MOST_DEAD > count &&
					now - trace->retired_ns < ROUND_NS))
		return;
	trace->retired_ns = now;
	before = due_before(trace, now);
	steps_forget_texts(&trace->steps);
	for (size_t i = 0; i < count; i++)
		if (is_due(&trace->feed.recording.processes.items[i], before))
			forget_process(trace, &trace->feed.recording.processes.items[i]);
	VEC_KEEP(&trace->feed.recording.processes, process, !is_due(process, before));
	if (trace->feed.recording.processes.count != count)
		sift(trace);
}
