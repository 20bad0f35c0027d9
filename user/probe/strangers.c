/* A process and its mapped files in; what it is, if it cannot be traced, out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_file.h"
#include "probe.h"
#include "proc_state.h"
#include "strangers.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/*
 * Those unrelated to our runtimes, which list their own first. Ordered: of two that fit a file, the first
 * counts.
 */
static const struct stranger others[] = {
	{NULL, "node_module_register", "Node.js", "node --trace-gc prints its collections"},
	{NULL, "_ZN2v87Isolate10GetCurrentEv", "the JavaScript engine V8",
		"its flag --trace-gc prints its collections"},
	{NULL, "runtime.gcStart", "a Go program", "GODEBUG=gctrace=1 prints its collections"},
	NO_STRANGER,
};

/* Static and stripped, as in small container images. */
static const struct stranger nameless = {NULL, NULL, "a static program without any symbol",
	"what is in it cannot be told; a build that keeps its symbol table can be looked at"};

static bool has_name(const struct stranger *stranger, const char *path)
{
	const char *base = strrchr(path, '/');

	return !stranger->file ||
	       (base && !strncmp(base + 1, stranger->file, strlen(stranger->file)));
}

static int stop_at_first(const struct elf_symbol *symbol, void *arg)
{
	return 1;
}

static bool is_it(const struct stranger *stranger, const struct elf_file *file, const char *path)
{
	struct elf_symbol symbol;

	return has_name(stranger, path) &&
	       (!stranger->symbol || !elf_file_symbol(file, stranger->symbol, true, &symbol));
}

static const struct stranger *find_among(const struct stranger *list, const struct elf_file *file,
	const char *path)
{
	for (; list && list->what; list++)
		if (is_it(list, file, path))
			return list;
	return NULL;
}

const struct stranger *stranger_of(const struct elf_file *file, const char *path)
{
	const struct stranger *found = NULL;

	for (size_t i = 0; !found && probe_runtimes[i]; i++)
		found = find_among(probe_runtimes[i]->strangers, file, path);
	for (size_t i = 0; !found && probe_refused[i]; i++)
		found = is_it(probe_refused[i], file, path) ? probe_refused[i] : NULL;
	return found ? found : find_among(others, file, path);
}

/* @alone: no other file of the process holds code. */
static const struct stranger *recognise(pid_t pid, const struct proc_map *map, bool alone)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	const struct stranger *found;
	char path[PATH_MAX];
	int fd = proc_map_open(pid, map, path, sizeof(path));

	if (fd < 0 || elf_file_open(fd, map->path, &file, NULL))
		return NULL;
	found = stranger_of(file, map->path);
	if (found)
		return found;
	return alone && !elf_file_symbols(file, true, stop_at_first, NULL) ? &nameless : NULL;
}

static bool one_file(const struct proc_maps *maps)
{
	const struct proc_map *first = NULL;

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];

		if (map->exec && first && map->inode != first->inode)
			return false;
		if (map->exec)
			first = map;
	}
	return true;
}

const struct stranger *probe_stranger(pid_t pid, const struct proc_maps *maps)
{
	bool alone = one_file(maps);

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		const struct stranger *found = map->exec ? recognise(pid, map, alone) : NULL;

		if (found)
			return found;
	}
	return NULL;
}

/* "`pgrep -a COMMAND` or `pgrep -a OTHER`": what lists processes that have a runtime of ours. */
static const char *name_listings(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; probe_runtimes[i] && used < size; i++) {
		const char *const *command = probe_runtimes[i]->commands;

		while (command[0] && command[1])
			command++; /* the last one is part of the others */
		if (*command)
			used += (size_t)snprintf(text + used, size - used, "%s`pgrep -a %s`",
				used ? " or " : "", *command);
	}
	return text;
}

int probe_absent(pid_t pid, struct err *err)
{
	char listings[256];

	name_listings(listings, sizeof(listings));
	switch (proc_state(pid)) {
	case PROC_GONE:
		return err_set(err, ESRCH, "there is no process %d: %s lists those that run", pid,
			listings);
	case PROC_ZOMBIE:
		return err_set(err, ESRCH,
			"process %d is a zombie: it has ended, and its parent has not waited for it; "
			"there is nothing left to trace",
			pid);
	case PROC_HEADLESS:
		return err_set(err, ESRCH,
			"the main thread of process %d has ended while others run: the kernel no longer "
			"shows its memory map; restart it under `gctrace run`",
			pid);
	case PROC_KERNEL:
		return err_set(err, ESRCH,
			"process %d is a thread of the kernel and runs no program: %s lists processes "
			"that do",
			pid, listings);
	case PROC_PROGRAM:
		break;
	}
	return 0;
}
