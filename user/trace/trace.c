/* The session at work: processes added, the ring drained, the recording finished. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cleanup.h"
#include "kernel.h"
#include "log.h"
#include "mem.h"
#include "strangers.h"
#include "trace_priv.h"

#define CLOCKS_NS   1000000000ull /* between two looks at both clocks */
#define TOGETHER_NS 100000 /* that two reads of one may lie apart, with the other between them */

static void look_at_clocks(struct trace *trace)
{
	uint64_t before = now_ns(), wall = clock_ns(CLOCK_REALTIME), after = now_ns();

	if (before - trace->clocks_ns < CLOCKS_NS || after - before > TOGETHER_NS)
		return;
	trace->clocks_ns = before;
	recording_note_offset(&trace->feed.recording, before, (int64_t)(wall - before));
}

/* The names and versions of all runtimes: what was looked for. */
static void looked_for(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; probe_runtimes[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
			probe_runtimes[i]->label);
}

/* A file whose code @pid runs and that cannot be opened; NULL: none. */
static const char *unreadable(pid_t pid, const struct proc_maps *maps)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		int fd;

		if (!map->exec || map->path[0] != '/')
			continue;
		fd = proc_map_open(pid, map, path, sizeof(path));
		if (fd < 0)
			return map->path;
		close(fd);
	}
	return NULL;
}

/* Whether privileges that we lack may be why nothing was found in @pid; then says so. */
static bool explain_unreadable(pid_t pid, const struct proc_maps *maps, struct err *err)
{
	const char *file = unreadable(pid, maps);
	char lacking[256];

	if (!file || !kernel_lacks(lacking, sizeof(lacking)))
		return false;
	err_set(err, EACCES,
		"%s, which process %d runs, cannot be read without %s: run with sudo, or with that "
		"capability too",
		file, pid, lacking);
	return true;
}

/* Neither @pid nor its children have a runtime that is traced: says what it is, if that is known. */
static void explain_nothing(const struct trace *trace, pid_t pid, struct err *err)
{
	const char *where = trace->options.children ? " or its children" : "";
	const struct stranger *stranger = NULL;
	struct proc_maps maps = {};
	bool explained = false;
	char labels[256];

	looked_for(labels, sizeof(labels));
	if (!proc_maps_read(pid, &maps)) {
		stranger = probe_stranger(pid, &maps);
		explained = !stranger && explain_unreadable(pid, &maps, err);
	}
	proc_maps_release(&maps);
	if (explained)
		return;
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

bool trace_why_nothing(const struct trace *trace, struct err *err)
{
	const struct stranger *stranger = trace->looks.known.stranger;

	if (*trace->looks.unprobed_why)
		err_set(err, ENOENT, "%s", trace->looks.unprobed_why);
	else if (stranger)
		err_set(err, ENOENT, "a process runs %s, which gctrace does not trace: %s",
			stranger->what, stranger->remedy);
	else if (trace->looks.unseen)
		err_set(err, ENOENT, "a program had ended before it could be probed");
	return stranger || *trace->looks.unprobed_why || trace->looks.unseen;
}

#define SETTLE_POLL_MS 2

/* Waits for the scans under way, and probes what they found. */
static void settle_steps(struct trace *trace)
{
	struct pollfd ring = {.fd = trace_fd(trace), .events = POLLIN};

	while (trace->steps.scans.count) {
		bool here = !trace->ending && steps_scan_here(&trace->steps);

		if (trace->ending)
			steps_give_up_scans(&trace->steps);
		/* Readable: it is nearly full, or has news of a process. */
		if (here || poll(&ring, 1, SETTLE_POLL_MS) > 0) {
			wake_clear(&trace->wake);
			ring_consume(&trace->ring);
		}
		steps_take_scans(&trace->steps);
	}
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
	steps_look(&trace->steps, pid, &maps);
	proc_maps_release(&maps);
	settle_steps(trace);
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
	settle_steps(trace);
	if (total)
		return total;
	explain_nothing(trace, pid, err);
	return 0;
}

int trace_fd(const struct trace *trace)
{
	return ring_buffer__epoll_fd(trace->ring.buffer);
}

static int take_turn(struct trace *trace, int r)
{
	trace_catch_up(trace);
	ledger_early_turn(&trace->ledger, trace->ring.more);
	trace_looks_turn(trace);
	ledger_begun_turn(&trace->ledger);
	runtimes_inherited_turn(&trace->runtimes, now_ns() - INHERITED_NS);
	images_check_turn(&trace->images);
	captures_turn(&trace->captures);
	processes_turn(&trace->processes);
	trace_find_steps(trace, 0);
	steps_turn(&trace->steps);
	request_watch_turn(&trace->requests);
	gpu_watch_turn(&trace->gpu);
	driver_watch_turn(&trace->driver);
	trace_count_drops(trace);
	look_at_clocks(trace);
	trace_retire_turn(trace);
	return trace->feed.error ? trace->feed.error : r < 0 ? r : 0;
}

int trace_drain(struct trace *trace)
{
	trace_list_ended(trace);
	return take_turn(trace, ring_consume(&trace->ring));
}

bool trace_has_more(const struct trace *trace)
{
	return trace->ring.more;
}

int trace_check_step(const struct trace *trace, struct err *err)
{
	return steps_check_wish(&trace->steps, err);
}

static int check_driver(const struct driver_watch *driver, struct err *err)
{
	if (driver->attached)
		return 0;
	if (driver->unprobed)
		return err_set(err, ENOENT, "%s", driver->why.text);
	return err_set(err, ENOENT,
		"the process has not loaded libcuda.so, CUDA's driver library, in which launches are seen: if it will "
		"later, add --wait");
}

int trace_check_gpu(const struct trace *trace, struct err *err)
{
	if (trace->driver.on)
		return check_driver(&trace->driver, err);
	if (trace->gpu.attached)
		return 0;
	if (trace->gpu.unprobed)
		return err_set(err, ENOENT, "%s", trace->gpu.why.text);
	return err_set(err, ENOENT,
		"the CUPTI shim is not loaded in the process: start it by gctrace run, or with "
		"CUDA_INJECTION64_PATH set to libgctrace_cupti.so; gctrace doctor -p PID says more");
}

size_t trace_alive(const struct trace *trace)
{
	return trace->processes.live.count;
}

size_t trace_runtimes(const struct trace *trace)
{
	return trace->runtimes.ids;
}

size_t trace_open_pauses(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max)
{
	size_t count = slots_open(trace->shared, least_ns, ret, max);

	return count + ledger_begun_list(&trace->ledger, least_ns, ret + count, max - count);
}

/* A counter moves within its pause: lets the pauses that began before the books were read end. */
static int drain_until(struct trace *trace, uint64_t read_ns)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	struct trace_open_pause open[GC_OPEN_SLOTS];

	for (int i = 0; i < 40; i++) {
		nanosleep(&nap, NULL);
		if (!slots_open(trace->shared, now_ns() - read_ns, open, ARRAY_SIZE(open)))
			break;
	}
	return take_turn(trace, ring_consume_all(&trace->ring));
}

