/* The files that are probed, each with its plan and its probes; and the linkers that are. */
#pragma once

#include "captures.h"
#include "gc_wire.h"
#include "probe.h"
#include "programs.h"

/* A probed file, or for watchpoints a probed process. */
struct image {
	struct probe_plan plan;
	pid_t pid;		   /* of a per-process plan */
	VEC(struct uprobe) probes; /* and watchpoints, as links */
	uint64_t attached_ns;	   /* when the last of them was in place */
	/*
	 * Whether its layout was held against a process, which one to ask, and that it did not fit.
	 */
	bool checked, misfit;
	pid_t check_pid;
	struct proc_map check_map; /* without its path */
};

struct images {
	struct programs *programs;
	const struct captures *captures;
	const char *only_tier; /* one way to probe, for tests; NULL: the best */
	struct image items[GC_MAX_IMAGES];
	uint32_t count;
	uint64_t unprobed_facts; /* optional probes that could not be attached */
};

void images_close(struct images *images);

/* attach.c: index of the image for @plan, attached, or -errno with a sentence (-EINVAL: occupied). */
int images_attach(struct images *images, const struct probe_plan *plan, pid_t pid, struct err *err);
/* See trace_watch(). */
int images_watch(struct images *images, uint32_t index, const struct probe_site *site, pid_t tid,
	unsigned int bytes, bool inherit, uint64_t cookie, struct err *err);
void image_detach(struct image *image);

/* images.c: the image of this mapped file (and, with a watchpoint, this process). Its index or -1. */
int images_find(const struct images *images, pid_t pid, const struct proc_map *map);
/* The image of what was found in @pid (0: in a file), attached if it was not. Its index or -errno. */
int images_attach_found(struct images *images, pid_t pid, const struct probe_image *found,
	struct err *err);
/* Index + 1 of the image that a watchpoint of @pid watches; 0: none. */
uint32_t images_watched(const struct images *images, pid_t pid);
/* Lets go of what belonged to the program that @pid was before its exec. */
void images_forget(struct images *images, pid_t pid);
/* The same at its end, but for the probes: the kernel gave its forked children copies of them. */
void images_disown(struct images *images, pid_t pid);

/*
 * layout_check.c: holds image @index against @pid, where it is mapped as @map, once that has
 * started up.
 */
void images_check_later(struct images *images, uint32_t index, pid_t pid,
	const struct proc_map *map);
void images_check_turn(struct images *images);
