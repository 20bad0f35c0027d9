/* A look at a process: its maps → images attached, a target, books opened; when to look again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "kernel.h"
#include "log.h"
#include "trace_priv.h"

static int tell_found(struct trace *trace, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map, struct err *err)
{
	const struct capture_ops *ops = trace->images.items[image].plan.ops->capture;
	const struct runtime_part *part = captures_of(&trace->captures, ops);

	return ops->found ? ops->found(part->state, pid, process, image, map, err) : 0;
}

/* The runtimes that a look found in a process, and what became of them. */
struct finds {
	struct probe_image found[PROBE_MAX_IMAGES];
	int indexes[PROBE_MAX_IMAGES]; /* of their images; negative: it is not traced */
	size_t count, refused;
	int error;	/* of the last refusal; -ESRCH: the process has ended */
	struct err why; /* each refusal's sentence */
	size_t fresh;	/* files that were not probed yet */
};

static void refuse(struct finds *finds, size_t i, int error, const struct err *why)
{
	size_t used = strlen(finds->why.text);

	finds->indexes[i] = error;
	if (finds->error != -ESRCH)
		finds->error = error;
	snprintf(finds->why.text + used, sizeof(finds->why.text) - used, "%s%s",
		finds->refused++ ? "; " : "", why->text);
}

static void attach_finds(struct trace *trace, pid_t pid, struct finds *finds)
{
	for (size_t i = 0; i < finds->count; i++) {
		const struct probe_image *found = &finds->found[i];
		struct err why = {};
		int index;

		finds->fresh += images_find(&trace->images, pid, &found->map) < 0;
		index = images_attach_found(&trace->images, pid, found, &why);
		finds->indexes[i] = index;
		if (index < 0)
			refuse(finds, i, index, &why);
		else
			images_check_later(&trace->images, (uint32_t)index, pid, &found->map);
	}
}

static void tell_finds(struct trace *trace, pid_t pid, uint32_t process, struct finds *finds)
{
	for (size_t i = 0; i < finds->count; i++) {
		struct err why = {};
		int r;

		if (finds->indexes[i] < 0)
			continue;
		r = tell_found(trace, pid, process, (uint32_t)finds->indexes[i],
			&finds->found[i].map, &why);
		if (r)
			refuse(finds, i, r, &why);
	}
}

/* How many runtimes of @pid are known to be beyond probing. */
static size_t count_unprobed(const struct looks *looks, pid_t pid)
{
	const uint64_t *known = u64map_get(&looks->blind, (uint64_t)pid);

	return known ? *known : 0;
}

#define MOST_TOLD 16 /* processes with a runtime that is not traced, each named in a warning */

/* Of the runtimes of @pid so many cannot be probed: a drop for each, at the first look that finds it. */
static void note_unprobed(struct trace *trace, pid_t pid, size_t count, const struct err *why)
{
	struct looks *looks = &trace->looks;
	size_t before = count_unprobed(looks, pid);
	bool again = !strcmp(looks->told.text, why->text);

	if (count <= before)
		return;
	u64map_put(&looks->blind, (uint64_t)pid, count);
	looks->unprobed += count - before;
	looks->told = *why;
	if (!looks->unprobed_why[0])
		snprintf(looks->unprobed_why, sizeof(looks->unprobed_why),
			"pauses of process %d are not known: %s", pid, why->text);
	if (again || looks->unprobed > MOST_TOLD)
		log_debug("pauses of process %d are not known: %s", pid, why->text);
	else
		log_warning("pauses of process %d are not known: %s", pid, why->text);
}

/* @add: it is no target yet, and what runtimes it has have collected before. */
static int look_at(struct trace *trace, pid_t pid, uint32_t process, const struct proc_maps *maps,
	bool add, struct err *err)
{
	struct finds finds = {};
	int kept;

	finds.count = probe_find_known(&trace->looks.known, pid, maps, finds.found,
		ARRAY_SIZE(finds.found));
	if (!finds.count)
		finds.error = probe_foreign(pid, maps, &finds.why);
	attach_finds(trace, pid, &finds);
	linkers_hook(&trace->linkers, pid, maps);
	for (size_t i = 0; add && i < finds.count; i++)
		if (finds.indexes[i] >= 0)
			runtimes_age(&trace->runtimes, process, (uint32_t)finds.indexes[i]);
	tell_finds(trace, pid, process, &finds);
	/* Only now that every probe is in place do its collections count. */
	kept = targets_keep(&trace->targets, pid, add, images_watched(&trace->images, pid), err);
	if (!kept && finds.error == -ESRCH) {
		kept = finds.error;
		*err = finds.why;
	}
	if (kept) {
		/* what it did before its probes nobody can ask; of what cannot be probed, that was said */
		trace->looks.unseen += !add && finds.fresh > count_unprobed(&trace->looks, pid);
		return kept;
	}
	captures_targeted(&trace->captures, pid);
	ledger_open(&trace->ledger, pid, process, finds.found, finds.indexes, finds.count);
	if (finds.error && finds.refused == finds.count) {
		*err = finds.why;
		return finds.error;
	}
	if (finds.refused)
		note_unprobed(trace, pid, finds.refused, &finds.why);
	return (int)(finds.count - finds.refused);
}

