/* A look at a process: its maps → images attached, a target, books opened; when to look again. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "kernel.h"
#include "log.h"
#include "trace_priv.h"

/* Index + 1 of the image that a watchpoint of @pid watches; 0: none. */
static uint32_t watched_image(const struct trace *trace, pid_t pid)
{
	for (uint32_t i = 0; i < trace->image_count; i++)
		if (trace->images[i].plan.per_process && trace->images[i].pid == pid)
			return i + 1;
	return 0;
}

/* What BPF follows and is no target any more has ended: its number may be a stranger's by now. */
static int keep_target(struct trace *trace, pid_t pid, bool add, struct err *err)
{
	uint32_t key = (uint32_t)pid;
	const uint32_t watched = watched_image(trace, pid);
	struct gc_target target = {.space = key, .watched = watched};
	int r = 0;

	if (!bpf_map__lookup_elem(trace->programs.bpf->maps.targets, &key, sizeof(key), &target,
		    sizeof(target), 0)) {
		if (!watched || target.watched == watched)
			return 0; /* a forked child's is its parent's */
		target.watched = watched;
		bpf_map__update_elem(trace->programs.bpf->maps.targets, &key, sizeof(key), &target,
			sizeof(target), BPF_EXIST);
		return 0;
	}
	if (add)
		r = bpf_map__update_elem(trace->programs.bpf->maps.targets, &key, sizeof(key),
			&target, sizeof(target), BPF_NOEXIST);
	if (r && r != -EEXIST)
		return err_set(err, -r, "process %d cannot be made a target: %s%s", pid,
			strerror(-r), r == -E2BIG ? "; there are too many" : "");
	/* What ended before it was a target tells nobody. */
	if (add && !proc_has_exited(pid))
		return 0;
	bpf_map__delete_elem(trace->programs.bpf->maps.targets, &key, sizeof(key), 0);
	return err_set(err, ESRCH, "process %d ended while gctrace attached to it", pid);
}

static int tell_found(struct trace *trace, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map, struct err *err)
{
	const struct capture *capture = trace_capture(trace, image);

	return capture->ops->found
		       ? capture->ops->found(capture->state, pid, process, image, map, err)
		       : 0;
}

/* @add: it is no target yet, and what runtimes it has have collected before. */
static int look_at(struct trace *trace, pid_t pid, uint32_t process, const struct proc_maps *maps,
	bool add, struct err *err)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	int indexes[PROBE_MAX_IMAGES], r = 0, kept;
	bool fresh = false; /* a file of it was not probed yet */
	size_t count = probe_find_known(&trace->known, pid, maps, found, ARRAY_SIZE(found));

	if (!count)
		r = probe_foreign(pid, maps, err);
	for (size_t i = 0; i < count; i++) {
		fresh |= trace_find_image(trace, pid, &found[i].map) < 0;
		indexes[i] = trace_attach_found(trace, pid, &found[i], err);
		if (indexes[i] < 0)
			r = indexes[i];
		else
			trace_check_later(trace, (uint32_t)indexes[i], pid, &found[i].map);
	}
	trace_hook_linker(trace, pid, maps);
	for (size_t i = 0; add && i < count; i++)
		if (indexes[i] >= 0)
			u64map_put(&trace->aged, trace_runtime_key(process, (uint32_t)indexes[i]),
				1);
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= 0) {
			int told = tell_found(trace, pid, process, (uint32_t)indexes[i],
				&found[i].map, err);

			r = told ? told : r;
		}
	/* Only now that every probe is in place do its collections count. */
	kept = keep_target(trace, pid, add, err);
	if (kept) {
		trace->unseen_programs +=
			fresh && !add; /* what it did before its probes nobody can ask */
		return kept;
	}
	trace_captures_targeted(trace, pid);
	trace_open_books(trace, pid, process, found, indexes, count);
	return r ? r : (int)count;
}

#define LOOK_DUE 1ull /* low bit of trace.looks' values: its maps have changed since */

#define LOOK_PAUSE_NS 50000000ull /* between two looks at a process, at most */
/* What a look took, this often: the longer the maps, the more seldom, and no program keeps us busy. */
#define LOOK_PAUSE_FOUND   9 /* it has a runtime, probed or not: further ones can wait a moment */
#define LOOK_PAUSE_WITHOUT 1

/* A look that began at @start_ns has ended. */
static void note_look(struct trace *trace, pid_t pid, bool found, uint64_t start_ns)
{
	uint64_t now = now_ns();
	uint64_t pause = (now - start_ns) * (found ? LOOK_PAUSE_FOUND : LOOK_PAUSE_WITHOUT);

	if (pause > LOOK_PAUSE_NS)
		pause = LOOK_PAUSE_NS;
	u64map_put(&trace->looks, (uint64_t)pid, (now + pause) & ~LOOK_DUE);
}

void trace_forget_looks(struct trace *trace, pid_t pid)
{
	const uint64_t *last = u64map_get(&trace->looks, (uint64_t)pid);

	if (last && *last & LOOK_DUE)
		trace->looks_due--;
	u64map_remove(&trace->looks, (uint64_t)pid);
}

/* A program that imports libraries changes its maps hundreds of times in a second. */
void trace_maps_changed(struct trace *trace, pid_t pid)
{
	uint64_t *next = u64map_get(&trace->looks, (uint64_t)pid);

	if (!next || now_ns() >= *next) {
		trace_look_again(trace, pid);
		return;
	}
	if (!(*next & LOOK_DUE))
		trace->looks_due++;
	*next |= LOOK_DUE;
	trace_wake_at(trace, *next);
}

void trace_looks_turn(struct trace *trace)
{
	trace_woken(trace);
	for (size_t i = 0; trace->looks_due && i < trace->looks.capacity; i++) {
		const struct u64map_slot *slot = &trace->looks.slots[i];

		if (!trace->looks.used[i] || !(slot->value & LOOK_DUE))
			continue;
		if (now_ns() >= slot->value)
			trace_look_again(trace, (pid_t)slot->key);
		else
			trace_wake_at(trace, slot->value);
	}
}

int trace_look(struct trace *trace, pid_t pid, bool add, struct err *err)
{
	uint32_t process = trace_process(trace, pid);
	uint64_t start_ns = now_ns();
	struct proc_maps maps = {};
	int r;

	if (!process)
		return err_set(err, ENOMEM, "out of memory");
	trace_forget_looks(trace, pid);
	r = proc_maps_read(pid, &maps);
	if (r)
		return kernel_explain_maps(pid, r, err);
	r = look_at(trace, pid, process, &maps, add, err);
	/* After the collectors' probes: what a step is can wait, a collection cannot. */
	if (r != -ESRCH)
		trace_steps_look(trace, pid, &maps);
	proc_maps_release(&maps);
	if (r != -ESRCH)
		note_look(trace, pid, r, start_ns);
	return r;
}

void trace_look_again(struct trace *trace, pid_t pid)
{
	uint32_t process = trace_process(trace, pid);
	struct err err = {};
	int r = trace_look(trace, pid, false, &err);

	if (r >= 0)
		return;
	log_debug("%s", err.text);
	if (r == -ESRCH || r == -ENOEXEC || process == trace->last_unprobed)
		return;
	trace->last_unprobed = process;
	trace->unprobed++;
}
