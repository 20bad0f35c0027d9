// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CPython's collector: begin and end of each collection → one gc_pause record at its end. */
#include "cpython_stack.bpf.h"

const volatile __u64 min_stack_ns = 50000; /* pauses shorter than this carry no stack */
const volatile __u32 wakeup_bytes = 1 << 20; /* unread bytes that wake the reader early */

/* interp->gc counters from `enabled` to the first count are within this many bytes. */
#define GC_HEAD 48

/* Three {collections, collected, uncollectable} in generation order. False if unreadable. */
static __always_inline bool read_books(const struct gc_layout *layout, __u64 gc, __u64 books[9])
{
	__u64 rings;

	if (layout->stats_kind == GC_STATS_INLINE)
		return !bpf_probe_read_user(books, 72, (void *)(gc + layout->gc_stats));
	rings = read_u64(gc + layout->gc_stats);
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

/* Automatic iff enabled and generation 0's count is over its threshold when the call begins. */
static __always_inline __u32 cause_by_counts(const struct gc_layout *layout, __u64 gc)
{
	struct {
		__s32 threshold, count;
	} young = {};
	__s32 enabled = 0;

	if (layout->gc_counts == GC_NO_FIELD ||
		bpf_probe_read_user(&enabled, 4, (void *)(gc + layout->gc_enabled)) ||
		bpf_probe_read_user(&young, 8, (void *)(gc + layout->gc_counts)))
		return GC_CAUSE_UNKNOWN;
	if (enabled && young.threshold && young.count > young.threshold)
		return GC_CAUSE_AUTOMATIC;
	return GC_CAUSE_MANUAL;
}

static __always_inline __u32 cause_of(struct pt_regs *ctx, const struct gc_layout *layout,
	__u64 gc)
{
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
	case GC_REASON_NOFAIL:
		if ((__u32)PT_REGS_PARM5(ctx))
			return GC_CAUSE_SHUTDOWN;
	}
	return cause_by_counts(layout, gc);
}

/* The GIL holder of the interpreter that this very thread runs (3.12+): thread_id is its fsbase. */
static __always_inline __u64 tstate_by_gil(const struct gc_layout *layout, __u64 runtime)
{
	__u64 self = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
	__u64 interpreter = read_u64(runtime + layout->runtime_head);

	for (int i = 0; i < 32 && interpreter; i++) {
		__u64 gil = read_u64(interpreter + layout->interp_gil);
		__u64 holder = read_u64(gil + layout->gil_holder);

		if (holder && read_u64(holder + layout->tstate_thread) == self)
			return holder;
		interpreter = read_u64(interpreter + layout->interp_next);
	}
	return 0;
}

static __always_inline __u64 find_tstate(struct pt_regs *ctx, const struct gc_layout *layout,
	__u64 runtime)
{
	switch (layout->tstate_source) {
	case GC_TSTATE_ARG1:
		return PT_REGS_PARM1(ctx);
	case GC_TSTATE_CURRENT:
		return read_u64(runtime + layout->runtime_current);
	case GC_TSTATE_RUNTIME_GIL:
		return read_u64(runtime + layout->runtime_gil + layout->gil_holder);
	}
	return tstate_by_gil(layout, runtime);
}

static __always_inline void show_open(struct thread_state *state, bool open)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct shared *s = shared();
	struct gc_open *slot;

	if (!s)
		return;
	slot = &s->open[(__u32)id % GC_OPEN_SLOTS];
	if (open) {
		slot->start_ns = state->start_ns;
		slot->pid = id >> 32;
		slot->tid = (__u32)id;
	} else {
		slot->tid = 0;
	}
}

static __always_inline struct thread_state *thread_state(bool create)
{
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
		create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* @runtime: the address of _PyRuntime in this process, 0 where nothing needs it. */
static __always_inline int begin(struct pt_regs *ctx, __u32 image, __u64 runtime)
{
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);
	struct thread_state *state;

	if (!layout)
		return 0;
	state = thread_state(true);
	if (!state) {
		count_drop(GC_DROP_THREAD);
		return 0;
	}
	if (state->depth++) {
		state->flags |= GC_PAUSE_NESTED;
		return 0;
	}
	state->image = image;
	state->runtime = runtime;
	state->flags = 0;
	state->tstate = find_tstate(ctx, layout, runtime);
	state->interpreter = read_u64(state->tstate + layout->tstate_interp);
	state->gc = layout->runtime_gc ? runtime + layout->runtime_gc
				       : state->interpreter + layout->interp_gc;
	state->gil = layout->runtime_gil ? runtime + layout->runtime_gil
					 : read_u64(state->interpreter + layout->interp_gil);
	state->gil_switches = read_u64(state->gil + layout->gil_switches);
	state->has_books = read_books(layout, state->gc, state->before);
	state->cause = cause_of(ctx, layout, state->gc);
	state->generation = layout->tstate_source == GC_TSTATE_ARG1 ? (__s32)PT_REGS_PARM2(ctx) : -1;
	state->start_ns = bpf_ktime_get_ns();
	show_open(state, true);
	return 0;
}

