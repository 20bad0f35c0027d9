/* A process's maps → its dynamic linker's hook, probed once per linker. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gctrace.skel.h"
#include "linkers.h"
#include "log.h"

static bool is_known(const struct linkers *linkers, const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->maps.count; i++)
		for (size_t j = 0; j < linkers->known.count; j++)
			if (linkers->known.items[j].inode == maps->maps.items[i].inode &&
				linkers->known.items[j].device == maps->maps.items[i].device)
				return true;
	return false;
}

/* Not to be looked for again in this linker's file. */
static void note(struct linkers *linkers, const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		struct linker *slot;

		if (!probe_is_linker(map->path))
			continue;
		slot = vec_add(&linkers->known);
		if (slot)
			*slot = (struct linker){map->device, map->inode};
		return;
	}
}

static int attach(struct linkers *linkers, const char *path, uint64_t offset)
{
	const struct uprobe_place place = {.path = path, .offset = offset};
	struct uprobe *slot = vec_add(&linkers->probes);
	int r;

	if (!slot)
		return -ENOMEM;
	r = uprobe_attach(linkers->programs->bpf->progs.on_maps_changed, &place, slot);
	if (r)
		linkers->probes.count--;
	return r;
}

void linkers_hook(struct linkers *linkers, pid_t pid, const struct proc_maps *maps)
{
	char path[PATH_MAX];
	uint64_t offset;
	int r;

	if (is_known(linkers, maps))
		return;
	r = probe_linker_hook(pid, maps, path, sizeof(path), &offset);
	if (r && r != -EPERM && r != -EACCES)
		return; /* a static program, or a stripped linker: only exec tells of new maps */
	if (!r)
		r = attach(linkers, path, offset);
	if (r == -ESRCH || r == -ENOENT)
		return; /* it has ended; another process with this linker can be asked */
	if (r) {
		log_warning(
			"libraries that %d and others load later will not be seen: their linker "
			"cannot be probed: %s",
			pid, strerror(-r));
		linkers->unprobed++;
	}
	note(linkers, maps);
}

void linkers_close(struct linkers *linkers)
{
	for (size_t i = 0; i < linkers->probes.count; i++)
		uprobe_detach(&linkers->probes.items[i]);
	vec_free(&linkers->probes);
	vec_free(&linkers->known);
}
