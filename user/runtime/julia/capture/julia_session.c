/* Records of Julia's collector → pauses for the sink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "jit_code.h"
#include "julia_facts.h"
#include "julia_plan.h"
#include "julia_process.h"
#include "julia_record.h"
#include "julia_session.h"
#include "vec.h"

const char *const julia_counters[] = {"collections", NULL};

/*
 * What a process's records say of its books, lowest first. Threads run their finalizers while others collect, so
 * records may come in another order than their counts.
 */
#define EARLY_MOST 64

struct line {
	pid_t pid;
	bool seen; /* a record of it */
	uint32_t process, image;
	uint32_t count;
	uint64_t early[EARLY_MOST];
};

/* All that is kept of a session. */
struct session {
	struct trace *trace;
	VEC(struct line) lines;
	struct julia_processes processes;
	struct trace_open_pause open[GC_OPEN_SLOTS]; /* as the recording was about to end */
	size_t open_count;
	uint64_t unsound; /* collections of which gc_num does not say that they were one */
};

static void *session_open(struct trace *trace)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->trace = trace;
	session->processes.numbered = trace_options(trace)->variants;
	return session;
}

static void session_close(void *state)
{
	struct session *session = state;

	vec_free(&session->lines);
	julia_processes_release(&session->processes);
	free(session);
}

/* The lowest count is due: what lies between it and the last is missed. */
static void settle_lowest(struct session *session, struct line *line)
{
	struct runtime *runtime = trace_runtime(session->trace, line->process, line->image);

	if (runtime)
		runtime->missed += books_pause(trace_books(session->trace), line->process,
			BOOKS_PROCESS, 0, &(struct books_counts){julia_counters, line->early});
	memmove(line->early, line->early + 1, --line->count * sizeof(*line->early));
}

static struct line *line_of(struct session *session, pid_t pid, uint32_t process, uint32_t image)
{
	struct line *line;

	for (size_t i = session->lines.count; i--;)
		if (session->lines.items[i].process == process)
			return &session->lines.items[i];
	line = vec_add(&session->lines);
	if (line)
		*line = (struct line){.pid = pid, .process = process, .image = image};
	return line;
}

/* A pause after which the process had counted @pauses. */
static void count(struct session *session, struct line *line, uint64_t pauses)
{
	uint32_t at;

	if (line->count == EARLY_MOST)
		settle_lowest(session, line);
	for (at = line->count++; at && line->early[at - 1] > pauses; at--)
		line->early[at] = line->early[at - 1];
	line->early[at] = pauses;
}

static int tell_programs(void *state, uint32_t image, const struct probe_plan *plan,
	struct err *err)
{
	struct session *session = state;
	int r = bpf_map__update_elem(trace_map(session->trace, "julia_layouts"), &image,
		sizeof(image), &julia_plan(plan)->told, sizeof(struct gc_julia_layout), BPF_ANY);

	return r ? err_set(err, -r, "the map of Julia's layouts cannot be written: %s",
			   strerror(-r))
		 : 0;
}

static void find_step(void *state, pid_t pid, const char *name)
{
	struct session *session = state;

	julia_process_find(&session->processes, session->trace, pid, name);
}

static int64_t grown(int64_t before, int64_t after)
{
	return before >= 0 && after >= before ? after - before : UNKNOWN;
}

/* What the books say of one collection. */
struct account {
	struct julia_books before, after;
	bool known;	 /* both are, and they count it */
	uint64_t pauses; /* that they had counted with it; 0: not known */
};

static struct account read_account(struct session *session, const struct gc_julia_pause *wire,
	const struct julia_layout *layout)
{
	struct account account = {};

	if (!layout || !(wire->flags & GC_JULIA_BOOKS))
		return account;
	julia_books_read(layout, wire->before, &account.before);
	if (!(wire->flags & GC_JULIA_COLLECTED)) {
		/* Without a state that probe said nothing; it has collected if it came to its end. */
		account.pauses = wire->flags & GC_JULIA_UNFINISHED ? 0 : account.before.pauses + 1;
		return account;
	}
	julia_books_read(layout, wire->after, &account.after);
	account.pauses = account.after.pauses;
	if (wire->flags & GC_JULIA_BEGUN)
		return account;
	account.known = account.after.pauses == account.before.pauses + 1 &&
			account.after.total_ns > account.before.total_ns;
	/* No probe saw the last one or more before it: the books will miss them, and .before is theirs. */
	if (wire->flags & GC_JULIA_KEPT && account.after.pauses > account.before.pauses + 1)
		return account;
	account.pauses = account.known ? account.after.pauses : 0;
	session->unsound += !account.known;
	return account;
}

