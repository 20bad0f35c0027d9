/* A process's maps → probes on its CUDA driver; what these see → facts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "driver_watch.h"
#include "gc_wire.h"
#include "gctrace.skel.h"
#include "gpu_shim.h"
#include "log.h"

#define TURN_NS	       250000000
#define HIT_NS	       1000 /* what one costs on any machine, or less */
#define SINGLE_STEPPED 10
#define COST	       100   /* what they may cost of a processor's time, as its reciprocal */
#define BURST	       20000 /* hits that are tolerated at once */
#define MOST_FACTS     8000000
#define CALL_HITS      3 /* its entry, its return, and the record */

/* Handles of cuMemCreate() are no addresses. */
#define HANDLE (1ull << 63)

static struct driver_process *find(const struct driver_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->processes.count; i++)
		if (watch->processes.items[i].pid == pid)
			return &watch->processes.items[i];
	return NULL;
}

static void tell(struct driver_watch *watch, const struct gpu_fact *fact)
{
	watch->facts++;
	feed_gpu(watch->feed, fact);
}

static void tell_driver(struct driver_watch *watch, struct driver_process *process)
{
	struct gpu_fact fact = {
		.kind = GPU_FACT_DRIVER, .process = process->process, .device = GPU_DEVICE_NONE};

	fact.driver.attached_ns = process->attached_ns;
	fact.driver.let_go_ns = process->let_go_ns;
	fact.driver.failed = process->failed;
	process->changed = false;
	tell(watch, &fact);
}

static int attach_site(const struct driver_watch *watch, struct driver_process *process,
	const char *path, const struct driver_site *site)
{
	const struct gctrace_bpf *bpf = watch->programs->bpf;
	struct driver_probe *probe = vec_add(&process->probes);
	struct uprobe_place at = {.path = path, .offset = site->offset, .pid = process->pid};
	int r;

	if (!probe)
		return -ENOMEM;
	if (!site->kind) {
		probe->launches = true;
		return uprobe_attach(bpf->progs.on_driver_launch, &at, &probe->at_entry);
	}
	at.cookie = GC_DRIVER_COOKIE(gpu_driver_function(site->name), site->kind, site->address,
		site->bytes);
	at.at_return = true;
	r = uprobe_attach(bpf->progs.on_driver_return, &at, &probe->at_return);
	at.at_return = false;
	return r ? r : uprobe_attach(bpf->progs.on_driver_call, &at, &probe->at_entry);
}

static void let_go(struct driver_process *process, bool all)
{
	for (size_t i = 0; i < process->probes.count; i++) {
		struct driver_probe *probe = &process->probes.items[i];

		if (!all && !probe->launches)
			continue;
		uprobe_detach(&probe->at_entry);
		uprobe_detach(&probe->at_return);
	}
}

static int attach(struct driver_watch *watch, struct driver_process *process,
	const struct proc_map *map)
{
	struct driver_plan plan;
	char path[PATH_MAX];
	_cleanup_close_ int fd = proc_map_open(process->pid, map, path, sizeof(path));
	int r = fd < 0 ? err_set(&watch->why, -fd, "%s cannot be read: %s", map->path,
				 strerror(-fd))
		       : driver_plan(dup(fd), map->path, &plan, &watch->why);

	if (r)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	process->weight = 1;
	for (size_t i = 0; !r && i < plan.count; i++) {
		if (!plan.sites[i].kind && !watch->launches)
			continue;
		r = attach_site(watch, process, path, &plan.sites[i]);
		if (!plan.sites[i].kind && plan.sites[i].single_stepped)
			process->weight = SINGLE_STEPPED;
		if (r)
			err_set(&watch->why, -r, "%s of %s cannot be probed: %s",
				plan.sites[i].name, map->path, strerror(-r));
	}
	return r;
}

