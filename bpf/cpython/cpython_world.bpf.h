/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Free-threaded builds: the collector's calls that stop all other threads and let them go → state->record.stops, and with
 * the first of them that this call of the collector collects.
 */
#pragma once

#include "cpython_books.bpf.h"

/* What the reader is shown as a pause in progress. */
static __always_inline void show_pause(const struct thread_state *state)
{
	struct gc_open *slot = open_slot(state->record.header.tid);

	if (!slot)
		return;
	slot->tid = state->record.header.tid;
	slot->pid = state->record.header.pid;
	slot->start_ns = state->start_ns;
	slot->image = state->image;
	slot->kind = state->generation;
	slot->cause = state->cause;
}

/*
 * From here on nobody else collects. Only now are the counters what this collection finds: between the entry and the
 * collector's own look at gc.collecting another thread may have ended one.
 */
static __always_inline void begin_for_sure(struct thread_state *state)
{
	__u32 image = state->image;
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);

	if (layout)
		state->has_books = read_books(layout, state->gc, state->before);
	state->sure = 1;
	show_pause(state);
}

/* A global function: verified once. @kind: GC_SITE_STOP, _STOPPED or _START. */
__noinline int note_world(struct thread_state *state, __u32 kind, __u64 now)
{
	struct gc_stop *stop;
	__u32 count;

	if (!state || !state->depth)
		return 0;
	count = state->record.stop_count;
	if (kind == GC_SITE_STOP) {
		if (!count)
			begin_for_sure(state);
		if (count < GC_MAX_STOPS)
			state->record.stops[count & (GC_MAX_STOPS - 1)] =
				(struct gc_stop){now, 0, 0};
		state->record.stop_count = count < GC_MAX_STOPS ? count + 1 : GC_MAX_STOPS + 1;
		return 0;
	}
	if (!count || count > GC_MAX_STOPS)
		return 0;
	stop = &state->record.stops[(count - 1) & (GC_MAX_STOPS - 1)];
	if (kind == GC_SITE_STOPPED)
		stop->stopped_ns = now;
	else if (stop->stopped_ns)
		stop->end_ns = now;
	return 0;
}

/* At the end: whether all that was begun was seen to end. */
static __always_inline void settle_world(struct thread_state *state)
{
	__u32 count = state->record.stop_count;
	bool whole = count && count <= GC_MAX_STOPS;

	for (__u32 i = 0; i < GC_MAX_STOPS; i++)
		whole &= i >= count || state->record.stops[i].end_ns;
	if (whole)
		state->flags |= GC_PAUSE_STOPS;
}

/* Whether the GIL is on, as an extension module or PYTHON_GIL=1 has it: others wait for it all the time. */
static __always_inline void note_gil(struct thread_state *state, const struct gc_layout *layout)
{
	__u32 enabled = 0;
	__u64 gil;

	if (layout->gil_enabled == GC_NO_FIELD)
		return;
	gil = read_u64(state->interpreter + layout->interp_gil);
	if (gil &&
		!bpf_probe_read_user(&enabled, sizeof(enabled),
			(void *)(gil + layout->gil_enabled)) &&
		enabled)
		state->flags |= GC_PAUSE_GIL;
}
