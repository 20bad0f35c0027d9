/* Records from the ring buffer → pauses for the sink, processes and code for the tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "mem.h"
#include "trace_priv.h"

static uint32_t pause_cause(uint32_t cause)
{
	static const uint32_t causes[] = {
		[EVENT_CAUSE_UNKNOWN] = CAUSE_UNKNOWN,
		[EVENT_AUTOMATIC] = CAUSE_AUTOMATIC,
		[EVENT_MANUAL] = CAUSE_MANUAL,
		[EVENT_SHUTDOWN] = CAUSE_SHUTDOWN,
	};

	return causes[cause];
}

static uint32_t pause_flags(uint32_t flags)
{
	return (flags & EVENT_SLEPT ? PAUSE_SLEPT : 0) |
		(flags & EVENT_NESTED ? PAUSE_NESTED_CALL : 0) |
		(flags & EVENT_TRUNCATED ? PAUSE_TRUNCATED : 0) |
		(flags & EVENT_LEFT ? PAUSE_UNFINISHED : 0);
}

/* @value if the pause's record holds it. */
static int64_t known(const struct event *event, uint32_t flag, uint64_t value)
{
	return event->pause.flags & flag ? (int64_t)value : UNKNOWN;
}

static void on_pause(struct trace *trace, const struct event *event)
{
	uint32_t process = trace_process(trace, (pid_t)event->pid);
	struct runtime *runtime =
		process ? trace_runtime(trace, process, event->pause.image) : NULL;
	bool books = !(event->pause.flags & EVENT_NO_BOOKS);
	struct pause pause;
	int r;

	if (!runtime) {
		trace->bad_records++;
		return;
	}
	trace->images[event->pause.image].pauses++;
	trace_meet_runtime(trace, process, event->pause.image);
	trace_begun_next(trace, process, event);
	pause = (struct pause){
		.id = ++trace->pauses,
		.start_ns = event->pause.start_ns,
		.end_ns = event->time_ns,
		.runtime = runtime->id,
		.tid = event->tid,
		.interpreter = event->pause.number >= 0 ? event->pause.number
			: trace_interpreter(trace, process, (pid_t)event->pid, event->pause.image,
				event->pause.interpreter),
		.generation = event->pause.generation,
		.cause = pause_cause(event->pause.cause),
		.flags = pause_flags(event->pause.flags),
		.collected = books ? (int64_t)event->pause.collected : UNKNOWN,
		.uncollectable = books ? (int64_t)event->pause.uncollectable : UNKNOWN,
		.heap_objects = known(event, EVENT_HEAP, event->pause.heap_objects),
		.heap_pending = known(event, EVENT_HEAP, event->pause.heap_pending),
		.rss_start = known(event, EVENT_RSS, event->pause.rss_start),
		.rss_end = known(event, EVENT_RSS, event->pause.rss_end),
		.waited_ns = known(event, EVENT_WAITED, event->pause.waited_ns),
		.stack = python_stack(trace->codes, event, &trace->stacks),
	};
	if (books && pause.generation >= 0)
		runtime->missed += books_pause(&trace->books, process,
			trace_books_owner(trace, event), pause.generation,
			event->pause.collections);
	r = trace->sink.pause(trace->sink.arg, &pause);
	trace_note_sink(trace, r);
}

static void on_code(struct trace *trace, const struct event *event)
{
	int minor = 0;

	if (event->type == EVENT_CODE) {
		if (event->code.image >= trace->image_count) {
			trace->bad_records++;
			return;
		}
		minor = trace->images[event->code.image].plan.minor;
	}
	if (python_codes_add(trace->codes, event, minor))
		trace->bad_records++;
}

