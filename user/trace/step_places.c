/*
 * --step RUNTIME:FUNCTION: places that a runtime knows of → uprobes; where no file holds the code, and so no uprobe can
 * be, debug registers, thread by thread.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cleanup.h"
#include "gctrace.skel.h"
#include "log.h"
#include "steps_priv.h"
#include "trace_runtime.h"

static void let_go(struct step_watch *steps, struct watched_place *place)
{
	const struct gc_watched_place key = {
		.pid = (uint32_t)place->pid, .address = place->address};

	for (size_t i = 0; i < place->probes.count; i++)
		uprobe_detach(&place->probes.items[i]);
	vec_free(&place->probes);
	bpf_map__delete_elem(steps->programs->bpf->maps.watched_steps, &key, sizeof(key), 0);
}

void steps_over(struct step_watch *steps, pid_t pid)
{
	for (size_t i = steps->watched.count; i--;) {
		if (pid && steps->watched.items[i].pid != pid)
			continue;
		let_go(steps, &steps->watched.items[i]);
		steps->watched.items[i] = steps->watched.items[--steps->watched.count];
	}
	if (!pid)
		vec_free(&steps->watched);
}

/* In one thread, and in those that it makes. 0 or -errno. */
static int watch_thread(struct step_watch *steps, struct watched_place *place, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = place->address,
		.bp_len = sizeof(long), /* the only one for instructions: perf_event_open(2) */
		.sample_period = 1,
		.inherit = 1,
		.remove_on_exec = 1,
		.exclude_kernel = 1,
	};
	struct uprobe *slot;
	struct bpf_link *link;
	int r, fd = (int)syscall(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(steps->programs->bpf->progs.on_step_watch, fd);
	if (!link) {
		r = -errno;
		close(fd);
		return r;
	}
	slot = vec_add(&place->probes);
	if (slot)
		*slot = (struct uprobe){.link = link}; /* which owns the descriptor */
	else
		bpf_link__destroy(link);
	return slot ? 0 : -ENOMEM;
}

static int watch_threads(struct step_watch *steps, struct watched_place *place)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", place->pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	while (!r && (entry = readdir(tasks))) {
		if (atoi(entry->d_name))
			r = watch_thread(steps, place, atoi(entry->d_name));
		r = r == -ESRCH ? 0 : r; /* the thread has just ended */
	}
	closedir(tasks);
	return r;
}

/* When the place was last executed; never: 0. */
static uint64_t last_ns(const struct step_watch *steps, const struct watched_place *place)
{
	const struct gc_watched_place key = {
		.pid = (uint32_t)place->pid, .address = place->address};
	struct gc_watched_step step = {};

	bpf_map__lookup_elem(steps->programs->bpf->maps.watched_steps, &key, sizeof(key), &step,
		sizeof(step), 0);
	return step.last_ns;
}

/* What was compiled last is likely to run: the place of @pid that was not executed for longest makes room. */
static bool make_room(struct step_watch *steps, pid_t pid)
{
	struct watched_place *oldest = NULL;
	uint64_t oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < steps->watched.count; i++) {
		struct watched_place *place = &steps->watched.items[i];
		uint64_t ns = place->pid == pid && place->probes.count ? last_ns(steps, place)
								       : UINT64_MAX;

		if (ns >= oldest_ns)
			continue;
		oldest = place;
		oldest_ns = ns;
	}
	if (!oldest)
		return false;
	let_go(steps, oldest); /* but stays in the list: it is not told of again */
	if (!steps->crowded)
		log_warning("%s was compiled more often than there are debug registers (4): calls "
			    "of what ran least lately are not seen",
			steps->wish.symbol);
	steps->crowded = true;
	return true;
}

static int watch_place(struct step_watch *steps, struct watched_place *place, uint64_t cookie)
{
	const struct gc_watched_place key = {
		.pid = (uint32_t)place->pid, .address = place->address};
	const struct gc_watched_step step = {.cookie = cookie};
	int r = bpf_map__update_elem(steps->programs->bpf->maps.watched_steps, &key, sizeof(key),
		&step, sizeof(step), BPF_ANY);

	if (!r)
		r = watch_threads(steps, place);
	if (r)
		let_go(steps, place);
	return r;
}

