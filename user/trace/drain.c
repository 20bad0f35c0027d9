/* Records from the ring buffer → processes and marks for the tables, a runtime's own for its part of the session. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "trace_priv.h"

static void on_event(struct trace *trace, const struct event *event)
{
	switch (event->type) {
	case EVENT_FORK:
		trace_process_fork(trace, (pid_t)event->pid, (pid_t)event->process.child,
			event->time_ns);
		break;
	case EVENT_EXIT:
		trace_process_exit(trace, (pid_t)event->pid, event->time_ns);
		break;
	case EVENT_EXEC:
		trace_process_exec(trace, (pid_t)event->pid, event->process.comm, event->time_ns);
		break;
	case EVENT_MAPS:
		trace_maps_changed(trace, (pid_t)event->pid);
		break;
	case EVENT_UNFINISHED:
		trace->unfinished++;
		break;
	case EVENT_MARK:
		trace_on_mark(trace, event);
		break;
	case EVENT_LABEL:
		trace_on_label(trace, event);
		break;
	}
}

int trace_on_record(void *arg, void *bytes, size_t size)
{
	struct trace *trace = arg;
	const struct gc_header *header = bytes;
	const struct capture *capture =
		event_check(bytes, size) ? NULL : trace_capture_of_record(trace, header->type);
	struct event event;

	if (capture ? capture->ops->record(capture->state, bytes, size)
		    : event_decode(bytes, size, &event)) {
		trace->bad_records++;
		return 0;
	}
	if (!capture)
		on_event(trace, &event);
	return 0;
}

void trace_note_drop(struct trace *trace, const char *cause, uint64_t count, const char *remedy)
{
	struct drop *drop = NULL;

	if (!count)
		return;
	for (size_t i = 0; i < trace->recording.drops.count; i++)
		if (!strcmp(trace->recording.drops.items[i].cause, cause))
			drop = &trace->recording.drops.items[i];
	if (!drop) {
		drop = vec_add(&trace->recording.drops);
		if (!drop)
			return;
		snprintf(drop->cause, sizeof(drop->cause), "%s", cause);
		snprintf(drop->remedy, sizeof(drop->remedy), "%s", remedy);
	}
	if (drop->count != count)
		drop->time_ns = now_ns();
	drop->count = count;
}

void trace_count_drops(struct trace *trace)
{
	static const struct {
		const char *cause, *remedy;
	} kernel[GC_DROP_COUNT] = {
		[GC_DROP_RING] = {"ring-full", "give a larger --buffer"},
		[GC_DROP_THREAD] = {"thread-state",
			"the kernel had no memory for it, or was busy with it (before 6.2)"},
		[GC_DROP_UNMATCHED_END] = {"unmatched-end",
			"please report this, unless thread-state stands beside it"},
		[GC_DROP_TARGETS] = {"too-many-processes", "use --no-children, or several -p"},
	};

	for (int i = 0; i < GC_DROP_COUNT; i++)
		trace_note_drop(trace, kernel[i].cause,
			__atomic_load_n(&trace->shared->drops[i], __ATOMIC_RELAXED),
			kernel[i].remedy);
	trace_note_drop(trace, "unprobed-runtime", trace->unprobed,
		"a process got a runtime that could not be probed: gctrace doctor -p PID");
	trace_note_drop(trace, "layout-unknown", trace_misfits(trace),
		"a runtime keeps its state elsewhere than its version does: gctrace doctor -p PID");
	trace_note_drop(trace, "unprobed-linker", trace->unprobed_linkers,
		"a runtime that a process loads later is not seen: gctrace doctor says why");
	trace_note_drop(trace, "unprobed-step", trace->unprobed_steps,
		"a call that may mark steps could not be probed: gctrace doctor says why");
	trace_note_drop(trace, "unprobed-fact", trace->unprobed_facts,
		"a probe of a runtime could not be attached: what it tells is missing");
	trace_captures_drops(trace);
	trace_note_drop(trace, "skipped-program", trace->skipped_changes,
		"a fork or exec, of whatever process, was not told: a child's first pauses may be missing");
	trace_note_drop(trace, "late-probes", trace->late_probes,
		"a program collected before it was probed: name it: gctrace run -- python3 train.py");
	trace_note_drop(trace, "unseen-program", trace->unseen_programs,
		"a program ended before it was looked at: name it: gctrace run -- python3 train.py");
	trace_note_drop(trace, "bad-record", trace->bad_records, "please report this");
	trace_note_drop(trace, "unfinished-pause", trace->unfinished,
		"the end of a pause was lost: its length is not known");
}
