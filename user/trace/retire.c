/*
 * Processes that have ended → out of the session's tables, so that a day's need no more memory than those
 * that live at once. Their rows were told: the sink's file keeps them.
 */
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "trace_priv.h"

#define RETIRE_NS    2000000000ull /* after an exit: the ring holds nothing older by then */
#define MOST_DEAD    256	   /* unless so many have ended since */
#define ROUND_NS     500000000ull
#define MOST_TEXTS   65536 /* labels of marks that are known at once */
#define MOST_THREADS 65536 /* likewise names of threads: a process may make new ones for ever */

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
	const struct recording *recording = &trace->recording;
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
	for (uint32_t image = 0; image < trace->image_count; image++) {
		u64map_remove(&trace->runtimes, trace_runtime_key(process->id, image));
		u64map_remove(&trace->aged, trace_runtime_key(process->id, image));
	}
	trace_forget_inherited(trace, process->id);
	u64map_remove(&trace->former, process->id);
	free(process->cmdline);
}

/* Whether the process is still in the table, @arg being the session. */
static bool is_known(void *arg, uint32_t process)
{
	const struct trace *trace = arg;

	return recording_process(&trace->recording, process);
}

/* What a runtime missed was counted after its row had been told. */
static bool keep_runtime(struct trace *trace, struct runtime *runtime)
{
	if (is_known(trace, runtime->process))
		return true;
	if (runtime->missed) {
		trace->retired_missed += runtime->missed;
		trace_tell_runtime(trace, runtime);
	}
	free(runtime->path);
	free(runtime->detail);
	return false;
}

static bool keep_series(struct trace *trace, struct series *series)
{
	if (is_known(trace, series->process))
		return true;
	trace->steps.signals[series->signal - 1].series--;
	free(series->label);
	return false;
}

/* The keys of series are hashes: what they lead to tells which still hold. */
static void sift_series_keys(struct trace *trace)
{
	struct u64map kept = {}, *map = &trace->steps.series;

	for (size_t i = 0; i < map->capacity; i++)
		if (map->used[i] &&
			recording_series(&trace->recording, (uint32_t)map->slots[i].value) &&
			u64map_put(&kept, map->slots[i].key, map->slots[i].value)) {
			u64map_release(&kept); /* memory is out: another time */
			return;
		}
	u64map_release(map);
	*map = kept;
}

static void sift_series(struct trace *trace)
{
	size_t count = trace->recording.series.count;
	struct series *series;

	VEC_KEEP(&trace->recording.series, series, keep_series(trace, series));
	if (trace->recording.series.count != count)
		sift_series_keys(trace);
}

static void sift(struct trace *trace)
{
	struct recording *recording = &trace->recording;
	struct runtime *runtime;
	struct thread *thread;

	VEC_KEEP(&recording->runtimes, runtime, keep_runtime(trace, runtime));
	VEC_KEEP(&recording->threads, thread, is_known(trace, thread->process));
	trace_captures_retire(trace);
	books_keep(&trace->books, is_known, trace);
	sift_series(trace);
}

/* BPF sends every label again that comes again. */
static void forget_texts(struct step_watch *steps)
{
	struct strtab *fresh;

	if (!steps->on || strtab_count(steps->texts) <= MOST_TEXTS)
		return;
	fresh = strtab_new();
	if (!fresh)
		return;
	strtab_free(steps->texts);
	steps->texts = fresh;
	u64map_release(&steps->labels);
	memset(steps->page->labels, 0, sizeof(steps->page->labels));
}

static void empty_stacks(struct trace *trace)
{
	struct stack_table fresh;

	if (stack_table_init(&fresh))
		return; /* another time */
	fresh.generation = trace->stacks.generation + 1;
	trace_captures_move_strings(trace, trace->stacks.strings, fresh.strings);
	stack_table_release(&trace->stacks);
	trace->stacks = fresh;
}

void trace_retire_turn(struct trace *trace)
{
	size_t count = trace->recording.processes.count;
	uint64_t now = now_ns(), before;
	struct process *process;

	if (trace->recording.threads.count > MOST_THREADS)
		trace->recording.threads.count = 0; /* each is read and told again when it is met */
	if (stack_table_is_large(&trace->stacks))
		empty_stacks(trace);
	books_turn(&trace->books);
	if (trace->more ||
		(trace->live.count + MOST_DEAD > count && now - trace->retired_ns < ROUND_NS))
		return;
	trace->retired_ns = now;
	before = due_before(trace, now);
	forget_texts(&trace->steps);
	for (size_t i = 0; i < count; i++)
		if (is_due(&trace->recording.processes.items[i], before))
			forget_process(trace, &trace->recording.processes.items[i]);
	VEC_KEEP(&trace->recording.processes, process, !is_due(process, before));
	if (trace->recording.processes.count != count)
		sift(trace);
}
