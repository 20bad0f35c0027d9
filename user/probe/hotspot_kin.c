/* A process's mapped files in; which of them is a GraalVM native image out. */
#include <limits.h>
#include <stddef.h>

#include "cleanup.h"
#include "elf_file.h"
#include "hotspot_kin.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

static bool is_native_image(pid_t pid, const struct proc_map *map)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	struct elf_symbol symbol;
	char path[PATH_MAX];
	int fd = proc_map_open(pid, map, path, sizeof(path));

	return fd >= 0 && !elf_file_open(fd, map->path, &file, NULL) &&
		!elf_file_symbol(file, NATIVE_IMAGE_SYMBOL, true, &symbol);
}

const struct proc_map *probe_native_image(pid_t pid, const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->maps.count; i++)
		if (maps->maps.items[i].exec && is_native_image(pid, &maps->maps.items[i]))
			return &maps->maps.items[i];
	return NULL;
}
