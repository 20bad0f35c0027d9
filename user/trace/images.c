/* What is found in processes and files → images: probed by the best tier that there is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"
#include "log.h"

int images_find(const struct images *images, pid_t pid, const struct proc_map *map)
{
	for (uint32_t i = 0; i < images->count; i++) {
		const struct image *image = &images->items[i];

		if (image->plan.inode == map->inode && image->plan.device == map->device &&
			(!image->plan.per_process || image->pid == pid))
			return (int)i;
	}
	return -1;
}

/* The way to the file leads through the process: why there is none any more. */
static int explain_end(pid_t pid, int error, struct err *err)
{
	if (error >= 0 || !pid || !proc_has_no_memory(pid))
		return error;
	return err_set(err, ESRCH, "process %d ended while gctrace attached to it", pid);
}

/* Attaches by the best tier that the file allows and the kernel grants. -ESRCH: @pid has ended. */
static int attach_image(struct images *images, pid_t pid, const struct probe_image *found,
	struct err *err)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	struct err refused = {};
	int r;

	if (!plan)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t tier = 0;; tier++) {
		r = explain_end(pid, probe_plan(pid, found, images->only_tier, &tier, plan, err),
			err);
		if (r) {
			if (refused.text[0] && r != -ESRCH)
				err_prefix(err, "%s", refused.text);
			break;
		}
		if (plan->per_process && !pid) {
			r = err_set(err, ENOENT, "%s can be probed in a process only",
				plan->shown_path);
			break;
		}
		r = explain_end(pid, images_attach(images, plan, pid, err), err);
		if (r >= 0 || r == -EPERM || r == -ESRCH)
			break;
		log_warning("%s; trying another way", err->text);
		refused = *err;
	}
	free(plan);
	return r;
}

int images_attach_found(struct images *images, pid_t pid, const struct probe_image *found,
	struct err *err)
{
	int index = images_find(images, pid, &found->map);

	return index < 0 ? attach_image(images, pid, found, err) : index;
}

void images_forget(struct images *images, pid_t pid)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (images->items[i].plan.per_process && images->items[i].pid == pid) {
			image_detach(&images->items[i]);
			images->items[i].pid = -1;
		}
}

void images_disown(struct images *images, pid_t pid)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (images->items[i].plan.per_process && images->items[i].pid == pid)
			images->items[i].pid = -1;
}

uint32_t images_watched(const struct images *images, pid_t pid)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (images->items[i].plan.per_process && images->items[i].pid == pid)
			return i + 1;
	return 0;
}

void images_close(struct images *images)
{
	for (uint32_t i = 0; i < images->count; i++)
		image_detach(&images->items[i]);
}
