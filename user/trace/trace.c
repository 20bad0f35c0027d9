/* The session's life: open, add, drain, finish, free. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "kernel.h"
#include "log.h"
#include "mem.h"
#include "trace_priv.h"

static void read_boot_id(char ret[37])
{
	_cleanup_fclose_ FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!stream || fscanf(stream, "%36s", ret) != 1)
		ret[0] = '\0';
}

static void begin_recording(struct recording *recording)
{
	snprintf(recording->version, sizeof(recording->version), "%s", GCTRACE_VERSION);
	gethostname(recording->host, sizeof(recording->host) - 1);
	read_boot_id(recording->boot_id);
	recording->start_ns = now_ns();
	recording->realtime_offset_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - now_ns());
}

#define CLOCKS_NS   1000000000ull /* between two looks at both clocks */
#define TOGETHER_NS 100000 /* that two reads of one may lie apart, with the other between them */

static void look_at_clocks(struct trace *trace)
{
	uint64_t before = now_ns(), wall = clock_ns(CLOCK_REALTIME), after = now_ns();

	if (before - trace->clocks_ns < CLOCKS_NS || after - before > TOGETHER_NS)
		return;
	trace->clocks_ns = before;
	recording_note_offset(&trace->recording, before, (int64_t)(wall - before));
}

static int load_programs(struct programs *programs, const struct capture_program *const *lists,
	const struct trace_options *options, struct err *err)
{
	const struct program_settings settings = {
		.lists = lists,
		.min_stack_ns = options->min_stack_ns,
		.buffer_bytes = options->buffer_bytes,
		.children = options->children,
		.steps = options->steps || options->step_wish,
	};

	return programs_load(programs, &settings, err);
}

static int map_shared(struct trace *trace, struct err *err)
{
	void *shared = mmap(NULL, sizeof(struct gc_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(trace->programs.bpf->maps.shared_map), 0);

	if (shared == MAP_FAILED)
		return err_set(err, errno, "the shared BPF map cannot be mapped: %s",
			strerror(errno));
	trace->shared = shared;
	return 0;
}

static int open_ring(struct trace *trace, struct err *err)
{
	trace->ring = ring_buffer__new(bpf_map__fd(trace->programs.bpf->maps.events), trace_on_ring,
		trace, NULL);
	if (trace->ring)
		return 0;
	return err_set(err, errno,
		"the ring buffer of %llu bytes cannot be mapped: %s; choose a smaller --buffer",
		(unsigned long long)trace->options.buffer_bytes, strerror(errno));
}

static int start(struct trace *trace, struct err *err)
{
	int r = load_programs(&trace->programs, trace->lists, &trace->options, err);

	if (!r)
		r = programs_follow(&trace->programs, err);
	if (!r)
		r = map_shared(trace, err);
	if (!r)
		r = trace_steps_open(trace, err);
	if (!r)
		r = open_ring(trace, err);
	return r ? r : trace_wake_open(trace, err);
}

int trace_open(const struct trace_options *options, const struct trace_sink *sink,
	struct trace **ret, struct err *err)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int r;

	if (!trace)
		return err_set(err, ENOMEM, "out of memory");
	trace->options = *options;
	trace->sink = *sink;
	trace->scanned = trace->due = -1;
	begin_recording(&trace->recording);
	if (options->step_asked)
		snprintf(trace->recording.step_asked, sizeof(trace->recording.step_asked), "%s",
			options->step_asked);
	trace->lists = trace_program_lists();
	if (!trace->lists || stack_table_init(&trace->stacks) || trace_captures_open(trace)) {
		trace_free(trace);
		return err_set(err, ENOMEM, "out of memory");
	}
	r = start(trace, err);
	if (r) {
		trace_free(trace);
		return r;
	}
	*ret = trace;
	return 0;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	for (uint32_t i = 0; i < trace->image_count; i++)
		trace_detach(&trace->images[i]);
	for (size_t i = 0; i < trace->hook_probes.count; i++)
		uprobe_detach(&trace->hook_probes.items[i]);
	vec_free(&trace->hook_probes);
	vec_free(&trace->hooks);
	trace_steps_close(trace);
	trace_wake_close(trace);
	ring_buffer__free(trace->ring);
	if (trace->shared)
		munmap((void *)trace->shared, sizeof(*trace->shared));
	trace_captures_close(trace);
	programs_release(&trace->programs);
	free(trace->lists);
	stack_table_release(&trace->stacks);
	books_release(&trace->books);
	vec_free(&trace->closing);
	vec_free(&trace->begun);
	vec_free(&trace->early);
	vec_free(&trace->ended.pids);
	u64map_release(&trace->live);
	u64map_release(&trace->runtimes);
	u64map_release(&trace->aged);
	u64map_release(&trace->looks);
	u64map_release(&trace->inherited);
	u64map_release(&trace->former);
	probe_known_release(&trace->known);
	recording_release(&trace->recording);
	free(trace);
}