int trace_on_record(void *arg, void *bytes, size_t size)
{
	struct trace *trace = arg;
	struct event event;

	if (event_decode(bytes, size, &event)) {
		trace->bad_records++;
		return 0;
	}
	switch (event.type) {
	case EVENT_PAUSE:
		on_pause(trace, &event);
		break;
	case EVENT_CODE:
	case EVENT_TABLE:
		on_code(trace, &event);
		break;
	case EVENT_FORK:
		trace_process_fork(trace, (pid_t)event.pid, (pid_t)event.process.child,
			event.time_ns);
		break;
	case EVENT_EXIT:
		trace_process_exit(trace, (pid_t)event.pid, event.time_ns);
		break;
	case EVENT_EXEC:
		trace_process_exec(trace, (pid_t)event.pid, event.process.comm, event.time_ns);
		break;
	case EVENT_MAPS:
		trace_maps_changed(trace, (pid_t)event.pid);
		break;
	case EVENT_UNFINISHED:
		trace->unfinished++;
		break;
	case EVENT_KILLED:
		trace_on_killed(trace, &event);
		break;
	case EVENT_SAFEPOINT:
		trace_on_safepoint(trace, &event);
		break;
	case EVENT_LATE:
		trace_on_late(trace, &event);
		break;
	case EVENT_STALL:
		trace_on_stall(trace, &event);
		break;
	case EVENT_PHASE:
		trace_on_phase(trace, &event);
		break;
	case EVENT_MARK:
		trace_on_mark(trace, &event);
		break;
	case EVENT_LABEL:
		trace_on_label(trace, &event);
		break;
	}
	return 0;
}

static void note_drop(struct trace *trace, const char *cause, uint64_t count, const char *remedy)
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
		[GC_DROP_THREAD] = {"thread-state", "the kernel had no memory for it, or was busy with it (before 6.2)"},
		[GC_DROP_UNMATCHED_END] = {"unmatched-end", "please report this, unless thread-state stands beside it"},
		[GC_DROP_UNREADY] = {"unready-jvm", "a JVM paused before it had started up"},
		[GC_DROP_TARGETS] = {"too-many-processes", "use --no-children, or several -p"},
	};

	for (int i = 0; i < GC_DROP_COUNT; i++)
		note_drop(trace, kernel[i].cause,
			__atomic_load_n(&trace->shared->drops[i], __ATOMIC_RELAXED), kernel[i].remedy);
	note_drop(trace, "unprobed-runtime", trace->unprobed,
		"a process got a runtime that could not be probed: gctrace doctor -p PID");
	note_drop(trace, "layout-unknown", trace_misfits(trace),
		"a runtime keeps its state elsewhere than its version does: gctrace doctor -p PID");
	note_drop(trace, "unprobed-linker", trace->unprobed_linkers,
		"a runtime that a process loads later is not seen: gctrace doctor says why");
	note_drop(trace, "unprobed-step", trace->unprobed_steps,
		"a call that may mark steps could not be probed: gctrace doctor says why");
	note_drop(trace, "unprobed-fact", trace->unprobed_facts,
		"a probe of a JVM could not be attached: what it tells is missing");
	note_drop(trace, "unknown-safepoint", trace->unsure_jvms,
		"a JVM without symbols may have stood in one safepoint all the time: keep its .symtab");
	note_drop(trace, "killed-in-safepoint", trace->killed_jvms,
		"a JVM was killed or called exec in a safepoint: how long it would have lasted is not known");
	note_drop(trace, "skipped-program", trace->skipped_changes,
		"a fork or exec, of whatever process, was not told: a child's first pauses may be missing");
	note_drop(trace, "late-probes", trace->late_probes,
		"a program collected before it was probed: name it: gctrace run -- python3 train.py");
	note_drop(trace, "unseen-program", trace->unseen_programs,
		"a program ended before it was looked at: name it: gctrace run -- python3 train.py");
	note_drop(trace, "bad-record", trace->bad_records, "please report this");
	note_drop(trace, "unfinished-pause", trace->unfinished,
		"the end of a pause was lost: its length is not known");
}
