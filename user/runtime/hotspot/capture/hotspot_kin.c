/* A process's mapped files in; whether one of them is a GraalVM native image out. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "cleanup.h"
#include "elf_file.h"
#include "hotspot_kin.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/* Defined by each native image, in .dynsym too, which strip leaves (GraalVM 20 and later). */
#define NATIVE_IMAGE_SYMBOL "__svm_version_info"

const struct stranger hotspot_strangers[] = {
	{NULL, NATIVE_IMAGE_SYMBOL, "a GraalVM native image",
		"-XX:+PrintGC makes it print its collections; under java, HotSpot's, the job can be traced"},
	{"libj9vm", NULL, "Java on OpenJ9",
		"java -verbose:gc prints its collections; under HotSpot's java the job can be traced"},
	NO_STRANGER,
};

static bool is_native_image(pid_t pid, const struct proc_map *map)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	struct elf_symbol symbol;
	char path[PATH_MAX];
	int fd = proc_map_open(pid, map, path, sizeof(path));

	return fd >= 0 && !elf_file_open(fd, map->path, &file, NULL) &&
	       !elf_file_symbol(file, NATIVE_IMAGE_SYMBOL, true, &symbol);
}

bool hotspot_finds_image(pid_t pid, const struct proc_maps *maps, char *ret, size_t size)
{
	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];

		if (!map->exec || !is_native_image(pid, map))
			continue;
		snprintf(ret, size,
			"%s is a GraalVM native image, whose own collections are not traced",
			map->path);
		return true;
	}
	return false;
}
