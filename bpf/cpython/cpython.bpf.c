// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CPython's collector: begin and end of each collection → one gc_pause record at its end. */
#include "cpython_books.bpf.h"
#include "cpython_cause.bpf.h"
#include "cpython_interpreter.bpf.h"
#include "cpython_stack.bpf.h"
#include "cpython_world.bpf.h"
#include "memory.bpf.h"
#include "wait.bpf.h"

/* What all pauses of this thread have in common. */
static __always_inline void begin_record(struct gc_pause *record)
{
	__u64 id = current_ids();

	record->header.type = GC_EVENT_PAUSE;
	record->header.pid = id >> 32;
	record->header.tid = (__u32)id;
}

/* The state of a thread of a target; NULL for any other. Only a target's thread ever has one. */
static __always_inline struct thread_state *target_state(void)
{
	struct thread_state *state = thread_state(0);
	__u32 tgid = current_tgid();

	if (state)
		return state;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	state = thread_state(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		count_drop(GC_DROP_THREAD);
		return NULL;
	}
	begin_record(&state->record);
	return state;
}

static __always_inline struct known what_is_known(const struct thread_state *state)
{
	return (struct known){state->tstate, state->interpreter, state->gc, state->runtime};
}

/* A call that does nothing leaves the pause under way as it was. */
static __always_inline void know_again(struct thread_state *state)
{
	if (!state->depth)
		return;
	state->tstate = state->known.tstate;
	state->interpreter = state->known.interpreter;
	state->gc = state->known.gc;
	state->runtime = state->known.runtime;
	state->flags |= GC_PAUSE_NESTED;
}

/*
 * Whether this thread is in a collection, and calls the collector once more. An earlier call that did not collect passed
 * no end, either.
 */
static __always_inline bool is_nested(struct thread_state *state, const struct gc_layout *layout)
{
	if (!state->depth || layout->idle_source == GC_IDLE_STATE)
		return false;
	if (layout->idle_source == GC_IDLE_WORLD && !state->record.stop_count)
		return false;
	return !end_was_lost(state);
}

/*
 * @runtime: the address of _PyRuntime in this process. Never inlined: the window would lie on the
 * stack below walk_stack() and what it calls, and 512 bytes are for all of them together. Returns
 * the depth: without a result it may leave an address of its stack where the verifier looks for
 * one.
 */
static __noinline int begin_now(struct pt_regs *ctx, struct thread_state *state, __u32 image,
	const struct gc_layout *layout, __u64 runtime)
{
	const bool may_idle = layout->idle_source == GC_IDLE_STATE;
	struct gc_window window;
	bool readable;

	if (is_nested(state, layout)) {
		state->depth++;
		state->flags |= GC_PAUSE_NESTED;
		return (int)state->depth;
	}
	state->known = what_is_known(state);
	state->runtime = runtime;
	find_interpreter(state, layout, find_tstate(ctx, state, layout, runtime));
	readable = !bpf_probe_read_user(&window, sizeof(window), (void *)state->gc);
	if (may_idle && (readable ? is_idle(ctx, layout, &window) : state->depth)) {
		know_again(state);
		return (int)state->depth;
	}
	state->depth = 1; /* if it was so before, that pause's end was lost: the books show it */
	state->inherited = 0;
	state->image = image;
	state->flags = 0;
	state->sure = !layout->free_threaded || !(may_idle || layout->idle_source == GC_IDLE_WORLD);
	state->record.stop_count = 0;
	state->has_books = readable && take_books(layout, &window, state->before);
	state->cause = state->has_books ? cause_of(ctx, state, layout, &window) : GC_CAUSE_UNKNOWN;
	if (state->has_books) {
		take_heap(state, layout, &window);
		take_thresholds(state, layout, &window);
	}
	if (read_rss(&state->record.rss_start))
		state->flags |= GC_PAUSE_RSS;
	watch_parent(state);
	state->generation = layout->tstate_source == GC_TSTATE_ARG1 && !is_clone(state)
				    ? (__s32)PT_REGS_PARM2(ctx)
				    : -1;
	state->sleeps = bpf_get_current_task_btf()->nvcsw;
	note_gil(state, layout);
	state->start_ns = bpf_ktime_get_ns();
	if (state->sure)
		show_pause(state);
	return (int)state->depth;
}

