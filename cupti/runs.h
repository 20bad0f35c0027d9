/*
 * The activities of a device, in any order, become blocks: times in which one stream had work without a gap. Where several
 * streams have some, each activity is a block: it may have come late without a gap. Blocks that lie apart by less than
 * RUN_GAP_NS, or overlap, leave the process as one record (collector_tick.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

/* As in user/gpu/gpu.h: */
#define RUN_GAP_NS 50000 /* GPU_IDLE_NS: shorter gaps are no idle intervals */
#define RUN_APART_NS                                                                               \
	1000 /* GPU_GAP_NS: times of one stream may overlap by that, as they are rounded */
#define RUN_PROMPT_NS 20000 /* GPU_LAUNCH_NS: nothing but its launch held it up */

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

/* Adds an activity [start_ns, end_ns); @alone: all are of its stream. 0 or -ENOMEM, with which it is not in. */
int runs_add(struct runs *runs, uint64_t start_ns, uint64_t end_ns, uint32_t correlation,
	bool alone);

/* By start. */
void runs_settle(struct runs *runs);
