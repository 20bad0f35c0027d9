/*
 * Whether what was probed can be read: a layout that does not fit would make a process look quiet.
 * In: attached images, calls of their collectors that moved no counter. Out: runtimes that are not
 * understood.
 */
#include <errno.h>

#include "images.h"
#include "log.h"
#include "proc.h"

void images_check_later(struct images *images, uint32_t index, pid_t pid,
	const struct proc_map *map)
{
	struct image *image = &images->items[index];

	image->check_map = *map;
	image->check_map.path = NULL;
	image->check_pid = pid;
}

/* What lies now where a library was that its process has closed says nothing of the library. */
static bool still_mapped(const struct image *image)
{
	const struct proc_map *wanted = &image->check_map;
	struct proc_maps maps = {};
	bool found = false;

	if (proc_maps_read(image->check_pid, &maps))
		return false;
	for (size_t i = 0; i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		found |= map->start == wanted->start && map->device == wanted->device &&
			 map->inode == wanted->inode;
	}
	proc_maps_release(&maps);
	return found;
}

static void check(struct image *image)
{
	int r = probe_fits(image->check_pid, &image->check_map, &image->plan);

	if (r == -EPROTO && !still_mapped(image))
		r = -EAGAIN; /* until it is opened again */
	image->checked = r != -EAGAIN;
	image->misfit |= r == -EPROTO;
	if (r == -EPROTO)
		log_warning(
			"%s says that it is %s %s, but in process %d its state is not where that "
			"version keeps it",
			image->plan.shown_path, image->plan.kind, image->plan.version,
			image->check_pid);
}

/* A runtime that had not started up when it was planned. */
void images_check_turn(struct images *images)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (!images->items[i].checked && images->items[i].check_pid)
			check(&images->items[i]);
}
