/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The collector's own counters: interp->gc as a window at a begin, state->before against the same
 * counters at an end → what was collected, by state->record and state->flags, or that nothing was.
 */
#pragma once

#include "cpython_thread.bpf.h"

/*
 * The head of interp->gc, with all that a begin must know of it. It lies on the stack: copying into other
 * memory takes the kernel (CONFIG_HARDENED_USERCOPY) half as long again.
 */
#define GC_WINDOW 256

struct gc_window {
	__u8 bytes[GC_WINDOW] __attribute__((aligned(8)));
};

#define IN_WINDOW(offset, size) ((offset) <= GC_WINDOW - (size))

/*
 * Fields at an offset that lies in the window; whole words, as the fields are. The masks are for
 * the verifier, out of clang's sight: it would drop them, and the offset's bound be forgotten where
 * it is reloaded.
 */
static __always_inline __u64 window_u64(const struct gc_window *window, __u64 offset)
{
	asm volatile("" : "+r"(offset));
	return *(__u64 *)offset_by(window->bytes, offset & (GC_WINDOW - 8));
}

static __always_inline __s32 window_s32(const struct gc_window *window, __u64 offset)
{
	asm volatile("" : "+r"(offset));
	return *(__s32 *)offset_by(window->bytes, offset & (GC_WINDOW - 4));
}

/* Three {collections, collected, uncollectable} in generation order. False if unreadable. */
static __always_inline bool read_rings(const struct gc_layout *layout, __u64 rings, __u64 books[9])
{
	for (int i = 0; i < 3; i++) {
		__u8 index = 0;
		__u64 item;

		if (bpf_probe_read_user(&index, 1, (void *)(rings + layout->stats_ring_index[i])))
			return false;
		item = rings + layout->stats_ring_base[i] + index * layout->stats_item;
		if (bpf_probe_read_user(&books[i * 3], 24,
			    (void *)(item + layout->stats_item_collections)))
			return false;
	}
	return true;
}

static __always_inline bool read_books(const struct gc_layout *layout, __u64 gc, __u64 books[9])
{
	if (layout->stats_kind == GC_STATS_INLINE)
		return !bpf_probe_read_user(books, 72, (void *)(gc + layout->gc_stats));
	return read_rings(layout, read_u64(gc + layout->gc_stats), books);
}

/* read_books() from a window. */
static __always_inline bool take_books(const struct gc_layout *layout,
	const struct gc_window *window, __u64 books[9])
{
	__u64 at = layout->gc_stats;

	if (layout->stats_kind == GC_STATS_RINGS)
		return IN_WINDOW(at, 8) && read_rings(layout, window_u64(window, at), books);
	if (!IN_WINDOW(at, 72))
		return false;
	for (int i = 0; i < 9; i++)
		books[i] = window_u64(window, at + 8 * i);
	return true;
}

static __always_inline void take_heap(struct thread_state *state, const struct gc_layout *layout,
	const struct gc_window *window)
{
	__u64 at = layout->gc_long_lived;

	if (!IN_WINDOW(at, 16))
		return;
	state->record.heap_objects = window_u64(window, at);
	state->record.heap_pending = window_u64(window, at + 8);
	state->flags |= GC_PAUSE_HEAP;
}

#define GENERATION_BYTES 24 /* of one: its list's head, threshold, count */

static __always_inline void take_thresholds(struct thread_state *state,
	const struct gc_layout *layout, const struct gc_window *window)
{
	__u64 at = layout->gc_counts;

	if (!IN_WINDOW(at, 3 * GENERATION_BYTES))
		return;
	for (int i = 0; i < 3; i++)
		state->record.thresholds[i] = window_s32(window, at + GENERATION_BYTES * i);
	state->flags |= GC_PAUSE_THRESHOLDS;
}

/* Whether a generation was collected since @before. */
static __always_inline bool books_moved(const __u64 before[9], const __u64 now[9])
{
	return before[0] != now[0] || before[3] != now[3] || before[6] != now[6];
}

/*
 * A begin within a pause: the collector was called once more, to no effect; or the pause's end was
 * lost, as where the kernel did not find the thread's state (before 6.2). Its counters moved then, and
 * the reader will miss it in the books.
 */
__noinline int end_was_lost(struct thread_state *state)
{
	const struct gc_layout *layout;
	__u64 now[9] = {};
	__u32 image;

	if (!state)
		return 0;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	return layout && state->has_books && read_books(layout, state->gc, now) &&
	       books_moved(state->before, now);
}

/*
 * Which interpreter it is: read while it collects, since by the time the record is, it may have ended and
 * another may lie at its address. Where there is only one, nobody needs to ask.
 */
static __always_inline __s32 number_of(const struct gc_layout *layout,
	const struct thread_state *state)
{
	__u32 zero = 0;
	const __u64 *several = bpf_map_lookup_elem(&several_interpreters, &zero);

	return several && *several && state->tstate
		       ? (__s32)read_u64(state->interpreter + layout->interp_number)
		       : -1;
}

/*
 * Which generation's counter moved says what was collected; if none did, the call did nothing, and 0 is
 * returned. A global function, like walk_stack(): its branches are verified once, not per caller.
 */
__noinline int settle_books(struct thread_state *state)
{
	const struct gc_layout *layout;
	struct gc_pause *record;
	__u64 after[9] = {};
	__u32 image;
	int moved = 0;

	if (!state)
		return 0;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return 0;
	record = &state->record;
	if (!state->has_books || !read_books(layout, state->gc, after)) {
		state->flags |= GC_PAUSE_NO_BOOKS;
		record->generation = state->generation;
		record->collected = record->uncollectable = 0;
		moved = 1;
	} else {
		for (int i = 0; i < 3; i++) {
			record->collections[i] = after[3 * i];
			if (after[3 * i] == state->before[3 * i])
				continue;
			moved = 1;
			record->generation = i;
			record->collected = after[3 * i + 1] - state->before[3 * i + 1];
			record->uncollectable = after[3 * i + 2] - state->before[3 * i + 2];
		}
	}
	/* Unmoved books of another interpreter say nothing: look at the right ones from now on. */
	if (!moved && !layout->runtime_gc &&
		read_u64(state->tstate + layout->tstate_interp) != state->interpreter) {
		state->tstate = 0;
		state->flags = (state->flags & ~GC_PAUSE_HEAP) | GC_PAUSE_NO_BOOKS;
		record->generation = state->generation;
		moved = 1;
	}
	/* 3.14.0 - 3.14.4 do not count a pass of generation 1 that only marks: it has stopped the program all the same. */
	if (!moved && layout->deferred == GC_DEFERRED_INCREMENT) {
		record->generation = 1;
		record->collected = record->uncollectable = 0;
		moved = 1;
	}
	record->number = number_of(layout, state);
	/* It was not the one that was due. */
	if (moved && state->cause == GC_CAUSE_AUTOMATIC && state->due >= 0 &&
		record->generation >= 0 && state->due != record->generation)
		state->cause = GC_CAUSE_MANUAL;
	/* Only _PyRuntime.finalizing distinguishes a collection at the exit from one that the user asked for. */
	if (moved && state->cause == GC_CAUSE_MANUAL && record->generation == 2 &&
		read_u64(state->runtime + layout->runtime_finalizing))
		state->cause = GC_CAUSE_SHUTDOWN;
	return moved;
}
