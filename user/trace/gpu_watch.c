/* A process's maps → its CUPTI shims, probed in it alone: the semaphore of any other process stays down. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "gc_wire.h"
#include "gctrace.skel.h"
#include "gpu_watch.h"
#include "log.h"

static struct gpu_process *find(const struct gpu_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->processes.count; i++)
		if (watch->processes.items[i].pid == pid)
			return &watch->processes.items[i];
	return NULL;
}

static bool is_probed(const struct gpu_process *process, const struct proc_map *map)
{
	for (size_t i = 0; process && i < process->probes.count; i++)
		if (process->probes.items[i].device == map->device &&
			process->probes.items[i].inode == map->inode)
			return true;
	return false;
}

bool gpu_watch_has(const struct gpu_watch *watch, pid_t pid)
{
	return find(watch, pid);
}

/* What is known of the file open as @fd; NULL: memory is out. */
static const struct gpu_file *examine(struct gpu_watch *watch, int fd, const struct proc_map *map)
{
	struct gpu_file *file;

	for (size_t i = 0; i < watch->files.count; i++)
		if (watch->files.items[i].device == map->device &&
			watch->files.items[i].inode == map->inode)
			return &watch->files.items[i];
	file = vec_add(&watch->files);
	if (!file)
		return NULL;
	file->device = map->device;
	file->inode = map->inode;
	file->usable = !gpu_shim_plan(dup(fd), map->path, &file->plan, &watch->why);
	return file;
}

static int attach(struct gpu_watch *watch, pid_t pid, const struct proc_map *map,
	struct uprobe *ret)
{
	const struct gpu_file *file;
	char path[PATH_MAX];
	_cleanup_close_ int fd = proc_map_open(pid, map, path, sizeof(path));
	struct uprobe_place place = {.path = path, .pid = pid};
	int r = fd < 0 ? fd : 0;

	if (r)
		return err_set(&watch->why, -r, "%s cannot be read: %s", map->path, strerror(-r));
	file = examine(watch, fd, map);
	if (!file)
		return err_set(&watch->why, ENOMEM, "out of memory");
	if (!file->usable)
		return -ENOEXEC;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	place.offset = file->plan.offset;
	place.semaphore = file->plan.semaphore;
	place.cookie = file->plan.cookie;
	r = uprobe_attach(watch->programs->bpf->progs.on_gpu, &place, ret);
	return r ? err_set(&watch->why, -r, "%s cannot be probed: %s", map->path, strerror(-r)) : 0;
}

/* Notes the probe, after which everything is seen; or one that failed, and is not tried again. */
static void note(struct gpu_watch *watch, pid_t pid, uint32_t id, const struct proc_map *map,
	struct uprobe *uprobe)
{
	struct gpu_process *process = find(watch, pid);
	struct gpu_probe *probe;

	if (!process) {
		process = vec_add(&watch->processes);
		if (!process) {
			uprobe_detach(uprobe);
			return;
		}
		process->pid = pid;
		process->process = id;
	}
	probe = vec_add(&process->probes);
	if (!probe) {
		uprobe_detach(uprobe);
		return;
	}
	*probe = (struct gpu_probe){map->device, map->inode, *uprobe};
	process->attached_ns = now_ns();
	gpu_tids_begin(watch, process);
}

void gpu_watch_look(struct gpu_watch *watch, pid_t pid, uint32_t process,
	const struct proc_maps *maps)
{
	for (size_t i = 0; watch->on && i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		struct uprobe uprobe = {};
		int r;

		if (!map->exec || !gpu_shim_likely(map->path) || is_probed(find(watch, pid), map))
			continue;
		r = attach(watch, pid, map, &uprobe);
		if (r == -ESRCH || r == -ENOENT)
			continue; /* it has ended, or is about to */
		if (r)
			log_warning("what the GPUs of process %d do is not known: %s", pid,
				watch->why.text);
		else
			log_debug("%s of process %d: gctrace:gpu", map->path, pid);
		watch->unprobed += !!r;
		watch->attached += !r;
		note(watch, pid, process, map, &uprobe);
	}
}

/* Of threads of @pid, or of all (0), what they have lost and could not say. */
static void take_losses(struct gpu_watch *watch, pid_t pid)
{
	const struct bpf_map *map = watch->programs->bpf->maps.gpu_losses;
	struct gc_gpu_loss loss;
	uint64_t ids, next;
	bool more = !bpf_map__get_next_key(map, NULL, &ids, sizeof(ids));

	while (more) {
		struct gpu_process *process = find(watch, (pid_t)(ids >> 32));

		more = !bpf_map__get_next_key(map, &ids, &next, sizeof(next));
		if (!pid || (pid_t)(ids >> 32) == pid) {
			if (process && !bpf_map__lookup_elem(map, &ids, sizeof(ids), &loss,
					       sizeof(loss), 0))
				gpu_lose(watch, process, loss.records, !loss.blind,
					(struct gpu_span){loss.start_ns, loss.end_ns});
			bpf_map__delete_elem(map, &ids, sizeof(ids), 0);
		}
		ids = next;
	}
}

static void let_go(struct gpu_process *process)
{
	for (size_t i = 0; i < process->probes.count; i++)
		uprobe_detach(&process->probes.items[i].uprobe);
	vec_free(&process->probes);
	u64map_release(&process->tids);
	process->strangers = 0;
}

static void release(struct gpu_process *process)
{
	let_go(process);
	vec_free(&process->uses);
	vec_free(&process->threads);
}

void gpu_watch_event(struct gpu_watch *watch, pid_t pid, const struct event *event)
{
	struct gpu_process *process = find(watch, pid);

	if (process && !gpu_facts_full(watch))
		gpu_take(watch, process, event);
}

void gpu_watch_over(struct gpu_watch *watch, pid_t pid, bool ended)
{
	struct gpu_process *process = find(watch, pid);

	if (!process)
		return;
	take_losses(watch, pid);
	gpu_tell(watch, process);
	if (!ended) {
		let_go(process);
		return;
	}
	release(process);
	*process = watch->processes.items[--watch->processes.count];
}

static void end(struct gpu_watch *watch)
{
	watch->on = false;
	for (size_t i = 0; i < watch->processes.count; i++)
		let_go(&watch->processes.items[i]);
	log_warning(
		"%llu facts about GPUs are recorded, and no more are: what they do later will not be known",
		(unsigned long long)watch->facts);
}

void gpu_watch_turn(struct gpu_watch *watch)
{
	for (size_t i = 0; i < watch->processes.count; i++)
		gpu_tell(watch, &watch->processes.items[i]);
	if (watch->on && gpu_facts_full(watch))
		end(watch);
}

void gpu_watch_finish(struct gpu_watch *watch)
{
	if (watch->processes.count)
		take_losses(watch, 0);
	gpu_watch_turn(watch);
}

void gpu_watch_close(struct gpu_watch *watch)
{
	for (size_t i = 0; i < watch->processes.count; i++)
		release(&watch->processes.items[i]);
	vec_free(&watch->processes);
	vec_free(&watch->files);
}
