/* Files that a program will be mapped from → probed before it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "elf_file.h"
#include "log.h"
#include "trace_priv.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

#define PAGE ((unsigned long)sysconf(_SC_PAGESIZE))

/*
 * Maps the page with which the code of the file at @path begins, as a program will have it: what
 * /proc/PID/maps says of a file, its device above all, is not always what stat() does. NULL: no code.
 */
static void *map_code(const char *path)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct err err = {};
	uint64_t offset;
	struct stat st;
	void *page;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if (elf_file_open(dup(fd), path, &file, &err) || elf_file_code(file, &offset))
		return NULL;
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)(offset & ~(PAGE - 1)));
	return page == MAP_FAILED ? NULL : page;
}

/* The maps of this process that begin at @pages, as if they were of another. */
static void list_maps(void *const *pages, size_t count, struct proc_maps *maps)
{
	size_t kept = 0;

	if (proc_maps_read(getpid(), maps))
		return;
	for (size_t i = 0; i < maps->maps.count; i++) {
		struct proc_map *map = &maps->maps.items[i];
		bool wanted = false;

		for (size_t j = 0; j < count; j++)
			wanted |= pages[j] && map->start == (uint64_t)(uintptr_t)pages[j];
		map->exec = true;
		if (wanted)
			maps->maps.items[kept++] = *map;
		else
			free(map->path);
	}
	maps->maps.count = kept;
}

size_t trace_foresee(struct trace *trace, char *const *paths, size_t count)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	void *pages[TRACE_FORESEEN_MAX];
	struct proc_maps maps = {};
	size_t known, probed = 0;
	struct err err = {};

	if (count > TRACE_FORESEEN_MAX)
		count = TRACE_FORESEEN_MAX;
	for (size_t i = 0; i < count; i++)
		pages[i] = map_code(paths[i]);
	list_maps(pages, count, &maps);
	for (size_t i = 0; i < count; i++)
		if (pages[i])
			munmap(pages[i], PAGE);
	known = probe_find(0, &maps, found, PROBE_MAX_IMAGES);
	for (size_t i = 0; i < known; i++) {
		if (images_attach_found(&trace->images, 0, &found[i], &err) >= 0)
			probed++;
		else
			log_debug("%s", err.text);
	}
	linkers_hook(&trace->linkers, 0, &maps);
	proc_maps_release(&maps);
	return probed;
}