#define LOOK_DUE 1ull /* low bit of looks.next's values: its maps have changed since */
#define LOOK_NEVER                                                                                 \
	(UINT64_MAX & ~LOOK_DUE) /* it has ended: what its maps did before is all the same */

#define LOOK_PAUSE_NS 50000000ull /* between two looks at a process, at most */
/*
 * How many times as long as a look took we wait for the next: no program, however long its maps, keeps us
 * busy.
 */
#define LOOK_PAUSE_FOUND   9 /* it has a runtime, probed or not: further ones can wait a moment */
#define LOOK_PAUSE_WITHOUT 1

/* A look that began at @start_ns has ended. */
static void note_look(struct trace *trace, pid_t pid, bool found, uint64_t start_ns)
{
	uint64_t now = now_ns();
	uint64_t pause = (now - start_ns) * (found ? LOOK_PAUSE_FOUND : LOOK_PAUSE_WITHOUT);

	if (pause > LOOK_PAUSE_NS)
		pause = LOOK_PAUSE_NS;
	u64map_put(&trace->looks.next, (uint64_t)pid, (now + pause) & ~LOOK_DUE);
}

void trace_forget_looks(struct trace *trace, pid_t pid)
{
	const uint64_t *last = u64map_get(&trace->looks.next, (uint64_t)pid);

	if (last && *last & LOOK_DUE)
		trace->looks.due--;
	u64map_remove(&trace->looks.next, (uint64_t)pid);
}

/* A program that imports libraries changes its maps hundreds of times in a second. */
void trace_maps_changed(struct trace *trace, pid_t pid)
{
	uint64_t *next = u64map_get(&trace->looks.next, (uint64_t)pid);

	if (!next || now_ns() >= *next) {
		trace_look_again(trace, pid);
		return;
	}
	if (*next == LOOK_NEVER)
		return;
	if (!(*next & LOOK_DUE))
		trace->looks.due++;
	*next |= LOOK_DUE;
	wake_at(&trace->wake, *next);
}

void trace_looks_turn(struct trace *trace)
{
	wake_clear(&trace->wake);
	for (size_t i = 0; trace->looks.due && i < trace->looks.next.capacity; i++) {
		const struct u64map_slot *slot = &trace->looks.next.slots[i];

		if (!trace->looks.next.used[i] || !(slot->value & LOOK_DUE))
			continue;
		if (now_ns() >= slot->value)
			trace_look_again(trace, (pid_t)slot->key);
		else
			wake_at(&trace->wake, slot->value);
	}
}

void trace_find_steps(struct trace *trace, pid_t pid)
{
	const struct runtime_ops *asked = captures_asked(trace->options.step_wish);
	struct proc_pids list = {};

	if (!trace->steps.on || !asked)
		return;
	if (pid) {
		captures_find_step(&trace->captures, asked, pid, trace->steps.wish.symbol);
		return;
	}
	processes_list(&trace->processes, &list);
	for (size_t i = 0; i < list.pids.count; i++)
		captures_find_step(&trace->captures, asked, list.pids.items[i],
			trace->steps.wish.symbol);
	vec_free(&list.pids);
}

int trace_look(struct trace *trace, pid_t pid, bool add, struct err *err)
{
	uint32_t process = processes_get(&trace->processes, pid);
	uint64_t start_ns = now_ns();
	struct proc_maps maps = {};
	int r;

	if (!process)
		return err_set(err, ENOMEM, "out of memory");
	trace_forget_looks(trace, pid);
	r = proc_maps_read(pid, &maps);
	if (r)
		r = kernel_explain_maps(pid, r, err);
	else if (!maps.maps.count && !add)
		r = err_set(err, ESRCH, "process %d has ended", pid);
	else
		r = look_at(trace, pid, process, &maps, add, err);
	/* After the collectors' probes: what a step is can wait, a collection cannot. */
	if (r != -ESRCH) {
		gpu_watch_look(&trace->gpu, pid, process, &maps);
		if (gpu_watch_has(&trace->gpu, pid))
			driver_watch_over(&trace->driver, pid);
		else
			driver_watch_look(&trace->driver, pid, process, &maps);
		steps_look(&trace->steps, pid, &maps);
		trace_find_steps(trace, pid);
	}
	proc_maps_release(&maps);
	if (r != -ESRCH)
		note_look(trace, pid, r, start_ns);
	else if (!add && proc_has_no_memory(pid))
		u64map_put(&trace->looks.next, (uint64_t)pid, LOOK_NEVER);
	return r;
}

void trace_note_blind(struct trace *trace, pid_t pid, int error, const struct err *why)
{
	if (error == -ESRCH || error == -ENOEXEC)
		log_debug("%s", why->text);
	else
		note_unprobed(trace, pid, 1, why);
}

int trace_look_again(struct trace *trace, pid_t pid)
{
	struct err err = {};
	int r = trace_look(trace, pid, false, &err);

	if (r < 0)
		trace_note_blind(trace, pid, r, &err);
	return r;
}
