/*
 * Which mapped files hold step signals: a process's maps → files, looked through in a thread of their
 * own (one symbol table may have a million names) → plans.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "steps_priv.h"
#include "wake.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/* Files that are looked through in a thread of their own, while pauses go on being drained. */
struct step_scan {
	pthread_t thread;
	bool threaded; /* the thread was started */
	pid_t pid;
	struct signal_wish wish; /* "" for none */
	VEC(struct step_file {
		struct proc_map map; /* owns its path */
		int fd;		     /* -1: no signals in it */
		bool unread;	     /* it could not be opened, though its process lives */
		bool waits;	     /* it may have calls that wait */
		bool unprobed;	     /* perhaps not all of them can be probed */
		struct signal_plans plans;
		struct wait_plan wait_plan;
	})
	files;
	struct signal_near near;
	int wake;	      /* see step_watch.called */
	atomic_size_t looked; /* how many files, from the first on */
	size_t taken;	      /* of them, whose signals are probed */
};

static void free_scan(struct step_scan *scan)
{
	for (size_t i = 0; i < scan->files.count; i++) {
		struct step_file *file = &scan->files.items[i];

		free(file->map.path);
		if (file->fd >= 0)
			close(file->fd);
		vec_free(&file->plans.plans);
	}
	vec_free(&scan->files);
	free(scan);
}

/* What remains open is what holds a signal: its probes may be needed again. */
static void look_through(struct step_scan *scan, struct step_file *file)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *elf = NULL;
	const struct signal_wish *wish = scan->wish.name[0] ? &scan->wish : NULL;
	_cleanup_close_ int fd = -1, twin = -1;
	char path[PATH_MAX];
	struct err err = {};

	fd = proc_map_open(scan->pid, &file->map, path, sizeof(path));
	twin = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file->unread = twin < 0 && !proc_has_exited(scan->pid);
	if (twin < 0 || elf_file_open(steal_fd(&fd), file->map.path, &elf, &err))
		return;
	file->unprobed = !wait_plan_file(elf, file->map.path, &file->wait_plan);
	if ((!signal_plan_file(elf, file->map.path, wish, &file->plans, &scan->near) &&
		    file->plans.plans.count) ||
		file->wait_plan.count)
		file->fd = steal_fd(&twin);
}

static void *run_scan(void *arg)
{
	struct step_scan *scan = arg;

	setpriority(PRIO_PROCESS, 0, 0); /* of this thread: the drain's is higher */
	for (size_t i = 0; i < scan->files.count; i++) {
		look_through(scan, &scan->files.items[i]);
		atomic_store(&scan->looked, i + 1);
		wake_now(scan->wake);
	}
	return NULL;
}

/*
 * Signals are the main thread's; elf/ needs SIGBUS where a file shrinks under it. Where no thread can be
 * started (memory, a cgroup's pids.max) the next turn tries again.
 */
static void start_thread(struct step_scan *scan)
{
	sigset_t all, before;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	scan->threaded = !pthread_create(&scan->thread, NULL, run_scan, scan);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static uint64_t file_key(const struct proc_map *map)
{
	return u64_mix(map->device) ^ map->inode;
}

/* Takes the map into the scan. False when memory is out. */
static bool add_file(struct step_scan *scan, const struct proc_map *map)
{
	struct step_file *file = vec_add(&scan->files);
	char *path = file ? strdup(map->path) : NULL;

	if (!path) {
		scan->files.count -= file ? 1 : 0;
		return false;
	}
	file->map = *map;
	file->map.path = path;
	file->waits = file->unprobed = wait_likely(path);
	file->fd = -1;
	return true;
}

/* Lists the file for the sentence that says where the user's own was looked for. */
static void note_searched(struct step_watch *steps, const struct proc_map *map)
{
	const char *slash = strrchr(map->path, '/'), *base = slash ? slash + 1 : map->path;
	size_t used = strlen(steps->searched), room = sizeof(steps->searched) - used;

	char stem[128];

	snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(base, "."), base);
	if (!signal_wish_likely(map->path, &steps->wish))
		signal_near_note(&steps->near_files, steps->wish.library, stem);
	else if (!steps->wish.usdt && strlen(base) + 3 < room)
		snprintf(steps->searched + used, room, "%s%s", used ? ", " : "", base);
}