/* Not tried again if it failed: it stays listed. */
static void add(struct driver_watch *watch, pid_t pid, uint32_t id, const struct proc_map *map)
{
	struct driver_process *process = vec_add(&watch->processes);
	int r;

	if (!process)
		return;
	process->pid = pid;
	process->process = id;
	r = attach(watch, process, map);
	process->attached_ns = now_ns();
	if (!watch->launches)
		process->let_go_ns = process->attached_ns;
	if (!r) {
		watch->attached++;
		log_debug("%s of process %d: %zu functions probed", map->path, pid,
			process->probes.count);
		tell_driver(watch, process);
		return;
	}
	let_go(process, true);
	vec_free(&process->probes);
	if (r == -ESRCH || r == -ENOENT)
		return; /* it has ended; or is none */
	watch->unprobed++;
	log_warning("what process %d asks of its GPUs is not known: %s", pid, watch->why.text);
}

void driver_watch_look(struct driver_watch *watch, pid_t pid, uint32_t process,
	const struct proc_maps *maps)
{
	for (size_t i = 0; watch->on && i < maps->maps.count && !find(watch, pid); i++) {
		const struct proc_map *map = &maps->maps.items[i];

		if (map->exec && gpu_driver_likely(map->path))
			add(watch, pid, process, map);
	}
}

/* How much is freed at @key; 0: it was allocated before anything could be seen. */
static uint64_t size_of(struct driver_process *process, uint64_t key)
{
	const uint64_t *bytes = u64map_get(&process->sizes, key);
	uint64_t found = bytes ? *bytes : 0;

	u64map_remove(&process->sizes, key);
	return found;
}

/* cuMemCreate() and cuMemRelease() */
static bool has_handle(uint32_t function)
{
	const char *name = gpu_driver_functions[function];

	return !strcmp(name, "cuMemCreate") || !strcmp(name, "cuMemRelease");
}

void driver_watch_event(struct driver_watch *watch, const struct event *event)
{
	struct driver_process *process = find(watch, (pid_t)event->head.pid);
	struct gpu_fact fact = {.kind = GPU_FACT_DRIVER_CALL, .device = GPU_DEVICE_NONE};
	struct gpu_driver_call *call = &fact.driver_call;
	uint64_t key;

	if (!process || watch->facts >= MOST_FACTS)
		return;
	if (event->driver.function >= GPU_DRIVER_FUNCTIONS || event->driver.kind < GC_DRIVER_WAIT ||
		event->driver.kind > GC_DRIVER_FREE) {
		watch->bad++;
		return;
	}
	if (event->driver.failed) {
		process->failed++;
		process->changed = true;
		return;
	}
	key = event->driver.address | (has_handle(event->driver.function) ? HANDLE : 0);
	fact.process = process->process;
	*call = (struct gpu_driver_call){
		.start_ns = event->driver.start_ns,
		.end_ns = event->head.time_ns,
		.launches = event->driver.launches,
		.tid = event->head.tid,
		.kind = (enum gpu_driver_kind)event->driver.kind,
		.function = event->driver.function,
	};
	if (process->let_go_ns && call->start_ns >= process->let_go_ns)
		call->launches = GPU_NOT_COUNTED;
	if (call->kind == GPU_DRIVER_ALLOCATE) {
		call->bytes = event->driver.bytes < INT64_MAX ? event->driver.bytes : 0;
		u64map_put(&process->sizes, key, call->bytes);
	} else if (call->kind == GPU_DRIVER_FREE) {
		if (!event->driver.address)
			return; /* as free(NULL) */
		call->bytes = size_of(process, key);
	}
	tell(watch, &fact);
}

/* Where launches are not counted, a thread that waits stands for one that launches. */
static void tell_launcher(struct driver_watch *watch, const struct driver_process *process,
	uint64_t ids, const struct gc_driver_thread *thread)
{
	uint64_t launches = thread->launches;
	const uint64_t *told = u64map_get(&watch->told, ids);
	struct gpu_fact fact = {
		.kind = GPU_FACT_LAUNCHER, .process = process->process, .device = GPU_DEVICE_NONE};

	if (!launches && (watch->launches || !thread->calls))
		return;
	if (told && *told == launches)
		return;
	u64map_put(&watch->told, ids, launches);
	fact.launcher.tid = (uint32_t)ids;
	fact.launcher.launches = launches;
	tell(watch, &fact);
}

