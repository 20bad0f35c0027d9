/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Why the collector was called: its arguments, its return address, the window of a begin → a
 * GC_CAUSE_*, with the generation that was due in state->due, or that the call will do nothing.
 */
#pragma once

#include "cpython_books.bpf.h"

/*
 * The generation that the collector would choose by itself, -1: none. The oldest one whose count is over its
 * threshold; the last one only once a quarter more objects wait for it.
 */
static __always_inline __s32 due_generation(const struct gc_layout *layout,
	const struct gc_window *window)
{
	__u64 counts = layout->gc_counts, lived = layout->gc_long_lived;

	/* Up to 3.11 it begins at the very moment at which generation 0 gets there. */
	if (!layout->deferred && window_s32(window, counts + 4) <= window_s32(window, counts))
		return -1;
	if (layout->deferred == GC_DEFERRED_INCREMENT)
		return window_s32(window, counts + 4) > window_s32(window, counts) ? 1 : -1;
	for (int i = 2; i >= 0; i--) {
		__u64 at = counts + GENERATION_BYTES * i;

		if (window_s32(window, at + 4) <= window_s32(window, at))
			continue;
		if (i < 2 || !IN_WINDOW(lived, 16) ||
			window_u64(window, lived + 8) >= window_u64(window, lived) >> 2)
			return i;
	}
	return -1;
}

static __always_inline __u32 cause_by_caller(struct pt_regs *ctx, const struct gc_layout *layout,
	__u64 runtime)
{
	__u64 bias = runtime - layout->runtime_address;
	__u64 caller = MACHINE_PLAIN(MACHINE_CALLER(ctx, layout->caller_at), runtime) - bias;

	/* Elsewhere: another tracer has put its return probe there. */
	if (caller < layout->caller_first || caller > layout->caller_last)
		return GC_CAUSE_UNKNOWN;
	for (int i = 0; i < GC_MAX_CALLERS; i++)
		if (layout->manual_return[i] == caller)
			return GC_CAUSE_MANUAL;
	return GC_CAUSE_AUTOMATIC;
}

/*
 * Where no argument says why. The counters alone mistake a collection by hand of the generation that
 * is just due for an automatic one: settle_books() knows which one it was.
 */
static __always_inline __u32 cause_by_counts(struct pt_regs *ctx, struct thread_state *state,
	const struct gc_layout *layout, const struct gc_window *window)
{
	__u64 counts = layout->gc_counts, enabled = layout->gc_enabled;
	__u32 cause = GC_CAUSE_UNKNOWN;
	__s32 due;

	if (!IN_WINDOW(counts, 3 * GENERATION_BYTES) || !IN_WINDOW(enabled, 4))
		return GC_CAUSE_UNKNOWN;
	if (!window_s32(window, enabled) || !window_s32(window, counts))
		return GC_CAUSE_MANUAL;
	due = due_generation(layout, window);
	if (layout->manual_count && (due >= 0 || layout->deferred))
		cause = cause_by_caller(ctx, layout, state->runtime);
	if (cause)
		return cause;
	state->due = due;
	return due >= 0 ? GC_CAUSE_AUTOMATIC : GC_CAUSE_MANUAL;
}

static __always_inline __u32 cause_of(struct pt_regs *ctx, struct thread_state *state,
	const struct gc_layout *layout, const struct gc_window *window)
{
	state->due = -1;
	if (state->site == GC_SITE_CLONE)
		return GC_CAUSE_UNKNOWN;
	if (state->site == GC_SITE_CLONE_MANUAL)
		return GC_CAUSE_MANUAL;
	switch (layout->reason_source) {
	case GC_REASON_ARG3:
		switch ((__u32)PT_REGS_PARM3(ctx)) {
		case 0:
			return GC_CAUSE_AUTOMATIC;
		case 1:
			return GC_CAUSE_SHUTDOWN;
		case 2:
			return GC_CAUSE_MANUAL;
		}
		return GC_CAUSE_UNKNOWN;
	case GC_REASON_NONE:
		return GC_CAUSE_UNKNOWN;
	case GC_REASON_NOFAIL:
		if ((__u32)PT_REGS_PARM5(ctx))
			return GC_CAUSE_SHUTDOWN;
	}
	return cause_by_counts(ctx, state, layout, window);
}

/*
 * Whether this call of the collector, which is entered before it looks, will do nothing: a
 * collection is under way, maybe another thread's or greenlet's; or it is to choose a generation, and
 * none is due.
 */
static __always_inline bool is_idle(struct pt_regs *ctx, const struct gc_layout *layout,
	const struct gc_window *window)
{
	__u64 collecting = layout->gc_collecting;

	if (!IN_WINDOW(collecting, 4))
		return false;
	if (window_s32(window, collecting) == 1) /* anything else is not this flag */
		return true;
	return layout->tstate_source == GC_TSTATE_ARG1 && (__s32)PT_REGS_PARM2(ctx) == -1 &&
	       IN_WINDOW(layout->gc_counts, 3 * GENERATION_BYTES) &&
	       IN_WINDOW(layout->gc_long_lived, 16) && due_generation(layout, window) < 0;
}
