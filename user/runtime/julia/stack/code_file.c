/* A process's maps → its files of code, kept open. */
#include <limits.h>
#include <stdlib.h>

#include "code_file.h"
#include "jit_memory.h"
#include "mem.h"

#define MAPS_PAUSE 100000000ull /* between two readings of the maps */

void code_files_release(struct code_files *files)
{
	for (size_t i = 0; i < files->files.count; i++) {
		elf_lines_free(files->files.items[i].lines);
		elf_rules_free(files->files.items[i].rules);
		elf_file_free(files->files.items[i].elf);
	}
	vec_free(&files->files);
	proc_maps_release(&files->maps);
}

void code_files_refresh(struct code_files *files)
{
	struct proc_maps maps = {};
	uint64_t now = now_ns();

	if (files->read_ns && now - files->read_ns < MAPS_PAUSE)
		return;
	files->read_ns = now;
	if (proc_maps_read(files->pid, &maps))
		return;
	proc_maps_release(&files->maps);
	files->maps = maps;
}

const struct proc_map *code_files_map(const struct code_files *files, uint64_t address)
{
	for (size_t i = 0; i < files->maps.maps.count; i++) {
		const struct proc_map *map = &files->maps.maps.items[i];

		if (map->exec && address >= map->start && address < map->end)
			return jit_memory_is_named(map->path) ? NULL : map;
	}
	return NULL;
}

struct code_file *code_files_open(struct code_files *files, const struct proc_map *map)
{
	struct code_file *file;
	char path[PATH_MAX];
	struct err err = {};
	int fd;

	for (size_t i = 0; i < files->files.count; i++) {
		file = &files->files.items[i];
		if (file->inode == map->inode && file->device == map->device)
			return file;
	}
	file = vec_add(&files->files);
	if (!file)
		return NULL;
	file->device = map->device;
	file->inode = map->inode;
	fd = proc_map_open(files->pid, map, path, sizeof(path));
	if (fd >= 0 && elf_file_open(fd, map->path, &file->elf, &err))
		file->elf = NULL;
	return file;
}

struct elf_lines *code_file_lines(struct code_file *file)
{
	if (!file->asked_lines && elf_lines_of_file(file->elf, &file->lines))
		file->lines = NULL;
	file->asked_lines = true;
	return file->lines;
}

struct elf_rules *code_file_rules(struct code_file *file)
{
	if (!file->asked_rules && elf_rules_of_file(file->elf, &file->rules))
		file->rules = NULL;
	file->asked_rules = true;
	return file->rules;
}