void steps_look(struct step_watch *steps, pid_t pid, const struct proc_maps *maps)
{
	/* A runtime is asked for its own functions; they are no symbols that people know. */
	const struct signal_wish *wish = steps->wish.name[0] && !steps->of ? &steps->wish : NULL;
	struct step_scan *scan, **slot;

	if (!steps->on)
		return;
	scan = calloc(1, sizeof(*scan));
	if (!scan) {
		steps->unprobed++;
		return;
	}
	scan->pid = pid;
	scan->wake = steps->called;
	if (wish)
		scan->wish = *wish;
	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		uint64_t key = file_key(map);

		if (!map->exec || u64map_get(&steps->files, key) ||
			u64map_put(&steps->files, key, 1))
			continue;
		if (wish)
			note_searched(steps, map);
		if (!(steps->known_signals ? signal_likely(map->path, wish)
					   : signal_wish_likely(map->path, wish)) &&
			!wait_likely(map->path))
			continue;
		if (wait_likely(map->path))
			step_waits_expect(steps);
		steps->unprobed += !add_file(scan, map);
	}
	slot = scan->files.count ? vec_add(&steps->scans) : NULL;
	if (!slot) {
		steps->unprobed += scan->files.count;
		free_scan(scan);
		return;
	}
	*slot = scan;
	start_thread(scan);
}

static void take_file(struct step_watch *steps, const struct step_file *file, int fd)
{
	for (size_t i = 0; i < file->plans.plans.count; i++)
		step_attach(steps, fd, &file->plans.plans.items[i]);
	if (file->waits)
		step_waits_attach(steps, fd, &file->wait_plan);
}

/* Attaches what the scan has found since the last time: a small file does not wait for a large one. */
static void take_found(struct step_watch *steps, struct step_scan *scan)
{
	size_t looked = atomic_load(&scan->looked);

	for (; scan->taken < looked; scan->taken++) {
		struct step_file *file = &scan->files.items[scan->taken];
		int *fd = file->fd >= 0 ? vec_add(&steps->fds) : NULL;

		steps->unprobed += file->unread || (file->fd >= 0 && !fd);
		if (fd) {
			*fd = steal_fd(&file->fd);
			take_file(steps, file, *fd);
		}
		if (file->waits)
			step_waits_looked(steps, !file->unprobed && (fd || !file->wait_plan.count));
	}
}

static void end_scan(struct step_watch *steps, struct step_scan *scan)
{
	if (scan->threaded)
		pthread_join(scan->thread, NULL);
	for (size_t i = 0; i < scan->near.count; i++)
		signal_near_note(&steps->near, steps->wish.symbol, scan->near.best[i].name);
	free_scan(scan);
}

void steps_take_scans(struct step_watch *steps)
{
	for (size_t i = 0; i < steps->scans.count;) {
		struct step_scan *scan = steps->scans.items[i];

		if (!scan->threaded && !atomic_load(&scan->looked))
			start_thread(scan);
		take_found(steps, scan);
		if (scan->taken < scan->files.count) {
			i++;
			continue;
		}
		steps->scans.items[i] = steps->scans.items[--steps->scans.count];
		end_scan(steps, scan);
	}
}

bool steps_scan_here(struct step_watch *steps)
{
	bool looked = false;

	for (size_t i = 0; i < steps->scans.count; i++) {
		struct step_scan *scan = steps->scans.items[i];
		size_t next = atomic_load(&scan->looked);

		if (scan->threaded || next == scan->files.count)
			continue;
		look_through(scan, &scan->files.items[next]);
		atomic_store(&scan->looked, next + 1);
		looked = true;
	}
	return looked;
}

void steps_give_up_scans(struct step_watch *steps)
{
	for (size_t i = 0; i < steps->scans.count; i++) {
		struct step_scan *scan = steps->scans.items[i];

		if (scan->threaded)
			continue;
		steps->unprobed += scan->files.count - scan->taken;
		scan->taken = scan->files.count;
	}
}

void step_close_scans(struct step_watch *steps)
{
	for (size_t i = 0; i < steps->scans.count; i++) {
		if (steps->scans.items[i]->threaded)
			pthread_join(steps->scans.items[i]->thread, NULL);
		free_scan(steps->scans.items[i]);
	}
	vec_free(&steps->scans);
}