/* The argument of the collector, in Julia's own words (GC.gc(true) is full). */
static int64_t asked(struct session *session, uint32_t asked)
{
	static const char *const words[] = {
		[GC_JULIA_AUTO] = "auto",
		[GC_JULIA_FULL] = "full",
		[GC_JULIA_INCREMENTAL] = "incremental",
	};
	uint32_t id;

	if (asked >= ARRAY_SIZE(words))
		return 0;
	id = strtab_add(trace_stack_table(session->trace)->strings, words[asked],
		strlen(words[asked]));
	return id == STRTAB_NONE ? 0 : id;
}

static void tell_heap(const struct gc_julia_pause *wire, const struct account *account,
	int64_t *facts)
{
	const int64_t allocated =
		grown(account->before.allocated_bytes, account->after.allocated_bytes);

	if (!(wire->flags & GC_JULIA_LIVE) || !(wire->flags & GC_JULIA_COLLECTED))
		return;
	facts[JULIA_HEAP_AFTER] =
		(int64_t)wire->live_after < 0 ? UNKNOWN : (int64_t)wire->live_after;
	/* It adds to live_bytes what was allocated since the last one, and takes away what it frees. */
	if (!account->known || allocated < 0)
		return;
	facts[JULIA_HEAP_BEFORE] = (int64_t)(wire->live_before + (uint64_t)allocated);
	facts[JULIA_FREED_BYTES] =
		(int64_t)(wire->live_before + (uint64_t)allocated - wire->live_after);
	if (facts[JULIA_HEAP_BEFORE] < 0)
		facts[JULIA_HEAP_BEFORE] = UNKNOWN;
	if (facts[JULIA_FREED_BYTES] < 0)
		facts[JULIA_FREED_BYTES] = UNKNOWN;
}

/*
 * The core, split where marking ended. A thread that loses its processor between a probe and the look of Julia at the
 * clock beside it makes one of the two too long, and that one alone.
 */
static void tell_mark(const struct gc_julia_pause *wire, int64_t *facts)
{
	int64_t core = facts[JULIA_CORE_NS], mark = (int64_t)wire->mark_ns;

	if (mark > core && wire->flags & GC_JULIA_COLLECTED)
		mark += core - (int64_t)(wire->collected_ns - wire->stopped_ns);
	if (mark < 0 || mark > core)
		return;
	facts[JULIA_MARK_NS] = mark;
	facts[JULIA_SWEEP_NS] = core - mark;
}

static void tell_times(const struct gc_julia_pause *wire, const struct account *account,
	int64_t *facts)
{
	const bool begun = wire->flags & GC_JULIA_BEGUN;

	if (!begun)
		facts[JULIA_TTSP_NS] = (int64_t)(wire->stopped_ns - wire->start_ns);
	if (wire->flags & GC_JULIA_COLLECTED)
		facts[JULIA_POST_NS] = (int64_t)wire->post_ns;
	if (!account->known)
		return;
	if (account->after.ttsp_ns >= 0 && account->after.ttsp_ns <= facts[JULIA_TTSP_NS])
		facts[JULIA_TTSP_NS] = account->after.ttsp_ns;
	facts[JULIA_CORE_NS] = grown(account->before.total_ns, account->after.total_ns);
	facts[JULIA_FULL_SWEEPS] =
		(int64_t)(account->after.full_sweeps - account->before.full_sweeps);
	facts[JULIA_MARK_NS] = grown(account->before.mark_ns, account->after.mark_ns);
	facts[JULIA_SWEEP_NS] = grown(account->before.sweep_ns, account->after.sweep_ns);
	if (facts[JULIA_MARK_NS] < 0 && wire->flags & GC_JULIA_MARK)
		tell_mark(wire, facts);
}

static uint32_t take_stack(struct session *session, uint32_t type, uint32_t pid, uint32_t tid,
	uint64_t time_ns)
{
	const struct julia_moment moment = {type, pid, tid, time_ns};

	return julia_process_take(&session->processes, &moment, trace_stack_table(session->trace));
}

static void tell_facts(struct session *session, const struct gc_julia_pause *wire,
	const struct account *account, struct pause *ret)
{
	for (size_t i = 0; i < JULIA_FACTS; i++)
		ret->facts[i] = UNKNOWN;
	ret->facts[JULIA_LATE_STACK] = STACK_NONE;
	ret->facts[JULIA_ASKED] = asked(session, wire->asked);
	tell_times(wire, account, ret->facts);
	tell_heap(wire, account, ret->facts);
	if (wire->late_tid &&
		wire->stopped_ns - wire->start_ns >= trace_options(session->trace)->late_ns) {
		ret->facts[JULIA_LATE_TID] = wire->late_tid;
		ret->facts[JULIA_LATE_STACK] = take_stack(session, GC_EVENT_JULIA_LATE,
			wire->header.pid, wire->late_tid, wire->late_ns);
	}
	ret->flags |= PAUSE_HAS_FACTS;
	if (ret->facts[JULIA_FULL_SWEEPS] > 0)
		ret->flags |= PAUSE_FULL;
}

