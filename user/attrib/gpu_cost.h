/*
 * What pauses cost GPUs, and steps by that. In: pauses as they are read, the charged intervals, the timeline of the
 * attribution. Out: attribution.gpu_charges, and the cost of each track whose pauses all have a known one. Does nothing
 * without a timeline. Not for other rooms. Definitions: docs/gpu.md.
 */
#pragma once

#include "attrib_priv.h"

/* Notes a pause of @process, or NULL, in the order in which they are read. 0 or -ENOMEM. */
int gpu_cost_note(const struct attribution *attribution, struct charging *charging,
	const struct process *process, const struct pause *pause, bool stops_all);
/* The same of a worker's pause, the last noted: it holds up the thread that waits for it for @waited_ns. */
void gpu_cost_note_worker(const struct attribution *attribution, struct charging *charging,
	uint32_t track, uint64_t waited_ns);
/* Charges what was noted. @charging's intervals are sorted. 0 or -ENOMEM. */
int gpu_cost_find(struct attribution *attribution, struct charging *charging);
/* Gives tracks, steps and charges what was lost, where that is known by GPU records, instead of what they have. */
void gpu_cost_apply(struct attribution *attribution, const struct charging *charging);