/*
 * Only if the user has said so. A program that was watched by execution breakpoints has been seen to end by a SIGTRAP that
 * the kernel had sent it, as it did without gctrace (Linux 6.18.44, an Intel Xeon under a hypervisor).
 */
static bool may_watch(struct step_watch *steps, pid_t pid, const struct step_at *at)
{
	if (getenv("GCTRACE_DEBUG_REGISTERS"))
		return true;
	if (!steps->refused)
		log_warning(
			"%s of process %d is in memory, where only a debug register sees its calls; "
			"such a register can end the program (SIGTRAP). If that may be: "
			"GCTRACE_DEBUG_REGISTERS=1",
			at->symbol, pid);
	steps->refused = true;
	return false;
}

static void watch(struct step_watch *steps, pid_t pid, const struct step_at *at)
{
	struct signal_plan plan = {.kept = true};
	struct watched_place *place;
	int index, r;

	for (size_t i = 0; i < steps->watched.count; i++)
		if (steps->watched.items[i].pid == pid &&
			steps->watched.items[i].address == at->address)
			return;
	snprintf(plan.name, sizeof(plan.name), "%s", steps->wish.name);
	snprintf(plan.detail, sizeof(plan.detail), "%.128s in memory, by a debug register",
		at->symbol);
	index = step_get_signal(steps, &plan);
	place = index < 0 ? NULL : vec_add(&steps->watched);
	if (!place)
		return;
	*place = (struct watched_place){.pid = pid, .address = at->address};
	r = watch_place(steps, place, GC_STEP_COOKIE(index, 0, GC_KEY_NONE, 0, 0));
	if (r == -ENOSPC && make_room(steps, pid))
		r = watch_place(steps, place, GC_STEP_COOKIE(index, 0, GC_KEY_NONE, 0, 0));
	steps->unprobed += r < 0 && r != -ESRCH;
	if (r && r != -ESRCH)
		log_warning("%s of process %d cannot be watched: %s", at->symbol, pid,
			strerror(-r));
	else
		log_debug("%s of process %d", plan.detail, pid);
	step_describe(steps, (size_t)index, r ? NULL : plan.detail);
}

/* A file's, in every process that maps it. */
static void probe(struct step_watch *steps, pid_t pid, const struct step_at *at)
{
	struct signal_plan plan = {
		.kept = true, .site_count = 1, .sites = {{.offset = at->offset}}};
	const char *base = strrchr(at->map->path, '/');
	uint64_t key = u64_mix(u64_mix(at->map->device) ^ at->map->inode) ^ at->offset;
	char path[PATH_MAX];
	int fd, *slot;

	if (u64map_get(&steps->told, key) || u64map_put(&steps->told, key, 1))
		return;
	fd = proc_map_open(pid, at->map, path, sizeof(path));
	slot = fd < 0 ? NULL : vec_add(&steps->fds);
	if (!slot) {
		steps->unprobed++;
		if (fd >= 0)
			close(fd);
		return;
	}
	*slot = fd;
	snprintf(plan.name, sizeof(plan.name), "%s", steps->wish.name);
	snprintf(plan.detail, sizeof(plan.detail), "%.64s: %.128s", base ? base + 1 : at->map->path,
		at->symbol);
	step_attach(steps, fd, &plan);
}

void steps_probe_at(struct step_watch *steps, pid_t pid, const struct step_at *at)
{
	if (!steps->on || steps->feed->recording.steps_until_ns)
		return;
	if (at->map)
		probe(steps, pid, at);
	else if (may_watch(steps, pid, at))
		watch(steps, pid, at);
	else
		steps->unprobed++;
}

void steps_near(struct step_watch *steps, const char *name)
{
	signal_near_note(&steps->near, steps->wish.symbol, name);
}
