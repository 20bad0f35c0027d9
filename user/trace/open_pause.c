/*
 * Pauses of which no probe sees one end: under way when their process was first looked at, or when
 * the recording ends. In: slots shared with BPF, the runtime's books. Out: pauses of at least some
 * length.
 */
#include <stdlib.h>

#include "cleanup.h"
#include "mem.h"
#include "trace_priv.h"

struct pause trace_unknown_pause(uint32_t runtime, uint64_t start_ns, uint64_t end_ns)
{
	return (struct pause){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.runtime = runtime,
		.interpreter = UNKNOWN,
		.generation = UNKNOWN,
		.collected = UNKNOWN,
		.uncollectable = UNKNOWN,
		.heap_objects = UNKNOWN,
		.heap_pending = UNKNOWN,
		.rss_start = UNKNOWN,
		.rss_end = UNKNOWN,
		.waited_ns = UNKNOWN,
		.stack = STACK_NONE,
	};
}

/* Whether a probe saw its begin: this process was a target already when the books were read. */
static bool is_ours(const struct trace *trace, const struct begun_pause *begun)
{
	struct trace_open_pause open[GC_OPEN_SLOTS];
	size_t count = trace_open_slots(trace, 0, open, ARRAY_SIZE(open));

	for (size_t i = 0; i < count; i++)
		if (open[i].pid == (uint32_t)begun->pid && open[i].image == begun->image)
			return true;
	return false;
}

void trace_begun_add(struct trace *trace, const struct begun_pause *begun)
{
	struct begun_pause *slot = is_ours(trace, begun) ? NULL : vec_add(&trace->begun);

	if (slot)
		*slot = *begun;
}

/* Looks whether it goes on. */
static bool look(struct trace *trace, struct begun_pause *begun)
{
	struct probe_books books;

	if (probe_books(begun->pid, &begun->map, &trace->images[begun->image].plan, &books) ||
		!books.collecting || books.owner != begun->books.owner)
		return false;
	for (int i = 0; i < PROBE_COUNTERS && books.names[i]; i++)
		if (books.counts[i] != begun->books.counts[i])
			return false;
	begun->seen_ns = now_ns();
	return true;
}

/* One look says nothing of how long it lasted. */
static void put_begun(struct trace *trace, const struct begun_pause *begun, uint32_t flags)
{
	struct pause pause = trace_unknown_pause(begun->runtime, begun->start_ns, begun->seen_ns);

	pause.flags = PAUSE_BEGUN_BEFORE | flags;
	if (pause.end_ns > pause.start_ns)
		trace_put_pause(trace, &pause);
}

static void end_begun(struct trace *trace, size_t index, uint32_t flags)
{
	struct begun_pause begun = trace->begun.items[index];

	trace->begun.items[index] = trace->begun.items[--trace->begun.count];
	put_begun(trace, &begun, flags);
}

void trace_begun_turn(struct trace *trace)
{
	for (size_t i = trace->begun.count; i--;)
		if (!look(trace, &trace->begun.items[i]))
			end_begun(trace, i, 0);
}

void trace_begun_over(struct trace *trace, uint32_t process)
{
	for (size_t i = trace->begun.count; i--;)
		if (trace->begun.items[i].process == process)
			end_begun(trace, i, 0);
}

void trace_begun_next(struct trace *trace, uint32_t process, uint64_t interpreter,
	uint64_t start_ns)
{
	for (size_t i = trace->begun.count; i--;) {
		const struct begun_pause *begun = &trace->begun.items[i];

		if (begun->process != process || begun->books.owner != interpreter)
			continue;
		if (begun->seen_ns < start_ns)
			end_begun(trace, i, 0);
		else /* a probe saw it begin after all */
			trace->begun.items[i] = trace->begun.items[--trace->begun.count];
	}
}

static bool is_listed(const struct trace_open_pause *open, size_t count,
	const struct trace_open_pause *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (open[i].tid == wanted->tid && open[i].start_ns == wanted->start_ns)
			return true;
	return false;
}

/*
 * Whether it goes on, by the runtime's own word when the books were read; if so they may hold it,
 * though no end was seen. Else its end was lost.
 */
static bool goes_on(struct trace *trace, const struct runtime *runtime,
	const struct trace_open_pause *open)
{
	if (!trace->images[open->image].plan.ops->books)
		return true; /* it says nothing of what is under way */
	for (size_t i = 0; i < trace->closing.count; i++) {
		const struct closing_books *closing = &trace->closing.items[i];

		if (closing->runtime != runtime->id || open->start_ns > closing->read_ns)
			continue;
		if (!closing->books.collecting)
			return false;
		books_expect(&trace->books, runtime->process, closing->books.owner);
	}
	return true;
}

static void put_unfinished(struct trace *trace, const struct trace_open_pause *open,
	uint64_t end_ns)
{
	const uint64_t *process = u64map_get(&trace->live, open->pid);
	const struct runtime *runtime =
		process ? trace_runtime(trace, (uint32_t)*process, open->image) : NULL;
	struct pause pause;

	if (!runtime || end_ns <= open->start_ns || trace_capture(trace, open->image)->ops->finish)
		return; /* its runtime tells more */
	if (!goes_on(trace, runtime, open)) {
		trace->unfinished++;
		return;
	}
	pause = trace_unknown_pause(runtime->id, open->start_ns, end_ns);
	pause.tid = open->tid;
	pause.generation = open->generation;
	pause.cause = open->cause;
	pause.flags = PAUSE_UNFINISHED;
	trace_put_pause(trace, &pause);
}

int trace_finish_open(struct trace *trace)
{
	struct trace_open_pause open[GC_OPEN_SLOTS], still[GC_OPEN_SLOTS];
	size_t count = trace_open_slots(trace, 0, open, ARRAY_SIZE(open)), still_count;
	uint64_t end_ns = now_ns();
	int r;

	trace_captures_look(trace);
	r = trace_consume_all(trace);
	trace_captures_finish(trace);

	/* An end clears its slot, then sends its record: what is in both lists has sent none. */
	still_count = trace_open_slots(trace, 0, still, ARRAY_SIZE(still));
	for (size_t i = 0; i < still_count; i++)
		if (is_listed(open, count, &still[i]))
			put_unfinished(trace, &still[i], end_ns);
	while (trace->begun.count) {
		bool going_on = look(trace, &trace->begun.items[0]);

		end_begun(trace, 0, going_on ? PAUSE_UNFINISHED : 0);
	}
	return trace->sink_error ? trace->sink_error : r < 0 ? r : 0;
}