/* "CPython 3.8 to 3.15, …": what was looked for. */
static void looked_for(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; probe_runtimes[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
			probe_runtimes[i]->label);
}

/* Neither @pid nor its children have a runtime that is traced: says what it is, if that is known. */
static void explain_nothing(const struct trace *trace, pid_t pid, struct err *err)
{
	const char *where = trace->options.children ? " or its children" : "";
	const struct stranger *stranger = NULL;
	struct proc_maps maps = {};
	char labels[256];

	looked_for(labels, sizeof(labels));
	if (!proc_maps_read(pid, &maps))
		stranger = probe_stranger(pid, &maps);
	proc_maps_release(&maps);
	if (stranger)
		err_set(err, ENOENT,
			"process %d runs %s, which gctrace does not trace (it knows %s): %s", pid,
			stranger->what, labels, stranger->remedy);
	else
		err_set(err, ENOENT,
			"no runtime in process %d%s (looked for: %s); if one will be loaded "
			"later, add --wait",
			pid, where, labels);
}

bool trace_met_stranger(const struct trace *trace, struct err *err)
{
	const struct stranger *stranger = trace->known.stranger;

	if (stranger)
		err_set(err, ENOENT, "a process runs %s, which gctrace does not trace: %s",
			stranger->what, stranger->remedy);
	return stranger;
}

int trace_add_descendants(struct trace *trace, pid_t pid)
{
	struct proc_pids list = {};
	struct err err;
	int total = 0;

	if (proc_descendants(pid, &list))
		return 0;
	for (size_t i = 0; i < list.pids.count; i++) {
		int r;

		if (u64map_get(&trace->live, (uint64_t)list.pids.items[i]))
			continue;
		r = trace_look(trace, list.pids.items[i], true, &err);
		if (r == -ESRCH)
			trace_process_exit(trace, list.pids.items[i], now_ns());
		if (r < 0)
			log_debug("%s", err.text);
		else
			total += r;
	}
	vec_free(&list.pids);
	return total;
}

/*
 * The probes of @pid's steps, before those of its collector: nothing is recorded yet, and from the first
 * pause on its steps are seen too.
 */
static void prepare_steps(struct trace *trace, pid_t pid)
{
	struct proc_maps maps = {};

	if (!trace->steps.on || proc_maps_read(pid, &maps))
		return;
	trace_steps_look(trace, pid, &maps);
	proc_maps_release(&maps);
	trace_steps_settle(trace);
}

int trace_add(struct trace *trace, pid_t pid, struct err *err)
{
	int r = probe_absent(pid, err), total;

	if (!r)
		r = kernel_refuse_thread(pid, err);
	if (!r) {
		prepare_steps(trace, pid);
		r = trace_look(trace, pid, true, err);
	}
	if (r < 0)
		return r;
	total = r;
	/* Twice: a child forked while the first round ran is found by the second, or by BPF. */
	if (trace->options.children)
		for (int round = 0; round < 2; round++)
			total += trace_add_descendants(trace, pid);
	trace_steps_settle(trace);
	if (total)
		return total;
	explain_nothing(trace, pid, err);
	return 0;
}

int trace_fd(const struct trace *trace)
{
	return ring_buffer__epoll_fd(trace->ring);
}

