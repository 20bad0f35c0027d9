/* Numbers of threads as a process has them → as we have them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "gpu_watch.h"

/* A program may name threads that it never had: after so many new ones no more are believed. */
#define MOST_STRANGERS 4096

/* The numbers behind "NSpid:" of thread @tid: the last one into *ret. How many there are, at most 2. */
static int read_numbers(pid_t pid, uint32_t tid, uint32_t *ret)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/task/%u/status", pid, tid);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) || !last)
			continue;
		*ret = (uint32_t)strtoul(last + 1, NULL, 10);
		return strchr(line, '\t') == last ? 1 : 2;
	}
	return 0;
}

static void add(struct gpu_watch *watch, struct gpu_process *process, uint32_t theirs,
	uint32_t ours)
{
	if (!u64map_put(&process->tids, theirs, ours))
		feed_thread(watch->feed, process->process, process->pid, ours);
}

/* Of a process in a namespace of its own: all that it has now. */
static void list(struct gpu_watch *watch, struct gpu_process *process)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t ours = (uint32_t)strtoul(entry->d_name, NULL, 10), theirs;

		if (ours && read_numbers(process->pid, ours, &theirs))
			add(watch, process, theirs, ours);
	}
	if (tasks)
		closedir(tasks);
}

void gpu_tids_begin(struct gpu_watch *watch, struct gpu_process *process)
{
	uint32_t own;

	process->apart = read_numbers(process->pid, (uint32_t)process->pid, &own) > 1;
	if (process->apart)
		list(watch, process);
}

uint32_t gpu_tid(struct gpu_watch *watch, struct gpu_process *process, uint32_t tid)
{
	const uint64_t *ours = u64map_get(&process->tids, tid);

	if (!tid || ours || process->strangers >= MOST_STRANGERS)
		return ours ? (uint32_t)*ours : 0;
	if (!process->apart) { /* it may have ended since */
		process->strangers++;
		add(watch, process, tid, tid);
		return tid;
	}
	list(watch, process);
	ours = u64map_get(&process->tids, tid);
	if (ours)
		return (uint32_t)*ours;
	process->strangers += !u64map_put(&process->tids, tid, 0);
	return 0;
}