/* What is under way as the recording ends. After the books were read. 0 or -errno. */
static int finish_open(struct trace *trace)
{
	struct trace_open_pause open[GC_OPEN_SLOTS];
	size_t count = slots_open(trace->shared, 0, open, ARRAY_SIZE(open));
	uint64_t end_ns = now_ns();
	int r;

	captures_look(&trace->captures);
	r = ring_consume_all(&trace->ring);
	captures_finish(&trace->captures);
	ledger_finish_open(&trace->ledger, open, count, end_ns);
	return trace->feed.error ? trace->feed.error : r < 0 ? r : 0;
}

int trace_finish(struct trace *trace)
{
	int r;

	trace->ending = true;
	runtimes_inherited_turn(&trace->runtimes, UINT64_MAX);
	settle_steps(trace); /* what was found but not probed yet is listed at least */
	ledger_read(&trace->ledger);
	r = drain_until(trace, now_ns());
	if (!r)
		r = finish_open(trace);
	in_vain_settle(&trace->in_vain, 0);
	ledger_early_settle(&trace->ledger, 0, now_ns());
	ledger_close(&trace->ledger);
	steps_finish(&trace->steps);
	gpu_watch_finish(&trace->gpu);
	driver_watch_finish(&trace->driver);
	trace_count_drops(trace);
	trace->feed.recording.end_ns = now_ns();
	trace->feed.recording.complete =
		!recording_drop_total(&trace->feed.recording) && !trace->retired_missed;
	for (size_t i = 0; i < trace->feed.recording.runtimes.count; i++)
		if (trace->feed.recording.runtimes.items[i].missed)
			trace->feed.recording.complete = false;
	return r;
}

const struct recording *trace_recording(const struct trace *trace)
{
	return &trace->feed.recording;
}

const struct stack_table *trace_stacks(const struct trace *trace)
{
	return &trace->stacks;
}
