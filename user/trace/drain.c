/* Records from the ring buffer → processes and marks for the tables, a runtime's own for its part of the session. */
#include "trace_priv.h"

static int on_event(struct trace *trace, const struct event *event)
{
	switch (event->type) {
	case EVENT_FORK:
		trace_process_fork(trace, (pid_t)event->head.pid, (pid_t)event->process.child,
			event->head.time_ns);
		break;
	case EVENT_EXIT:
		trace_process_exit(trace, (pid_t)event->head.pid, event->head.time_ns);
		break;
	case EVENT_EXEC:
		trace_process_exec(trace, (pid_t)event->head.pid, event->process.comm,
			event->head.time_ns);
		break;
	case EVENT_MAPS:
		trace_maps_changed(trace, (pid_t)event->head.pid);
		break;
	case EVENT_UNFINISHED:
		trace->ledger.unfinished++;
		break;
	case EVENT_MARK:
		return steps_on_mark(&trace->steps,
			processes_get(&trace->processes, (pid_t)event->head.pid), event);
	case EVENT_LABEL:
		return steps_on_label(&trace->steps, event);
	case EVENT_GPU:
		gpu_watch_event(&trace->gpu, (pid_t)event->head.pid, event);
		break;
	case EVENT_DRIVER:
		driver_watch_event(&trace->driver, event);
		break;
	}
	return 0;
}

void trace_on_record(void *arg, void *bytes, size_t size)
{
	struct trace *trace = arg;
	const struct gc_header *header = bytes;
	const struct runtime_part *part =
		event_check(bytes, size) ? NULL
					 : captures_of_record(&trace->captures, header->type);
	struct event event;
	int r = part ? part->ops->record(part->state, bytes, size)
		     : event_decode(bytes, size, &event);

	if (!r && !part)
		r = on_event(trace, &event);
	trace->bad_records += !!r;
}