static __always_inline void begin(struct pt_regs *ctx, struct thread_state *state, __u32 image,
	const struct gc_layout *layout, __u64 runtime)
{
	int result = begin_now(ctx, state, image, layout, runtime);

	asm volatile("" : : "r"(result)); /* clang computes none that is not used */
}

static __always_inline void send_pause(struct thread_state *state)
{
	struct gc_pause *record = &state->record;
	__u64 size = GC_PAUSE_SIZE(record->frame_count & GC_MAX_FRAMES);

	record->header.size = size;
	send_record(record, size, &state->sent);
}

/*
 * A call of the collector that should have moved a counter, wherever that is. A global function: its key is on no
 * stack but its own.
 */
__noinline int note_unmoved(struct thread_state *state)
{
	struct gc_vain key = {};

	if (!state)
		return 0;
	key.image = state->image;
	key.pid = state->record.header.pid;
	count_in_vain(&key);
	return 0;
}

/* In a free-threaded build it stops all other threads to do so. A global function, as settle_books() is. */
__noinline int may_have_collected(struct thread_state *state)
{
	const struct gc_layout *layout;
	__u32 image;

	if (!state)
		return 0;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	return !layout || layout->idle_source != GC_IDLE_WORLD || state->record.stop_count;
}

/*
 * Whether the pause ends here. @kind: of the site. A place is no end for a call that does nothing,
 * nor one that was passed before: neither finds counters that have moved.
 */
static __always_inline bool ends_here(struct thread_state *state, __u32 kind)
{
	if (kind == GC_SITE_PLACE) {
		if (!state->depth)
			return false;
		if (!may_have_collected(state)) {
			state->depth = 0;
			return false;
		}
		if (!settle_books(state)) {
			if (state->sure)
				note_unmoved(state);
			return false;
		}
		state->depth = 0;
		return true;
	}
	if (!state->depth && state->start_ns)
		count_drop(GC_DROP_UNMATCHED_END); /* else its begin was before us */
	return state->depth && !--state->depth;
}

static __always_inline void end(struct thread_state *state, __u64 end_ns, __u32 kind)
{
	struct gc_open *slot;
	struct gc_pause *record;

	if (!ends_here(state, kind))
		return;
	slot = open_slot(state->record.header.tid);
	if (slot)
		slot->start_ns = 0;
	record = &state->record;
	record->frame_count = 0;
	if (kind != GC_SITE_PLACE && !settle_books(state)) {
		/* From 3.12 on a watchpoint also sees a call that chooses a generation and finds none due. */
		if (kind != GC_SITE_WATCH)
			note_unmoved(state);
		return;
	}
	if (bpf_get_current_task_btf()->nvcsw != state->sleeps)
		state->flags |= GC_PAUSE_SLEPT;
	if (!read_rss(&record->rss_end))
		state->flags &= ~GC_PAUSE_RSS;
	settle_wait(state, end_ns - state->start_ns);
	settle_world(state);
	if (end_ns - state->start_ns >= min_stack_ns)
		walk_stack(state);
	record->header.time_ns = end_ns;
	record->start_ns = state->start_ns;
	record->interpreter = state->interpreter;
	record->image = state->image;
	record->cause = state->cause;
	record->flags = state->flags;
	send_pause(state);
}

/* The load bias, and with it _PyRuntime's address, follows from where this probe was hit. */
static __always_inline void begin_here(struct pt_regs *ctx, struct thread_state *state,
	__u64 cookie)
{
	__u32 image = GC_COOKIE_IMAGE(cookie);
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);

	state->site = GC_COOKIE_KIND(cookie);
	if (layout)
		begin(ctx, state, image, layout,
			PT_REGS_IP(ctx) - layout->site_address[GC_COOKIE_SITE(cookie)] +
				layout->runtime_address);
}

