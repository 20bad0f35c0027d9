/* Records of CPython's collector → pauses for the sink; code objects and interpreters by the way. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_event.h"
#include "cpython_facts.h"
#include "cpython_plan.h"
#include "cpython_session.h"
#include "mem.h"
#include "python_code.h"
#include "vec.h"

const char *const cpython_counters[] = {"generation 0", "generation 1", "generation 2", NULL};

struct interpreter {
	uint32_t process;
	uint64_t address;
	int32_t number;
};

/* What was last recorded of a process's main interpreter. */
struct thresholds {
	uint32_t process;
	int32_t values[3];
};

struct session {
	struct trace *trace;
	struct python_codes *codes;
	VEC(struct interpreter) interpreters;
	VEC(struct thresholds) thresholds;
};

static void session_close(void *state)
{
	struct session *session = state;

	python_codes_free(session->codes);
	vec_free(&session->interpreters);
	vec_free(&session->thresholds);
	free(session);
}

static void *session_open(struct trace *trace)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->trace = trace;
	session->codes = python_codes_new();
	if (session->codes)
		return session;
	free(session);
	return NULL;
}

static int tell_programs(void *state, uint32_t image, const struct probe_plan *plan,
	struct err *err)
{
	struct session *session = state;
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	int r = bpf_map__update_elem(trace_map(session->trace, "layouts"), &image, sizeof(image),
		layout, sizeof(*layout), BPF_ANY);

	return r ? err_set(err, -r, "the layout map cannot be written: %s", strerror(-r)) : 0;
}

/* In each thread that exists: the later ones inherit it. */
static int watch(void *state, uint32_t image, pid_t pid, const struct probe_site *site,
	uint64_t cookie, struct err *err)
{
	struct session *session = state;
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return err_set(err, ESRCH, "process %d is gone", pid);
	while (!r && (entry = readdir(tasks))) {
		if (atoi(entry->d_name))
			r = trace_watch(session->trace, image, site, atoi(entry->d_name),
				sizeof(int32_t), true, cookie, err);
		r = r == -ESRCH ? 0 : r; /* the thread has just ended */
	}
	closedir(tasks);
	return r;
}

/* Whose counters it moved: 3.8 has one collector for all interpreters. */
static uint64_t owner_of(const struct probe_plan *plan, const struct cpython_event *event)
{
	if (cpython_plan(plan)->layout.runtime_gc)
		return 0;
	/* The next interpreter may lie where one has ended; its number is its own. */
	return event->pause.number > 0 ? (uint64_t)event->pause.number : event->pause.interpreter;
}

static int32_t number_of(struct session *session, uint32_t process,
	const struct cpython_event *event)
{
	const struct probe_plan *plan = trace_plan(session->trace, event->pause.image);
	uint64_t address = event->pause.interpreter;
	struct interpreter *known;
	int64_t number = UNKNOWN;

	if (event->pause.number >= 0)
		return event->pause.number;
	if (!address)
		return UNKNOWN;
	for (size_t i = session->interpreters.count; i--;) {
		known = &session->interpreters.items[i];
		if (known->process == process && known->address == address)
			return known->number;
	}
	if (mem_read((pid_t)event->head.pid, address + cpython_plan(plan)->layout.interp_number,
		    &number, sizeof(number)) ||
		number < 0 || number > INT32_MAX)
		return UNKNOWN; /* gone: asked again next time */
	known = vec_add(&session->interpreters);
	if (known)
		*known = (struct interpreter){process, address, (int32_t)number};
	return (int32_t)number;
}

static void inherit(void *state, uint32_t parent, uint32_t child)
{
	struct session *session = state;
	size_t count = session->interpreters.count;

	for (size_t i = 0; i < count; i++) {
		struct interpreter *slot;

		if (session->interpreters.items[i].process != parent)
			continue;
		slot = vec_add(&session->interpreters);
		if (slot) {
			*slot = session->interpreters.items[i];
			slot->process = child;
		}
	}
}

static void retire(void *state)
{
	struct session *session = state;
	size_t kept = 0;

	for (size_t i = 0; i < session->interpreters.count; i++)
		if (trace_knows(session->trace, session->interpreters.items[i].process))
			session->interpreters.items[kept++] = session->interpreters.items[i];
	session->interpreters.count = kept;
	kept = 0;
	for (size_t i = 0; i < session->thresholds.count; i++)
		if (trace_knows(session->trace, session->thresholds.items[i].process))
			session->thresholds.items[kept++] = session->thresholds.items[i];
	session->thresholds.count = kept;
}

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
static int64_t known(const struct cpython_event *event, uint32_t flag, uint64_t value)
{
	return event->pause.flags & flag ? (int64_t)value : UNKNOWN;
}

static struct pause read_pause(struct session *session, const struct cpython_event *event,
	uint32_t process, uint32_t runtime)
{
	bool books = !(event->pause.flags & EVENT_NO_BOOKS);

	return (struct pause){
		.start_ns = event->pause.start_ns,
		.end_ns = event->head.time_ns,
		.runtime = runtime,
		.tid = event->head.tid,
		.interpreter = number_of(session, process, event),
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
		.stack = python_stack(session->codes, event, trace_stack_table(session->trace)),
	};
}

/* Whether they are others than were last recorded of @process, which they are then. */
static bool note_thresholds(struct session *session, uint32_t process, const int32_t values[3])
{
	struct thresholds *known = NULL;

	for (size_t i = session->thresholds.count; i-- && !known;)
		if (session->thresholds.items[i].process == process)
			known = &session->thresholds.items[i];
	if (known && !memcmp(known->values, values, sizeof(known->values)))
		return false;
	known = known ? known : vec_add(&session->thresholds);
	if (!known)
		return true; /* recorded with each pause: more rows, no harm */
	known->process = process;
	memcpy(known->values, values, sizeof(known->values));
	return true;
}

