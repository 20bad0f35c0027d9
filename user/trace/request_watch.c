/* Processes that listen → probes on what they receive and send with; let go where they cost too much. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "gctrace.skel.h"
#include "log.h"
#include "proc_server.h"
#include "processes.h"
#include "request_watch.h"
#include "steps_priv.h"

#define FIRST_WAIT_NS	100000000ull /* until a process is looked at again, then twice that, … */
#define LONGEST_WAIT_NS 1600000000ull
#define LOOK_SHARE	20 /* looking may take one in so many moments */
#define RATE_NS		1000000000ull
#define MOST_HITS	20000 /* a second, of about half a microsecond: 1 % of a processor */

static struct request_process *find(const struct request_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->servers.count; i++)
		if (watch->servers.items[i].pid == pid)
			return &watch->servers.items[i];
	return NULL;
}

static void detach(struct request_process *process)
{
	for (size_t i = 0; i < process->probes.count; i++) {
		uprobe_detach(&process->probes.items[i].at_entry);
		uprobe_detach(&process->probes.items[i].at_return);
	}
	vec_free(&process->probes);
}

/* Index of the signal, new if need be, or -errno. Its marks are told apart by their number. */
static int get_signal(struct step_watch *steps, const char *name, const char *detail)
{
	struct signal_plan plan = {};
	int index;

	snprintf(plan.name, sizeof(plan.name), "%s", name);
	index = step_get_signal(steps, &plan);
	if (index < 0)
		return index;
	if (!steps->signals[index].by_number)
		step_describe(steps, (size_t)index, detail);
	steps->signals[index].by_number = true;
	return index;
}

/* What a server's functions mark, and what is said of where. */
static const struct {
	const char *signal, *detail, *by_files;
} roles[REQUEST_ROLES] = {
	[REQUEST_ACCEPTS] = {CONNECT_SIGNAL, "accept and accept4, at the return"},
	[REQUEST_RECEIVES] = {REQUEST_SIGNAL, "recv, recvfrom and recvmsg",
		"recv, recvfrom, recvmsg and read"},
	[REQUEST_SENDS] = {RESPONSE_SIGNAL, "send and sendmsg", "send, sendmsg, write and writev"},
	[REQUEST_ENCRYPTS] = {UNTOLD_SIGNAL, "TLS and HTTP/2 where connections begin"},
};

static int attach_site(const struct request_watch *watch, struct request_process *process,
	const char *path, const struct request_site *site, const int indexes[])
{
	const struct gctrace_bpf *bpf = watch->steps->programs->bpf;
	struct request_probe *probe = vec_add(&process->probes);
	struct uprobe_place at = {.path = path,
		.offset = site->offset,
		.pid = process->pid,
		.cookie = GC_REQUEST_COOKIE(indexes[site->role], site->kind,
			indexes[REQUEST_ENCRYPTS])};
	int r;

	if (!probe)
		return -ENOMEM;
	if (site->role == REQUEST_SENDS)
		return uprobe_attach(bpf->progs.on_send, &at, &probe->at_entry);
	if (site->role == REQUEST_ENCRYPTS)
		return uprobe_attach(bpf->progs.on_encrypted, &at, &probe->at_entry);
	if (site->behind_call)
		return uprobe_attach(bpf->progs.on_received_here, &at, &probe->at_entry);
	at.at_return = true;
	if (site->role == REQUEST_ACCEPTS)
		return uprobe_attach(bpf->progs.on_accepted, &at, &probe->at_return);
	r = uprobe_attach(bpf->progs.on_received, &at, &probe->at_return);
	at.at_return = false;
	return r ? r : uprobe_attach(bpf->progs.on_receive, &at, &probe->at_entry);
}

static int get_signals(struct request_watch *watch, const char *name, bool files, int ret[],
	struct err *err)
{
	char detail[128];

	for (size_t i = 0; i < REQUEST_ROLES; i++) {
		snprintf(detail, sizeof(detail), "%.64s: %s", name,
			files && roles[i].by_files ? roles[i].by_files : roles[i].detail);
		ret[i] = get_signal(watch->steps, roles[i].signal, detail);
		if (ret[i] < 0)
			return err_set(err, -ret[i], "there is no room for the signal: %s",
				strerror(-ret[i]));
	}
	return 0;
}

/* In the library open as @fd. 0, or -errno with a sentence. */
static int attach_plan(struct request_watch *watch, struct request_process *process, int fd,
	const struct request_plan *plan, const int indexes[], struct err *err)
{
	char path[32];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* In the plan's order, those that accept and receive first: no response is without its request. */
	for (size_t i = 0; !r && i < plan->count; i++) {
		r = attach_site(watch, process, path, &plan->sites[i], indexes);
		if (r)
			err_set(err, -r, "%s cannot be probed: %s", plan->sites[i].name,
				strerror(-r));
	}
	return r;
}

/* What of a process's files matters here. */
struct server_files {
	const struct proc_map *library, *encrypts; /* the C library; OpenSSL, or NULL */
	bool by_file_calls;
};

static struct server_files find_files(const struct proc_maps *maps)
{
	struct server_files found = {};

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];

		found.by_file_calls |= request_by_file_calls(map->path);
		if (map->exec && !found.library && request_library(map->path))
			found.library = map;
		if (map->exec && !found.encrypts && request_encrypts(map->path))
			found.encrypts = map;
	}
	return found;
}