/*
 * Which generation's counter moved says what was collected; none: the call did nothing, 0 is
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
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		record->collections[i] = after[3 * i];
		if (after[3 * i] == state->before[3 * i])
			continue;
		moved = 1;
		record->generation = i;
		record->collected = after[3 * i + 1] - state->before[3 * i + 1];
		record->uncollectable = after[3 * i + 2] - state->before[3 * i + 2];
	}
	return moved;
}

static __always_inline void send_pause(struct gc_pause *record)
{
	__u64 size = GC_PAUSE_SIZE(record->frame_count & GC_MAX_FRAMES);
	__u64 flags = BPF_RB_NO_WAKEUP;

	record->header.size = size;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&events, record, size, flags))
		count_drop(GC_DROP_RING);
}

static __always_inline int end(__u64 end_ns)
{
	struct thread_state *state = thread_state(false);
	const struct gc_layout *layout;
	struct gc_pause *record;

	if (!state)
		return 0; /* its begin was before us */
	if (!state->depth) {
		count_drop(GC_DROP_UNMATCHED_END);
		return 0;
	}
	if (--state->depth)
		return 0;
	layout = bpf_map_lookup_elem(&layouts, &state->image);
	if (!layout)
		return 0;
	show_open(state, false);
	record = &state->record;
	record->frame_count = 0;
	if (!settle_books(state))
		return 0;
	if (read_u64(state->gil + layout->gil_switches) != state->gil_switches)
		state->flags |= GC_PAUSE_GIL_RELEASED;
	if (state->cause == GC_CAUSE_MANUAL && record->generation == 2 && state->runtime &&
		read_u64(state->runtime + layout->runtime_finalizing))
		state->cause = GC_CAUSE_SHUTDOWN;
	if (end_ns - state->start_ns >= min_stack_ns)
		walk_stack(state);
	fill_header(&record->header, GC_EVENT_PAUSE, 0);
	record->header.time_ns = end_ns;
	record->start_ns = state->start_ns;
	record->interpreter = state->interpreter;
	record->image = state->image;
	record->cause = state->cause;
	record->flags = state->flags;
	send_pause(record);
	return 0;
}

static __always_inline bool is_target(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&targets, &tgid);
}

/* The load bias, and with it _PyRuntime's address, follows from where this probe was hit. */
static __always_inline int begin_here(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 image = GC_COOKIE_IMAGE(cookie);
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);
	__u64 bias;

	if (!layout)
		return 0;
	bias = PT_REGS_IP(ctx) - layout->site_address[GC_COOKIE_SITE(cookie)];
	return begin(ctx, image, bias + layout->runtime_address);
}

SEC("uprobe")
int on_collect_begin(struct pt_regs *ctx)
{
	return is_target() ? begin_here(ctx) : 0;
}

SEC("uprobe")
int on_collect_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();

	return is_target() ? end(now) : 0;
}

extern bool bpf_session_is_return(void) __ksym __weak;

/*
 * All of it in one uprobe session (kernel 6.13): cheaper, and its 1 at an entry spares a process
 * that is not ours the return probe. trace/ sets the attach type, which libbpf 1.1 does not know.
 */
SEC("uprobe")
int on_collect_session(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 kind;

	kind = GC_COOKIE_KIND(bpf_get_attach_cookie(ctx));
	if (bpf_session_is_return() || kind == GC_SITE_END) {
		if (is_target())
			end(now);
		return 1;
	}
	if (!is_target())
		return 1;
	begin_here(ctx);
	return kind != GC_SITE_FUNCTION;
}

/*
 * A write to interp->gc.collecting, of a runtime where no function could be found. Its edges 0 → 1
 * and 1 → 0 are the begin and the end; the attach cookie is the image, the address tells the rest.
 */
SEC("perf_event")
int on_collecting_write(struct bpf_perf_event_data *ctx)
{
	struct thread_state *state = thread_state(false);
	__u32 image = GC_COOKIE_IMAGE(bpf_get_attach_cookie(ctx));
	__u64 now = bpf_ktime_get_ns();
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);
	__s32 collecting = 0;

	if (!is_target() || !layout ||
		bpf_probe_read_user(&collecting, 4, (void *)ctx->addr))
		return 0;
	if (state && state->depth && !collecting)
		return end(now);
	if (collecting && (!state || !state->depth))
		return begin((struct pt_regs *)&ctx->regs, image, layout->runtime_address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