/* Reads what each thread, of @pid or of all (0), has done so far; forgets it if @forget. */
static void read_threads(struct driver_watch *watch, pid_t pid, bool forget)
{
	const struct bpf_map *map = watch->programs->bpf->maps.driver_threads;
	struct gc_driver_thread thread;
	uint64_t ids, next;
	bool more = !bpf_map__get_next_key(map, NULL, &ids, sizeof(ids));

	for (size_t i = 0; i < watch->processes.count; i++)
		watch->processes.items[i].hits = (struct driver_hits){};
	while (more) {
		struct driver_process *process = find(watch, (pid_t)(ids >> 32));
		bool wanted = !pid || (pid_t)(ids >> 32) == pid;

		more = !bpf_map__get_next_key(map, &ids, &next, sizeof(next));
		if (process && wanted &&
			!bpf_map__lookup_elem(map, &ids, sizeof(ids), &thread, sizeof(thread), 0)) {
			process->hits.launches += thread.launches;
			process->hits.calls += thread.calls;
			tell_launcher(watch, process, ids, &thread);
		}
		if (forget && wanted) {
			bpf_map__delete_elem(map, &ids, sizeof(ids), 0);
			u64map_remove(&watch->told, ids);
		}
		ids = next;
	}
}

void driver_watch_over(struct driver_watch *watch, pid_t pid)
{
	struct driver_process *process = find(watch, pid);

	if (!process)
		return;
	read_threads(watch, pid, true);
	if (process->changed)
		tell_driver(watch, process);
	let_go(process, true);
	vec_free(&process->probes);
	u64map_release(&process->sizes);
	*process = watch->processes.items[--watch->processes.count];
}

/* Launches first, as most hits are theirs; what remains only if that is still too much. */
static void let_go_hot(struct driver_process *process, bool all, uint64_t now)
{
	let_go(process, all);
	process->let_go_all = all;
	process->changed = true;
	if (!process->let_go_ns)
		process->let_go_ns = now;
	log_warning("process %d %s too often to be watched for less than 1 %% of a processor: %s",
		process->pid,
		all ? "waits for GPUs, or allocates their memory," : "launches GPU work",
		all ? "what it does later is not known" : "its launches are no longer counted");
}

static void charge(struct driver_process *process, uint64_t now)
{
	uint64_t launches = process->hits.launches - process->before.launches;
	uint64_t hits = (process->hits.calls - process->before.calls) * CALL_HITS;

	process->before = process->hits;
	if (process->let_go_all)
		return;
	if (process->due_ns < now)
		process->due_ns = now;
	process->due_ns += (hits + launches * process->weight) * HIT_NS * COST;
	if (process->due_ns - now <= (uint64_t)BURST * HIT_NS * COST)
		return;
	let_go_hot(process, process->let_go_ns || hits > launches * process->weight, now);
	process->due_ns = now;
}

static void look(struct driver_watch *watch, uint64_t now)
{
	watch->looked_ns = now;
	read_threads(watch, 0, false);
	for (size_t i = 0; i < watch->processes.count; i++) {
		struct driver_process *process = &watch->processes.items[i];

		charge(process, now);
		if (process->changed)
			tell_driver(watch, process);
	}
}

void driver_watch_turn(struct driver_watch *watch)
{
	uint64_t now = now_ns();

	if (watch->processes.count && now - watch->looked_ns >= TURN_NS)
		look(watch, now);
}

void driver_watch_finish(struct driver_watch *watch)
{
	if (watch->processes.count)
		look(watch, now_ns());
}

void driver_watch_close(struct driver_watch *watch)
{
	for (size_t i = 0; i < watch->processes.count; i++) {
		let_go(&watch->processes.items[i], true);
		vec_free(&watch->processes.items[i].probes);
		u64map_release(&watch->processes.items[i].sizes);
	}
	vec_free(&watch->processes);
	u64map_release(&watch->told);
}