static int take_turn(struct trace *trace, int r)
{
	trace_catch_up(trace);
	trace_early_turn(trace);
	trace_looks_turn(trace);
	trace_begun_turn(trace);
	trace_inherited_turn(trace, now_ns() - INHERITED_NS);
	trace_check_turn(trace);
	trace_captures_turn(trace);
	trace_steps_turn(trace);
	trace_count_drops(trace);
	look_at_clocks(trace);
	trace_retire_turn(trace);
	return trace->sink_error ? trace->sink_error : r < 0 ? r : 0;
}

int trace_drain(struct trace *trace)
{
	trace_list_ended(trace);
	return take_turn(trace, trace_consume(trace));
}

size_t trace_alive(const struct trace *trace)
{
	return trace->live.count;
}

size_t trace_runtimes(const struct trace *trace)
{
	return trace->runtime_ids;
}

size_t trace_open_slots(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max)
{
	uint64_t now = now_ns();
	size_t count = 0;

	for (int i = 0; i < GC_OPEN_SLOTS && count < max; i++) {
		const volatile struct gc_open *slot = &trace->shared->open[i];
		uint32_t tid = slot->tid, pid = slot->pid;
		uint64_t start_ns = slot->start_ns;

		/* Not a snapshot: a slot that changed under us is looked at next time. */
		if (start_ns && start_ns + least_ns <= now && slot->tid == tid &&
			slot->start_ns == start_ns)
			ret[count++] = (struct trace_open_pause){
				pid, tid, start_ns, slot->image, slot->cause, slot->generation};
	}
	return count;
}

size_t trace_open_pauses(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max)
{
	size_t count = trace_open_slots(trace, least_ns, ret, max);

	for (size_t i = 0; i < trace->begun.count && count < max; i++) {
		const struct begun_pause *begun = &trace->begun.items[i];

		if (begun->seen_ns >= begun->start_ns + least_ns)
			ret[count++] = (struct trace_open_pause){(uint32_t)begun->pid, 0,
				begun->start_ns, begun->image, CAUSE_UNKNOWN, UNKNOWN};
	}
	return count;
}

/* A counter moves within its pause: lets the pauses that began before the books were read end. */
static int drain_until(struct trace *trace, uint64_t read_ns)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	struct trace_open_pause open[GC_OPEN_SLOTS];

	for (int i = 0; i < 40; i++) {
		nanosleep(&nap, NULL);
		if (!trace_open_slots(trace, now_ns() - read_ns, open, ARRAY_SIZE(open)))
			break;
	}
	return take_turn(trace, trace_consume_all(trace));
}

int trace_finish(struct trace *trace)
{
	int r;

	trace->ending = true;
	trace_inherited_turn(trace, UINT64_MAX);
	trace_steps_settle(trace); /* what was found but not probed yet is listed at least */
	trace_read_books(trace);
	r = drain_until(trace, now_ns());
	if (!r)
		r = trace_finish_open(trace);
	trace_early_settle(trace, 0, now_ns());
	trace_close_books(trace);
	trace_steps_finish(trace);
	trace_count_drops(trace);
	trace->recording.end_ns = now_ns();
	trace->recording.complete =
		!recording_drop_total(&trace->recording) && !trace->retired_missed;
	for (size_t i = 0; i < trace->recording.runtimes.count; i++)
		if (trace->recording.runtimes.items[i].missed)
			trace->recording.complete = false;
	return r;
}

const struct recording *trace_recording(const struct trace *trace)
{
	return &trace->recording;
}

const struct stack_table *trace_stacks(const struct trace *trace)
{
	return &trace->stacks;
}

int trace_probe_kernel(const char **ret_way, struct err *err)
{
	const struct trace_options options = {.buffer_bytes = 4096, .steps = true};
	const struct capture_program **lists = trace_program_lists();
	struct programs programs = {};
	int r = lists ? load_programs(&programs, lists, &options, err)
		      : err_set(err, ENOMEM, "out of memory");

	if (!r)
		r = programs_hit_ourselves(&programs, err);
	if (!r)
		*ret_way = uprobe_way_name(programs.way);
	programs_release(&programs);
	free(lists);
	return r;
}