/* In the time that it did not wait for other threads' collections, which are pauses of their own. */
static struct pause read_pause(struct session *session, const struct gc_julia_pause *wire,
	const struct account *account, const struct runtime *runtime, bool is_first)
{
	const bool begun = wire->flags & GC_JULIA_BEGUN;
	const uint64_t since_ns = is_first && runtime->attached_ns < wire->stopped_ns
					  ? runtime->attached_ns
					  : wire->stopped_ns;
	struct pause pause = trace_unknown_pause(runtime->id, begun ? since_ns : wire->start_ns,
		wire->header.time_ns - wire->waited_ns);

	pause.tid = wire->header.tid;
	pause.flags = (begun ? PAUSE_BEGUN_BEFORE : 0) |
		      (wire->flags & GC_JULIA_UNFINISHED ? PAUSE_UNFINISHED : 0);
	if (wire->asked != GC_JULIA_UNKNOWN)
		pause.cause = wire->asked == GC_JULIA_AUTO ? CAUSE_AUTOMATIC : CAUSE_MANUAL;
	tell_facts(session, wire, account, &pause);
	return pause;
}

static int on_record(void *state, const void *bytes, size_t size)
{
	const struct gc_julia_pause *wire = bytes;
	struct session *session = state;
	struct trace *trace = session->trace;
	const struct probe_plan *plan;
	struct account account;
	struct runtime *runtime;
	struct pause pause;
	struct line *line;
	uint32_t process;

	if (size >= sizeof(wire->header) && (wire->header.type == GC_EVENT_JULIA_STACK ||
						    wire->header.type == GC_EVENT_JULIA_LATE))
		return julia_process_stack(&session->processes, bytes, size,
			trace_stack_table(trace));
	if (!julia_record_makes_sense(bytes, size))
		return -EBADMSG;
	plan = trace_plan(trace, wire->image);
	process = plan && plan->ops->capture == &julia_capture
			  ? trace_process(trace, (pid_t)wire->header.pid)
			  : 0;
	runtime = process ? trace_runtime(trace, process, wire->image) : NULL;
	if (!runtime)
		return -EBADMSG;
	account = read_account(session, wire, julia_plan(plan)->books);
	trace_saw_pause(trace, process, wire->image, BOOKS_PROCESS, wire->start_ns);
	trace_thread(trace, process, (pid_t)wire->header.pid, wire->header.tid);
	line = line_of(session, (pid_t)wire->header.pid, process, wire->image);
	if (!line)
		return -ENOMEM;
	if (account.pauses)
		count(session, line, account.pauses);
	pause = read_pause(session, wire, &account, runtime, !line->seen);
	line->seen = true;
	pause.stack = take_stack(session, GC_EVENT_JULIA_STACK, wire->header.pid, wire->header.tid,
		wire->header.time_ns);
	trace_put_pause(trace, &pause);
	return 0;
}

/* Its slot in julia_calls; false: it never called the collector. */
static bool slot_of(struct session *session, pid_t pid, uint32_t *ret)
{
	const uint32_t key = (uint32_t)pid;

	return !bpf_map__lookup_elem(trace_map(session->trace, "julia_slots"), &key, sizeof(key),
		ret, sizeof(*ret), 0);
}

/* The slot is free again once the process has ended. An exec leaves it to the next program. */
static void clear_slot(struct session *session, pid_t pid)
{
	static const struct gc_julia_calls none;
	const uint32_t key = (uint32_t)pid;
	struct gc_target target;
	uint32_t slot;

	if (!slot_of(session, pid, &slot))
		return;
	bpf_map__update_elem(trace_map(session->trace, "julia_calls"), &slot, sizeof(slot), &none,
		sizeof(none), BPF_ANY);
	if (!bpf_map__lookup_elem(trace_map(session->trace, "targets"), &key, sizeof(key), &target,
		    sizeof(target), 0))
		return;
	bpf_map__delete_elem(trace_map(session->trace, "julia_slots"), &key, sizeof(key), 0);
	bpf_map__delete_elem(trace_map(session->trace, "julia_owners"), &slot, sizeof(slot), 0);
}

