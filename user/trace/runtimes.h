/* The runtimes of processes: the recording's table of them, and what forked children have of their parents. */
#pragma once

#include "feed.h"
#include "images.h"
#include "u64map.h"

/* Processes are named by struct process.id, images by their index; u64 sets of images have a bit each. */
struct runtimes {
	struct feed *feed;
	const struct images *images;
	struct u64map rows;	 /* process and image → struct runtime.id */
	struct u64map aged;	 /* process and image → 1: those that ran before we came */
	struct u64map begun;	 /* process → when its program was started under our eyes */
	struct u64map inherited; /* process, a forked child → images: see runtimes_inherit() */
	struct u64map former; /* process → images of programs that it was: see runtimes_leave() */
	uint32_t ids;	      /* given out so far */
};

void runtimes_release(struct runtimes *runtimes);

/* The row of @image in @process, NULL if there is none; get: made if it is not there, and there is such an image. */
struct runtime *runtimes_find(const struct runtimes *runtimes, uint32_t process, uint32_t image);
struct runtime *runtimes_get(struct runtimes *runtimes, uint32_t process, uint32_t image);
bool runtimes_have(const struct runtimes *runtimes, uint32_t process, uint32_t image);
/* NULL if its process has been retired. */
struct runtime *runtimes_by_id(const struct runtimes *runtimes, uint32_t id);

/* Whether it ran before its process was looked at first. */
bool runtimes_aged(const struct runtimes *runtimes, uint32_t process, uint32_t image);
void runtimes_age(struct runtimes *runtimes, uint32_t process, uint32_t image);
/* Exec at @time_ns: what the new program has begins under our eyes. */
void runtimes_rejuvenate(struct runtimes *runtimes, uint32_t process, uint64_t time_ns);
/* The process is retired. */
void runtimes_forget(struct runtimes *runtimes, uint32_t process);

/*
 * inherit.c: a forked child has its parent's runtimes, but most children exec at once. They are the child's
 * own, and in the recording, once it collects, has lived for INHERITED_NS, or ends: runtimes_keep_inherited();
 * an exec before that forgets them. The turn keeps those of processes seen no later than @before_ns.
 */
#define INHERITED_NS 5000000000ull
void runtimes_inherit(struct runtimes *runtimes, uint32_t parent, uint32_t child);
void runtimes_keep_inherited(struct runtimes *runtimes, uint32_t process);
void runtimes_forget_inherited(struct runtimes *runtimes, uint32_t process);
void runtimes_inherited_turn(struct runtimes *runtimes, uint64_t before_ns);
/*
 * The runtimes that @process had are those of the program before its exec, and no child's, until one of
 * them is met again.
 */
void runtimes_leave(struct runtimes *runtimes, uint32_t process);
void runtimes_meet(struct runtimes *runtimes, uint32_t process, uint32_t image);
