/* Runtimes of a process: its maps → images attached, the recording's runtime table, the books. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "kernel.h"
#include "log.h"
#include "mem.h"
#include "trace_priv.h"

void trace_tell_runtime(struct trace *trace, const struct runtime *runtime)
{
	int r = trace->sink.runtime ? trace->sink.runtime(trace->sink.arg, runtime) : 0;

	if (r < 0 && !trace->sink_error)
		trace->sink_error = r;
}

struct runtime *trace_runtime_by_id(struct trace *trace, uint32_t id)
{
	return (struct runtime *)recording_runtime(&trace->recording, id);
}

/* From when on a runtime's pauses are known: a forked child's from its fork, if it has its parent's. */
static uint64_t known_since(const struct trace *trace, uint32_t process, uint32_t image)
{
	const struct process *child = recording_process(&trace->recording, process);

	return child && trace_bequeathed(trace, process) >> image & 1 ? child->seen_ns : now_ns();
}

struct runtime *trace_runtime(struct trace *trace, uint32_t process, uint32_t image)
{
	const uint64_t *known = u64map_get(&trace->runtimes, trace_runtime_key(process, image));
	const struct probe_plan *plan = &trace->images[image].plan;
	struct runtime *runtime;

	if (known)
		return trace_runtime_by_id(trace, (uint32_t)*known);
	if (image >= trace->image_count)
		return NULL;
	runtime = vec_add(&trace->recording.runtimes);
	if (!runtime)
		return NULL;
	runtime->id = ++trace->runtime_ids;
	runtime->process = process;
	memcpy(runtime->kind, plan->kind, sizeof(runtime->kind));
	memcpy(runtime->version, plan->version, sizeof(runtime->version));
	memcpy(runtime->tier, plan->tier, sizeof(runtime->tier));
	runtime->path = strdup(plan->shown_path);
	runtime->detail = strdup(plan->detail);
	runtime->attached_ns = known_since(trace, process, image);
	if (u64map_put(&trace->runtimes, trace_runtime_key(process, image), runtime->id))
		return NULL;
	trace_tell_runtime(trace, runtime);
	return runtime;
}

/* The image attached for this mapped file (and, with a watchpoint, this process), or -1. */
static int find_image(const struct trace *trace, pid_t pid, const struct proc_map *map)
{
	for (uint32_t i = 0; i < trace->image_count; i++) {
		const struct image *image = &trace->images[i];

		if (image->plan.inode == map->inode && image->plan.device == map->device &&
			(!image->plan.per_process || image->pid == pid))
			return (int)i;
	}
	return -1;
}

bool trace_is_jvm(const struct trace *trace, uint32_t image)
{
	return trace->images[image].plan.ops == &probe_hotspot;
}

/* Attaches by the best tier that the file allows and the kernel grants. */
static int attach_image(struct trace *trace, pid_t pid, const struct probe_image *found,
	struct err *err)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	struct err refused = {};
	int r;

	if (!plan)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t tier = 0;; tier++) {
		r = probe_plan(pid, found, trace->options.only_tier, &tier, plan, err);
		if (r) {
			if (refused.text[0])
				err_prefix(err, "%s", refused.text);
			break;
		}
		if (plan->per_process && !pid) {
			r = err_set(err, ENOENT, "%s can be probed in a process only",
				plan->shown_path);
			break;
		}
		r = trace_attach(trace, plan, pid, err);
		if (r >= 0 || r == -EPERM)
			break;
		log_warning("%s; trying another way", err->text);
		refused = *err;
	}
	free(plan);
	return r;
}

/* From here on, every collection of the main interpreter must be seen. */
static void open_books(struct trace *trace, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map)
{
	struct begun_pause begun;
	struct probe_books books;

	if (probe_books(pid, map, &trace->images[image].plan, &books))
		return;
	if (!u64map_get(&trace->aged, trace_runtime_key(process, image))) {
		trace_early_open(trace, process, image, &books);
		return;
	}
	if (!books_open(&trace->books, process, books.interpreter, books.counts))
		return; /* its maps have changed: what was missed until now is missed */
	if (!books.collecting)
		return;
	books_expect(&trace->books, process, books.interpreter);
	begun = (struct begun_pause){
		.process = process,
		.runtime = trace_runtime(trace, process, image)->id,
		.image = image,
		.pid = pid,
		.map = *map,
		.books = books,
		.start_ns = now_ns(),
	};
	begun.map.path = NULL;
	begun.seen_ns = begun.start_ns;
	trace_begun_add(trace, &begun);
}