SEC("uprobe")
int on_collect_begin(struct pt_regs *ctx)
{
	struct thread_state *state = target_state();

	OWN_STACK(ctx, no_programs);
	if (state)
		begin_here(ctx, state, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("uprobe")
int on_collect_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread_state *state = refuse_ends ? NULL : thread_state(0);

	OWN_STACK(ctx, no_programs);
	if (state)
		end(state, now, GC_COOKIE_KIND(bpf_get_attach_cookie(ctx)));
	return 0;
}

/* The other threads are asked to stop, have stopped, or may go on. Whoever else does that passes other calls. */
SEC("uprobe")
int on_world(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread_state *state = thread_state(0);

	OWN_STACK(ctx, no_programs);
	if (state)
		note_world(state, GC_COOKIE_KIND(bpf_get_attach_cookie(ctx)), now);
	return 0;
}

/*
 * All of it in one uprobe session (kernel 6.13): cheaper, and its 1 at an entry spares a process that is not
 * ours the return probe. user/kernel/uprobe.c sets the attach type, which libbpf 1.1 does not know.
 */
SEC("uprobe")
int on_collect_session(struct pt_regs *ctx)
{
	struct thread_state *state;
	__u64 now;

	OWN_STACK(ctx, no_sessions);
	if (session_returns(ctx)) {
		now = bpf_ktime_get_ns();
		state = refuse_ends ? NULL : thread_state(0);
		if (state)
			end(state, now, GC_SITE_FUNCTION);
		return 0;
	}
	state = target_state();
	if (!state)
		return 1;
	begin_here(ctx, state, bpf_get_attach_cookie(ctx));
	return 0;
}

/* Whether this write, which the processor reports as one, wrote what was there already. */
static __always_inline bool has_failed(const struct bpf_perf_event_data *ctx,
	const struct gc_layout *layout)
{
	return layout->idle_source == GC_IDLE_FLAGS && !MACHINE_WAS_EQUAL(&ctx->regs);
}

/*
 * The image whose memory is watched. The event of a thread or child that came later is a copy, and
 * the kernel copies no cookie: it reads as 0, which is no cookie of ours.
 */
static __always_inline __u32 watched_image(struct bpf_perf_event_data *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 tgid = current_tgid();
	const struct gc_target *target;

	if (cookie)
		return GC_COOKIE_IMAGE(cookie);
	target = bpf_map_lookup_elem(&targets, &tgid);
	return target ? target->watched - 1 : GC_MAX_IMAGES;
}

/*
 * What @collecting was changed to. In free-threaded builds another thread may have claimed the collector by now, so the
 * instruction tells: a compare-and-swap claims it, anything else lets it go.
 */
static __always_inline bool has_claimed(const struct bpf_perf_event_data *ctx,
	const struct gc_layout *layout, __s32 collecting)
{
	return layout->free_threaded ? MACHINE_HAS_COMPARED(&ctx->regs) : collecting;
}

/*
 * A write to interp->gc.collecting, of a runtime where no function could be found. Its edges 0 → 1
 * and 1 → 0 are the begin and the end; the image's layout has this very process's addresses.
 */
SEC("perf_event")
int on_collecting_write(struct bpf_perf_event_data *ctx)
{
	__u32 image = watched_image(ctx);
	__u64 now = bpf_ktime_get_ns();
	const struct gc_layout *layout = bpf_map_lookup_elem(&layouts, &image);
	struct thread_state *state = target_state();
	__s32 collecting = 0;
	bool claimed;

	if (!state || !layout || layout->site_address[0] != ctx->addr ||
		bpf_probe_read_user(&collecting, 4, (void *)ctx->addr))
		return 0;
	claimed = has_claimed(ctx, layout, collecting);
	if (state->depth && !claimed)
		end(state, now, GC_SITE_WATCH);
	else if (claimed && !state->depth && !has_failed(ctx, layout))
		begin((struct pt_regs *)&ctx->regs, state, image, layout, layout->runtime_address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
