/* Runtimes of a process: its images attached, the recording's runtime table, the interpreters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mem.h"
#include "trace_priv.h"

void trace_tell_runtime(struct trace *trace, const struct runtime *runtime)
{
	int r = trace->sink.runtime ? trace->sink.runtime(trace->sink.arg, runtime) : 0;

	trace_note_sink(trace, r);
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

int trace_find_image(const struct trace *trace, pid_t pid, const struct proc_map *map)
{
	for (uint32_t i = 0; i < trace->image_count; i++) {
		const struct image *image = &trace->images[i];

		if (image->plan.inode == map->inode && image->plan.device == map->device &&
			(!image->plan.per_process || image->pid == pid))
			return (int)i;
	}
	return -1;
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
		log_warning(
			"libraries that %d and others load later will not be seen: their linker "
			"cannot be probed: %s",
			pid, strerror(-r));
		trace->unprobed_linkers++;
	}
	for (size_t i = 0; i < maps->maps.count; i++) {
		const char *base = strrchr(maps->maps.items[i].path, '/');

		if (!base || strncmp(base, "/ld-", 4))
			continue;
		known = vec_add(&trace->hooks);
		if (known)
			*known = (struct known_file){
				maps->maps.items[i].device, maps->maps.items[i].inode};
		return;
	}
}

int trace_attach_found(struct trace *trace, pid_t pid, const struct probe_image *found,
	struct err *err)
{
	int index = trace_find_image(trace, pid, &found->map);

	return index < 0 ? attach_image(trace, pid, found, err) : index;
}

void trace_forget_image(struct trace *trace, pid_t pid)
{
	for (uint32_t i = 0; i < trace->image_count; i++)
		if (trace->images[i].plan.per_process && trace->images[i].pid == pid) {
			trace_detach(&trace->images[i]);
			trace->images[i].pid = -1;
		}
}

void trace_disown_image(struct trace *trace, pid_t pid)
{
	for (uint32_t i = 0; i < trace->image_count; i++)
		if (trace->images[i].plan.per_process && trace->images[i].pid == pid)
			trace->images[i].pid = -1;
}