void trace_hook_linker(struct trace *trace, pid_t pid, const struct proc_maps *maps)
{
	char path[PATH_MAX];
	uint64_t offset;
	struct known_file *known;

	int r;

	for (size_t i = 0; i < maps->maps.count; i++)
		for (size_t j = 0; j < trace->hooks.count; j++)
			if (trace->hooks.items[j].inode == maps->maps.items[i].inode &&
				trace->hooks.items[j].device == maps->maps.items[i].device)
				return;
	r = probe_linker_hook(pid, maps, path, sizeof(path), &offset);
	if (r && r != -EPERM && r != -EACCES)
		return; /* a static program, or a stripped linker: only exec tells of new maps */
	if (!r)
		r = trace_attach_hook(trace, path, offset);
	if (r) {
		log_warning("libraries that %d and others load later will not be seen: their linker "
			"cannot be probed: %s", pid, strerror(-r));
		trace->unprobed_linkers++;
	}
	for (size_t i = 0; i < maps->maps.count; i++) {
		const char *base = strrchr(maps->maps.items[i].path, '/');

		if (!base || strncmp(base, "/ld-", 4))
			continue;
		known = vec_add(&trace->hooks);
		if (known)
			*known = (struct known_file){maps->maps.items[i].device,
				maps->maps.items[i].inode};
		return;
	}
}

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

	if (!bpf_map__lookup_elem(trace->bpf->maps.targets, &key, sizeof(key), &target,
		    sizeof(target), 0)) {
		if (!watched || target.watched == watched)
			return 0; /* a forked child's is its parent's */
		target.watched = watched;
		bpf_map__update_elem(trace->bpf->maps.targets, &key, sizeof(key), &target,
			sizeof(target), BPF_EXIST);
		return 0;
	}
	if (add)
		r = bpf_map__update_elem(trace->bpf->maps.targets, &key, sizeof(key), &target,
			sizeof(target), BPF_NOEXIST);
	if (r && r != -EEXIST)
		return err_set(err, -r, "process %d cannot be made a target: %s%s", pid, strerror(-r),
			r == -E2BIG ? "; there are too many" : "");
	/* What ended before it was a target tells nobody. */
	if (add && !proc_has_exited(pid))
		return 0;
	bpf_map__delete_elem(trace->bpf->maps.targets, &key, sizeof(key), 0);
	return err_set(err, ESRCH, "process %d ended while gctrace attached to it", pid);
}

int trace_attach_found(struct trace *trace, pid_t pid, const struct probe_image *found,
	struct err *err)
{
	int index = find_image(trace, pid, &found->map);

	return index < 0 ? attach_image(trace, pid, found, err) : index;
}

static void open_all_books(struct trace *trace, pid_t pid, uint32_t process,
	const struct probe_image *found, const int *indexes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= 0 && trace_runtime(trace, process, (uint32_t)indexes[i]))
			open_books(trace, pid, process, (uint32_t)indexes[i], &found[i].map);
}

/* @add: it is no target yet, and what runtimes it has have collected before. */
static int look_at(struct trace *trace, pid_t pid, uint32_t process, const struct proc_maps *maps,
	bool add, struct err *err)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	int indexes[PROBE_MAX_IMAGES], r = 0, kept;
	size_t count = probe_find_known(&trace->known, pid, maps, found, ARRAY_SIZE(found));

	if (!count)
		r = probe_foreign(pid, maps, err);
	for (size_t i = 0; i < count; i++) {
		indexes[i] = trace_attach_found(trace, pid, &found[i], err);
		if (indexes[i] < 0)
			r = indexes[i];
		else
			trace_check_later(trace, (uint32_t)indexes[i], pid, &found[i].map);
	}
	trace_hook_linker(trace, pid, maps);
	for (size_t i = 0; add && i < count; i++)
		if (indexes[i] >= 0)
			u64map_put(&trace->aged,
				trace_runtime_key(process, (uint32_t)indexes[i]), 1);
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= 0 && trace_is_jvm(trace, (uint32_t)indexes[i])) {
			int jvm = trace_jvm_add(trace, pid, process, (uint32_t)indexes[i],
				&found[i].map, err);

			r = jvm ? jvm : r;
		}
	/* Only now that every probe is in place do its collections count. */
	kept = keep_target(trace, pid, add, err);
	if (kept)
		return kept;
	trace_jvm_settle(trace, pid);
	open_all_books(trace, pid, process, found, indexes, count);
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

