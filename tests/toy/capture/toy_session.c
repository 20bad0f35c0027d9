/* The toy's records → pauses for the sink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "toy_facts.h"
#include "toy_probe.h"
#include "toy_wire.h"

extern const struct runtime_ops probe_toy;

/* All that the toy keeps of a session. */
struct session {
	struct trace *trace;
};

static void *session_open(struct trace *trace)
{
	struct session *session = calloc(1, sizeof(*session));

	if (session)
		session->trace = trace;
	return session;
}

/* What the target's own memory says: out of range it costs the fact, not the pause. */
static void read_facts(const struct gc_toy_pause *wire, struct pause *ret)
{
	const struct gc_toy_heap *heap = &wire->heap;

	ret->flags |= PAUSE_HAS_FACTS | (wire->major ? PAUSE_FULL : 0);
	ret->facts[TOY_MARK] =
		heap->mark_ns <= pause_duration(ret) ? (int64_t)heap->mark_ns : UNKNOWN;
	ret->facts[TOY_SWEPT] = heap->swept <= INT64_MAX ? (int64_t)heap->swept : UNKNOWN;
}

/* 0 where it names nobody. */
static uint32_t stack_of(struct trace *trace, const struct gc_toy_heap *heap)
{
	struct stack_table *stacks = trace_stack_table(trace);
	uint32_t node = STACK_NONE;

	for (size_t i = 0; i < 2; i++) {
		size_t len = strnlen(heap->callers[i], sizeof(heap->callers[i]));
		struct frame frame = {.lang = TOY_LANG};

		if (len)
			frame.function = strtab_add(stacks->strings, heap->callers[i], len);
		if (frame.function && frame.function != STRTAB_NONE)
			node = stack_table_node(stacks, node, stack_table_frame(stacks, &frame));
	}
	return node;
}

static int on_record(void *state, const void *bytes, size_t size)
{
	const struct gc_toy_pause *wire = bytes;
	struct trace *trace = ((struct session *)state)->trace;
	struct runtime *runtime;
	struct pause pause;
	uint32_t process;

	if (size < sizeof(*wire) || wire->header.type != GC_EVENT_TOY || wire->major > 1 ||
		wire->start_ns > wire->header.time_ns || !trace_plan(trace, wire->image))
		return -EBADMSG;
	process = trace_process(trace, (pid_t)wire->header.pid);
	runtime = process ? trace_runtime(trace, process, wire->image) : NULL;
	if (!runtime)
		return -EBADMSG;
	trace_saw_pause(trace, process, wire->image, 0, wire->start_ns);
	runtime->missed += books_pause(trace_books(trace), process, BOOKS_PROCESS, wire->major,
		&(struct books_counts){probe_toy.counters,
			(const uint64_t[]){wire->heap.minor, wire->heap.major}});
	pause = trace_unknown_pause(runtime->id, wire->start_ns, wire->header.time_ns);
	pause.tid = wire->header.tid;
	pause.cause = CAUSE_MANUAL; /* it collects when it is told to */
	pause.stack = stack_of(trace, &wire->heap);
	read_facts(wire, &pause);
	trace_put_pause(trace, &pause);
	return 0;
}

/* That it is major is known as it begins; the rest only as it ends. */
static void unfinished(int32_t major, struct pause *pause)
{
	pause->flags |= PAUSE_HAS_FACTS | (major > 0 ? PAUSE_FULL : 0);
	pause->facts[TOY_MARK] = pause->facts[TOY_SWEPT] = UNKNOWN;
}

static const struct capture_program programs[] = {
	{"on_toy_stop", 1, USE_ALWAYS},
	{"on_toy_go", 1, USE_ALWAYS},
	{},
};

const struct capture_ops toy_capture = {
	.programs = programs,
	.first_record = GC_EVENT_TOY,
	.last_record = GC_EVENT_TOY_LAST,
	.open = session_open,
	.close = free,
	.record = on_record,
	.unfinished = unfinished,
};