/* Those that lost to another thread's, or found the collector disabled. */
static void count_idle_calls(struct session *session, const struct line *line)
{
	struct runtime *runtime = trace_runtime(session->trace, line->process, line->image);
	const struct probe_plan *plan = trace_plan(session->trace, line->image);
	struct gc_julia_calls calls = {};
	uint32_t slot;

	if (!runtime)
		return;
	if (slot_of(session, line->pid, &slot))
		bpf_map__lookup_elem(trace_map(session->trace, "julia_calls"), &slot, sizeof(slot),
			&calls, sizeof(calls), 0);
	if (calls.entered >= calls.collected) {
		runtime->idle_calls = (int64_t)(calls.entered - calls.collected + calls.disabled);
		if (plan && julia_plan(plan)->told.disabled)
			runtime->disabled_calls = (int64_t)calls.disabled;
	}
	trace_tell_runtime(session->trace, runtime);
}

static void end_line(struct session *session, size_t index)
{
	while (session->lines.items[index].count)
		settle_lowest(session, &session->lines.items[index]);
	count_idle_calls(session, &session->lines.items[index]);
	session->lines.items[index] = session->lines.items[--session->lines.count];
}

static int found(void *state, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map, struct err *err)
{
	struct session *session = state;
	struct julia_process *known = julia_process(&session->processes, pid);

	if (!known || !line_of(session, pid, process, image))
		return err_set(err, ENOMEM, "out of memory");
	/* Before it is a target: the first search takes longest. */
	jit_code_look(julia_stacks_jit(known->stacks), now_ns());
	return 0;
}

static void look(void *state)
{
	struct session *session = state;

	session->open_count =
		trace_open_slots(session->trace, 0, session->open, ARRAY_SIZE(session->open));
}

static bool still_open(struct session *session, const struct trace_open_pause *wanted)
{
	struct trace_open_pause open[GC_OPEN_SLOTS];
	size_t count = trace_open_slots(session->trace, 0, open, ARRAY_SIZE(open));

	for (size_t i = 0; i < count; i++)
		if (open[i].tid == wanted->tid && open[i].start_ns == wanted->start_ns)
			return true;
	return false;
}

/* Those under way as the recording ends. The books may hold them already: finalizers come after they are counted. */
static void finish(void *state)
{
	struct session *session = state;
	const uint64_t end_ns = now_ns();

	while (session->lines.count)
		end_line(session, session->lines.count - 1);
	for (size_t i = 0; i < session->open_count; i++) {
		const struct trace_open_pause *open = &session->open[i];
		const struct probe_plan *plan = trace_plan(session->trace, open->image);
		struct runtime *runtime;
		struct pause pause;
		uint32_t process;

		if (!plan || plan->ops->capture != &julia_capture || open->start_ns >= end_ns ||
			!still_open(session, open))
			continue;
		process = trace_process(session->trace, (pid_t)open->pid);
		runtime = process ? trace_runtime(session->trace, process, open->image) : NULL;
		if (!runtime)
			continue;
		books_expect(trace_books(session->trace), process, BOOKS_PROCESS);
		pause = trace_unknown_pause(runtime->id, open->start_ns, end_ns);
		pause.tid = open->tid;
		pause.cause = open->cause;
		pause.flags = PAUSE_UNFINISHED;
		trace_put_pause(session->trace, &pause);
	}
}

static void over(void *state, pid_t pid, uint64_t time_ns)
{
	struct session *session = state;

	for (size_t i = session->lines.count; i--;)
		if (session->lines.items[i].pid == pid)
			end_line(session, i);
	clear_slot(session, pid);
	julia_process_over(&session->processes, pid);
}

static void drops(void *state)
{
	const struct session *session = state;

	trace_note_drop(session->trace, "unsound-books", session->unsound,
		"gc_num did not count a collection: this Julia is not understood");
}

static const struct capture_program programs[] = {
	{"on_julia_safepoint", 1, USE_ALWAYS},
	{"on_julia_exec", 1, USE_ALWAYS},
	{"on_julia_exit", 1, USE_ALWAYS},
	{"on_julia_call", 1, USE_ALWAYS},
	{"on_julia_stopped", 1, USE_ALWAYS},
	{"on_julia_marked", 1, USE_ALWAYS},
	{"on_julia_collected", 1, USE_ALWAYS},
	{"on_julia_finalize", 1, USE_ALWAYS},
	{"on_julia_over", 1, USE_ALWAYS},
	{},
};

const struct capture_ops julia_capture = {
	.programs = programs,
	.first_record = GC_EVENT_JULIA_PAUSE,
	.last_record = GC_EVENT_JULIA_LAST,
	.open = session_open,
	.close = session_close,
	.image = tell_programs,
	.record = on_record,
	.found = found,
	.find_step = find_step,
	.over = over,
	.look = look,
	.finish = finish,
	.drops = drops,
};
