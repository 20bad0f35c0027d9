/*
 * The activities of a device, in any order, become blocks: times in which it had work without a gap. Blocks that lie apart
 * by less than RUN_GAP_NS leave the process as one record (collector_tick.c).
 */
#pragma once

#include <stdint.h>

#include "list.h"

#define RUN_GAP_NS 50000 /* GPU_IDLE_NS of user/gpu/gpu.h: shorter gaps are no idle intervals */

struct block {
	uint64_t start_ns, end_ns;
	uint32_t correlation; /* of the activity that began first */
	uint32_t tid;	      /* that launched it, as far as is known; like the next two */
	uint64_t launch_ns, previous_ns;
};

struct runs {
	LIST(struct block) blocks;
	bool unordered; /* some block begins before the one that it follows */
	size_t matched; /* blocks whose launches were looked for; the owner's */
};

/* Adds an activity [start_ns, end_ns). 0 or -ENOMEM, with which it is not in. */
int runs_add(struct runs *runs, uint64_t start_ns, uint64_t end_ns, uint32_t correlation);

/* By start, and apart. */
void runs_settle(struct runs *runs);