/* With its GIL on, a free-threaded CPython stops others as any does: for as long as the collector keeps it. */
static void add_stops(const struct cpython_event *event, struct pause *pause)
{
	const bool all = event->pause.flags & EVENT_GIL;
	int64_t *facts = pause->facts, duration_ns = (int64_t)pause_duration(pause);

	if (!all && !(event->pause.flags & EVENT_STOPS))
		return;
	pause->flags |= PAUSE_HAS_FACTS;
	facts[CPYTHON_REACH_NS] = facts[CPYTHON_STOPPED_NS] = 0;
	if (all) {
		facts[CPYTHON_FIRST_AT] = facts[CPYTHON_FIRST_REACH] = 0;
		facts[CPYTHON_STOPPED_NS] = facts[CPYTHON_FIRST_NS] = duration_ns;
	}
	for (size_t i = 0; !all && i < event->pause.stop_count; i++) {
		const struct event_stop *stop = &event->pause.stops[i];

		facts[CPYTHON_FIRST_AT + 2 * i] = (int64_t)(stop->request_ns - pause->start_ns);
		facts[CPYTHON_FIRST_NS + 2 * i] = (int64_t)(stop->end_ns - stop->request_ns);
		facts[CPYTHON_FIRST_REACH + i] = (int64_t)(stop->stopped_ns - stop->request_ns);
		facts[CPYTHON_REACH_NS] += facts[CPYTHON_FIRST_REACH + i];
		facts[CPYTHON_STOPPED_NS] += (int64_t)(stop->end_ns - stop->stopped_ns);
	}
	facts[CPYTHON_ALONE_NS] = duration_ns - facts[CPYTHON_REACH_NS] - facts[CPYTHON_STOPPED_NS];
}

static void add_facts(struct session *session, const struct cpython_event *event, uint32_t process,
	struct pause *pause)
{
	bool differ = event->pause.flags & EVENT_THRESHOLDS && pause->interpreter <= 0 &&
		      note_thresholds(session, process, event->pause.thresholds);

	for (int i = 0; i < CPYTHON_FACTS; i++)
		pause->facts[i] = UNKNOWN;
	for (int i = 0; differ && i < 3; i++)
		pause->facts[CPYTHON_THRESHOLD_0 + i] = event->pause.thresholds[i];
	if (differ)
		pause->flags |= PAUSE_HAS_FACTS;
	add_stops(event, pause);
}

static int on_pause(struct session *session, const struct cpython_event *event)
{
	struct trace *trace = session->trace;
	const struct probe_plan *plan = trace_plan(trace, event->pause.image);
	uint32_t process = trace_process(trace, (pid_t)event->head.pid);
	struct runtime *runtime =
		process && plan ? trace_runtime(trace, process, event->pause.image) : NULL;
	struct pause pause;
	uint64_t owner;

	if (!runtime)
		return -EBADMSG;
	owner = owner_of(plan, event);
	trace_saw_pause(trace, process, event->pause.image, owner, event->pause.start_ns);
	pause = read_pause(session, event, process, runtime->id);
	if (!(event->pause.flags & EVENT_NO_BOOKS) && pause.generation >= 0)
		runtime->missed += books_pause(trace_books(trace), process, owner,
			(unsigned int)pause.generation,
			&(struct books_counts){cpython_counters, event->pause.collections});
	add_facts(session, event, process, &pause);
	trace_put_pause(trace, &pause);
	return 0;
}

static int on_code(struct session *session, const struct cpython_event *event)
{
	const struct probe_plan *plan =
		event->type == EVENT_CODE ? trace_plan(session->trace, event->code.image) : NULL;

	if (event->type == EVENT_CODE && !plan)
		return -EBADMSG;
	return python_codes_add(session->codes, event, plan ? cpython_plan(plan)->minor : 0)
		       ? -EBADMSG
		       : 0;
}

static int on_record(void *state, const void *bytes, size_t size)
{
	struct cpython_event event;
	int r = cpython_decode(bytes, size, &event);

	if (r)
		return r;
	return event.type == EVENT_PAUSE ? on_pause(state, &event) : on_code(state, &event);
}

/* BPF sends again each code object that it meets. What is in the ring by now refers to those known. */
static void turn(void *state)
{
	static const uint64_t none[GC_SEEN_SLOTS];
	struct session *session = state;
	uint32_t zero = 0;

	if (!python_codes_are_many(session->codes))
		return;
	python_codes_turn(session->codes);
	bpf_map__update_elem(trace_map(session->trace, "seen_codes"), &zero, sizeof(zero), none,
		sizeof(none), BPF_ANY);
}

static const struct capture_program programs[] = {
	{"on_collect_session", 0, USE_SESSION},
	{"on_collect_begin", 0, USE_ALWAYS},
	{"on_collect_end", 0, USE_ALWAYS},
	{"on_world", 0, USE_ALWAYS},
	{"on_cpython_fork", 0, USE_ALWAYS},
	{"on_cpython_exec", 0, USE_ALWAYS},
	{"on_cpython_exit", 0, USE_ALWAYS},
	{"on_collecting_write", 1, USE_ALWAYS},
	{},
};

/* Its kind is the generation that the collector's argument named. */
static void unfinished(int32_t kind, struct pause *pause)
{
	pause->generation = kind;
}

const struct capture_ops cpython_capture = {
	.programs = programs,
	.first_record = GC_EVENT_PAUSE,
	.last_record = GC_EVENT_TABLE,
	.open = session_open,
	.close = session_close,
	.image = tell_programs,
	.watch = watch,
	.record = on_record,
	.fork = inherit,
	.retire = retire,
	.turn = turn,
	.unfinished = unfinished,
};
