/*
 * A second net for layouts that do not fit: the calls of a process's collector that moved no counter, held
 * against those that did.
 */
#pragma once

#include <bpf/libbpf.h>

#include "images.h"
#include "u64map.h"

struct in_vain {
	struct images *images;
	const struct bpf_map *map; /* BPF's count, struct gc_vain → u64 */
	struct u64map pauses;	   /* pid and image → those that were seen */
};

/* A pause of @image in process @pid was seen. */
void in_vain_pause(struct in_vain *in_vain, pid_t pid, uint32_t image);
/*
 * The program that @pid was has ended, and its pauses are drained; 0: all have, as the recording does. An image of
 * whose calls too many were in vain becomes a misfit.
 */
void in_vain_settle(struct in_vain *in_vain, pid_t pid);
/* Whether @unmoved calls in vain beside @pauses say that the counters are not where they are looked for. */
bool in_vain_too_many(uint64_t unmoved, uint64_t pauses);
void in_vain_release(struct in_vain *in_vain);
