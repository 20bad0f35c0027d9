/*
 * Memory of GPUs beside steps and pauses, and steps that an allocator held up. In: pauses as they are read, the timeline
 * of the attribution. Does nothing without one. Not for other rooms. Definitions: docs/gpu.md.
 */
#pragma once

#include "attrib_priv.h"

/* Notes whether the pause that gpu_cost_note() noted last was a full collection. 0 or -ENOMEM. */
int device_memory_note(const struct attribution *attribution, struct charging *charging,
	const struct pause *pause);

/* Sets what steps and pauses have of it. @charging's intervals are sorted. 0 or -ENOMEM. */
int device_memory_find(struct attribution *attribution, const struct charging *charging);
