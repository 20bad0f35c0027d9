/* The toy's records → pauses for the sink. */
#include <errno.h>
#include <stdlib.h>

#include "toy_probe.h"
#include "toy_wire.h"

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

static int on_record(void *state, const void *bytes, size_t size)
{
	const struct gc_toy_pause *wire = bytes;
	struct trace *trace = ((struct session *)state)->trace;
	uint64_t counts[3] = {};
	struct runtime *runtime;
	struct pause pause;
	uint32_t process;

	if (size < sizeof(*wire) || wire->header.type != GC_EVENT_TOY_PAUSE ||
		wire->start_ns > wire->header.time_ns || !trace_plan(trace, wire->image))
		return -EBADMSG;
	process = trace_process(trace, (pid_t)wire->header.pid);
	runtime = process ? trace_runtime(trace, process, wire->image) : NULL;
	if (!runtime)
		return -EBADMSG;
	trace_saw_pause(trace, process, wire->image, 0, wire->start_ns);
	counts[0] = wire->pauses;
	runtime->missed += books_pause(trace_books(trace), process, 0, 0, counts);
	pause = (struct pause){
		.start_ns = wire->start_ns,
		.end_ns = wire->header.time_ns,
		.runtime = runtime->id,
		.tid = wire->header.tid,
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
	trace_put_pause(trace, &pause);
	return 0;
}

static const struct capture_program programs[] = {
	{"on_toy_stop", 1, USE_ALWAYS},
	{"on_toy_go", 1, USE_ALWAYS},
	{},
};

const struct capture_ops toy_capture = {
	.programs = programs,
	.first_record = 32,
	.last_record = 63,
	.open = session_open,
	.close = free,
	.record = on_record,
};