/* Without it, requests that OpenSSL reads are not told, and nobody says so. */
static void attach_encrypts(struct request_watch *watch, struct request_process *process,
	const struct proc_map *map, const int indexes[])
{
	struct request_plan plan;
	struct err why = {};
	char path[PATH_MAX];
	int fd = proc_map_open(process->pid, map, path, sizeof(path));
	int r = fd < 0 ? fd : request_plan_encrypted(dup(fd), map->path, &plan, &why);

	if (!r)
		r = attach_plan(watch, process, fd, &plan, indexes, &why);
	if (r)
		log_debug("whether process %d encrypts is not seen: %s", process->pid, why.text);
	if (fd >= 0)
		close(fd);
}

static int attach(struct request_watch *watch, struct request_process *process,
	const struct server_files *files, struct err *err)
{
	const struct proc_map *library = files->library;
	struct request_plan plan;
	char path[PATH_MAX];
	const char *name;
	int indexes[REQUEST_ROLES], fd, r;

	fd = library ? proc_map_open(process->pid, library, path, sizeof(path)) : -ENOENT;
	if (fd < 0)
		return err_set(err, -fd, "its C library was not found");
	name = strrchr(library->path, '/') + 1;
	r = request_plan(dup(fd), name, files->by_file_calls, &plan, err);
	if (!r)
		r = get_signals(watch, name, files->by_file_calls, indexes, err);
	if (!r && files->encrypts)
		attach_encrypts(watch, process, files->encrypts, indexes);
	if (!r)
		r = attach_plan(watch, process, fd, &plan, indexes, err);
	close(fd);
	return r;
}

static void begin(struct request_watch *watch, struct request_process *process)
{
	struct server_files files;
	struct proc_maps maps = {};
	struct err why = {};
	int r;

	if (proc_maps_read(process->pid, &maps))
		return;
	files = find_files(&maps);
	r = attach(watch, process, &files, &why);
	proc_maps_release(&maps);
	process->serves = !r;
	process->failed = r && r != -ESRCH && r != -ENOENT;
	if (r) {
		detach(process);
		watch->steps->unprobed += process->failed;
		log_debug("requests of process %d are not seen: %s", process->pid, why.text);
	} else {
		log_debug("requests of process %d are seen from now on", process->pid);
	}
}

static void look(struct request_watch *watch, pid_t pid, uint64_t now)
{
	struct request_process *process = find(watch, pid);

	if (!process) {
		process = vec_add(&watch->servers);
		if (!process)
			return;
		*process = (struct request_process){.pid = pid, .wait_ns = FIRST_WAIT_NS};
	}
	if (process->serves || process->failed || now < process->due_ns)
		return;
	if (proc_listens(pid)) {
		begin(watch, process);
	} else if (process->wait_ns < LONGEST_WAIT_NS) {
		process->wait_ns *= 2;
	}
	process->due_ns = now + process->wait_ns + LOOK_SHARE * (now_ns() - now);
}

static uint64_t hits_so_far(const struct step_watch *steps)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < steps->feed->recording.signals.count; i++)
		if (steps->signals[i].by_number)
			hits += steps->page->signals[i].hits;
	return hits;
}

static void let_go(struct request_watch *watch, uint64_t rate)
{
	struct recording *recording = &watch->steps->feed->recording;

	watch->let_go = true;
	for (size_t i = 0; i < watch->servers.count; i++)
		detach(&watch->servers.items[i]);
	for (size_t i = 0; i < recording->signals.count; i++) {
		if (!watch->steps->signals[i].by_number)
			continue;
		recording->signals.items[i].let_go_ns = now_ns();
		recording->signals.items[i].hits = watch->steps->page->signals[i].hits;
		step_tell(watch->steps, i);
	}
	if (rate)
		log_warning(
			"servers receive and send %llu times a second, too often to be watched for "
			"less than 1 %% of a processor: later requests are not known",
			(unsigned long long)rate);
}

static void charge(struct request_watch *watch, uint64_t now)
{
	uint64_t hits = hits_so_far(watch->steps), rate;

	if (now - watch->rated_ns < RATE_NS)
		return;
	rate = (hits - watch->rated_hits) * 1000000000ull / (now - watch->rated_ns);
	if (watch->rated_ns && rate > MOST_HITS)
		let_go(watch, rate);
	watch->rated_ns = now;
	watch->rated_hits = hits;
}

void request_watch_turn(struct request_watch *watch)
{
	struct proc_pids list = {};
	uint64_t now = now_ns();

	if (!watch->steps->on || !watch->steps->known_signals || watch->let_go)
		return;
	if (watch->steps->feed->recording.steps_until_ns) {
		let_go(watch, 0);
		return;
	}
	processes_list(watch->processes, &list);
	for (size_t i = 0; i < list.pids.count; i++)
		look(watch, list.pids.items[i], now);
	vec_free(&list.pids);
	charge(watch, now);
}

void request_watch_over(struct request_watch *watch, pid_t pid)
{
	struct request_process *process = find(watch, pid);

	if (!process)
		return;
	detach(process);
	*process = watch->servers.items[--watch->servers.count];
}

void request_watch_close(struct request_watch *watch)
{
	for (size_t i = 0; i < watch->servers.count; i++)
		detach(&watch->servers.items[i]);
	vec_free(&watch->servers);
}