void trace_forget_image(struct trace *trace, pid_t pid)
{
	for (uint32_t i = 0; i < trace->image_count; i++)
		if (trace->images[i].plan.per_process && trace->images[i].pid == pid) {
			trace_detach(&trace->images[i]);
			trace->images[i].pid = -1;
		}
}

/* Reads the counters of @runtime, an instance of image @index, into *ret. */
static bool read_books(struct trace *trace, const struct runtime *runtime, uint32_t index,
	struct closing_books *ret)
{
	const struct process *process = recording_process(&trace->recording, runtime->process);
	struct proc_maps maps = {};
	bool done = false;

	if (!process || process->exit_ns || proc_maps_read(process->pid, &maps))
		return false;
	for (size_t i = 0; !done && i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		if (map->exec && find_image(trace, process->pid, map) == (int)index)
			done = !(trace_is_jvm(trace, index)
				? trace_jvm_books(trace, process->pid, &ret->books)
				: probe_books(process->pid, map, &trace->images[index].plan,
					&ret->books));
	}
	proc_maps_release(&maps);
	ret->runtime = runtime->id;
	ret->read_ns = now_ns();
	return done;
}

void trace_read_books(struct trace *trace)
{
	for (size_t i = 0; i < trace->recording.runtimes.count; i++) {
		const struct runtime *runtime = &trace->recording.runtimes.items[i];

		for (uint32_t image = 0; image < trace->image_count; image++) {
			const uint64_t *id = u64map_get(&trace->runtimes,
				trace_runtime_key(runtime->process, image));
			struct closing_books books, *slot;

			if (!id || *id != runtime->id || !read_books(trace, runtime, image, &books))
				continue;
			slot = vec_add(&trace->closing);
			if (slot)
				*slot = books;
		}
	}
}

void trace_close_books(struct trace *trace)
{
	for (size_t i = 0; i < trace->closing.count; i++) {
		const struct closing_books *closing = &trace->closing.items[i];
		const struct probe_books *books = &closing->books;
		struct runtime *runtime = trace_runtime_by_id(trace, closing->runtime);

		if (!runtime)
			continue;
		runtime->missed += books_settle(&trace->books, runtime->process,
			books->interpreter, books->counts);
	}
	for (size_t i = 0; i < trace->recording.runtimes.count; i++)
		trace_tell_runtime(trace, &trace->recording.runtimes.items[i]);
}

uint64_t trace_books_owner(const struct trace *trace, const struct event *event)
{
	return trace->images[event->pause.image].plan.layout.runtime_gc ? 0
									: event->pause.interpreter;
}

int32_t trace_interpreter(struct trace *trace, uint32_t process, pid_t pid, uint32_t image,
	uint64_t address)
{
	struct interpreter *known;
	int64_t number = UNKNOWN;

	if (!address)
		return UNKNOWN;
	for (size_t i = trace->interpreters.count; i--;) {
		known = &trace->interpreters.items[i];
		if (known->process == process && known->address == address)
			return known->number;
	}
	if (mem_read(pid, address + trace->images[image].plan.interp_id, &number, sizeof(number)) ||
		number < 0 || number > INT32_MAX)
		return UNKNOWN; /* gone: asked again next time */
	known = vec_add(&trace->interpreters);
	if (known)
		*known = (struct interpreter){process, address, (int32_t)number};
	return (int32_t)number;
}

void trace_inherit(struct trace *trace, uint32_t parent, uint32_t child)
{
	size_t interpreters = trace->interpreters.count;

	books_fork(&trace->books, parent, child);
	for (uint32_t image = 0; image < trace->image_count; image++)
		/* A forked JVM has no VM Thread: all that it does is exec. */
		if (!trace->images[image].plan.per_process && !trace_is_jvm(trace, image) &&
			u64map_get(&trace->runtimes, trace_runtime_key(parent, image)))
			trace_bequeath(trace, child, 1ull << image);
	trace_bequeath(trace, child, trace_bequeathed(trace, parent));
	for (uint32_t image = 0; image < trace->image_count; image++)
		if (u64map_get(&trace->aged, trace_runtime_key(parent, image)))
			u64map_put(&trace->aged, trace_runtime_key(child, image), 1);
	for (size_t i = 0; i < interpreters; i++) {
		struct interpreter *slot;

		if (trace->interpreters.items[i].process != parent)
			continue;
		slot = vec_add(&trace->interpreters);
		if (slot) {
			*slot = trace->interpreters.items[i];
			slot->process = child;
		}
	}
}
