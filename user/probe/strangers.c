/* A process and its mapped files in; what it is, if it cannot be traced, out. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cleanup.h"
#include "elf_file.h"
#include "hotspot_kin.h"
#include "proc_state.h"
#include "strangers.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/* Ordered: of two that fit a file, the first is meant. */
static const struct stranger strangers[] = {
	{"libpypy", NULL, "PyPy",
		"PYPYLOG=gc:FILE makes PyPy log its collections; under CPython the job can be traced"},
	{NULL, "pypy_main_startup", "PyPy",
		"PYPYLOG=gc:FILE makes PyPy log its collections; under CPython the job can be traced"},
	{NULL, "node_module_register", "Node.js", "node --trace-gc prints its collections"},
	{NULL, "_ZN2v87Isolate10GetCurrentEv", "the JavaScript engine V8",
		"its flag --trace-gc prints its collections"},
	{NULL, "Py_InitModule4_64", "Python 2",
		"gc.set_debug(gc.DEBUG_STATS) prints its collections; under Python 3.8 or later the job "
		"can be traced"},
	{NULL, "PyGC_Collect", "a CPython older than 3.8",
		"gc.callbacks tells of its collections; under 3.8 or later the job can be traced"},
	{NULL, NATIVE_IMAGE_SYMBOL, "a GraalVM native image",
		"-XX:+PrintGC makes it print its collections; under java, HotSpot's, the job can be traced"},
	{"libj9vm", NULL, "Java on OpenJ9",
		"java -verbose:gc prints its collections; under HotSpot's java the job can be traced"},
	{NULL, "runtime.gcStart", "a Go program", "GODEBUG=gctrace=1 prints its collections"},
};

/* Static and stripped, as small images of containers have them. */
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

const struct stranger *stranger_of(const struct elf_file *file, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		struct elf_symbol symbol;

		if (has_name(&strangers[i], path) && (!strangers[i].symbol ||
				!elf_file_symbol(file, strangers[i].symbol, true, &symbol)))
			return &strangers[i];
	}
	return NULL;
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

int probe_absent(pid_t pid, struct err *err)
{
	switch (proc_state(pid)) {
	case PROC_GONE:
		return err_set(err, ESRCH,
			"there is no process %d: `pgrep -a python` or `pgrep -a java` lists those that "
			"run", pid);
	case PROC_ZOMBIE:
		return err_set(err, ESRCH,
			"process %d is a zombie: it has ended, and its parent has not waited for it; "
			"there is nothing left to trace", pid);
	case PROC_HEADLESS:
		return err_set(err, ESRCH,
			"the main thread of process %d has ended while others run: the kernel no longer "
			"shows its memory map; restart it under `gctrace run`", pid);
	case PROC_KERNEL:
		return err_set(err, ESRCH,
			"process %d is a thread of the kernel and runs no program: "
			"`pgrep -a python` or `pgrep -a java` lists processes that do", pid);
	case PROC_PROGRAM:
		break;
	}
	return 0;
}
