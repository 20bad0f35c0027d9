// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CPython's collector: begin and end of each collection → one gc_pause record at its end. */
#include "cpython_stack.bpf.h"
#include "memory.bpf.h"
#include "wait.bpf.h"

const volatile __u64 min_stack_ns = 50000; /* pauses shorter than this carry no stack */
const volatile __u32 wakeup_bytes = 1 << 20; /* unread bytes that wake the reader early */
const volatile __u32 pid_namespace = 0;
const volatile __u32 refuse_state = 0;

/*
 * The head of interp->gc, with all that a begin must know of it. It lies on the stack: into other
 * memory the kernel (CONFIG_HARDENED_USERCOPY) takes half as long again to copy.
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

/*
 * The generation that the collector would choose by itself, -1: none. The oldest one whose count is
 * over its threshold; the last one not before a quarter more objects wait for it.
 */
static __always_inline __s32 due_generation(const struct gc_layout *layout,
	const struct gc_window *window)
{
	__u64 counts = layout->gc_counts, lived = layout->gc_long_lived;

	/* Up to 3.11 it begins in the very moment in which generation 0 gets there. */
	if (!layout->deferred && window_s32(window, counts + 4) <= window_s32(window, counts))
		return -1;
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
	__u64 caller = read_u64(PT_REGS_SP(ctx) + layout->caller_at) - bias;

	/* Elsewhere: another tracer has put its return probe there. */
	if (caller < layout->caller_first || caller > layout->caller_last)
		return GC_CAUSE_UNKNOWN;
	for (int i = 0; i < GC_MAX_CALLERS; i++)
		if (layout->manual_return[i] == caller)
			return GC_CAUSE_MANUAL;
	return GC_CAUSE_AUTOMATIC;
}

/*
 * Where no argument tells. The counters alone mistake a collection by hand of the generation that
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
	return cause_by_counts(ctx, state, layout, window);
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
	}
	return tstate_by_gil(layout, runtime);
}

static __always_inline struct thread_state *thread_state(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, flags);
}

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

/* A pause in progress shows in a slot that user space sees; a collision hides one of the two. */
static __always_inline struct gc_open *open_slot(const struct thread_state *state)
{
	struct shared *s = shared();

	return s ? &s->open[state->record.header.tid % GC_OPEN_SLOTS] : NULL;
}

/* Notes the process's interpreter; a second one ends the caching of find_interpreter(). */
static __always_inline void note_interpreter(struct shared *s, __u64 interpreter)
{
	__u32 tgid = current_tgid();
	struct gc_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!target)
		return;
	if (!target->interpreter)
		target->interpreter = interpreter;
	else if (target->interpreter != interpreter)
		s->several = 1;
}

/*
 * A read of user memory is the dearest step of all, so a thread state's interpreter is read once,
 * as long as each process has but one: among several, an address may be used again for the thread
 * state of another. Should the first such reuse come before a second interpreter was ever seen, its
 * books do not move: settle_books() notices.
 */
static __always_inline void find_interpreter(struct thread_state *state,
	const struct gc_layout *layout, __u64 tstate)
{
	struct shared *s = shared();

	if (!s || (tstate && tstate == state->tstate && !s->several))
		return;
	state->tstate = tstate;
	state->interpreter = read_u64(tstate + layout->tstate_interp);
	state->gc = layout->runtime_gc ? state->runtime + layout->runtime_gc
				       : state->interpreter + layout->interp_gc;
	note_interpreter(s, state->interpreter);
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

/* Of the pause under way, what a call that does nothing must leave as it was. */
struct known {
	__u64 tstate, interpreter, gc, runtime;
};

static __always_inline struct known what_is_known(const struct thread_state *state)
{
	return (struct known){state->tstate, state->interpreter, state->gc, state->runtime};
}

static __always_inline void know_again(struct thread_state *state, const struct known *known)
{
	if (!state->depth)
		return;
	state->tstate = known->tstate;
	state->interpreter = known->interpreter;
	state->gc = known->gc;
	state->runtime = known->runtime;
	state->flags |= GC_PAUSE_NESTED;
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
	const struct known before = what_is_known(state);
	const bool may_idle = layout->idle_source == GC_IDLE_STATE;
	struct gc_window window;
	struct gc_open *slot;
	bool readable;

	if (!may_idle && state->depth && !end_was_lost(state)) {
		state->depth++;
		state->flags |= GC_PAUSE_NESTED;
		return (int)state->depth;
	}
	state->runtime = runtime;
	find_interpreter(state, layout, find_tstate(ctx, layout, runtime));
	readable = !bpf_probe_read_user(&window, sizeof(window), (void *)state->gc);
	if (may_idle && (readable ? is_idle(ctx, layout, &window) : state->depth)) {
		know_again(state, &before);
		return (int)state->depth;
	}
	state->depth = 1; /* if it was so before, that pause's end was lost: the books tell */
	state->inherited = 0;
	state->image = image;
	state->flags = 0;
	state->has_books = readable && take_books(layout, &window, state->before);
	state->cause = state->has_books ? cause_of(ctx, state, layout, &window) : GC_CAUSE_UNKNOWN;
	if (state->has_books)
		take_heap(state, layout, &window);
	if (read_rss(&state->record.rss_start))
		state->flags |= GC_PAUSE_RSS;
	watch_parent(state);
	state->generation = layout->tstate_source == GC_TSTATE_ARG1 ? (__s32)PT_REGS_PARM2(ctx) : -1;
	state->sleeps = bpf_get_current_task_btf()->nvcsw;
	slot = open_slot(state);
	state->start_ns = bpf_ktime_get_ns();
	if (slot) {
		slot->tid = state->record.header.tid;
		slot->pid = state->record.header.pid;
		slot->start_ns = state->start_ns;
		slot->image = image;
		slot->generation = state->generation;
		slot->cause = state->cause;
	}
	return (int)state->depth;
}

static __always_inline void begin(struct pt_regs *ctx, struct thread_state *state, __u32 image,
	const struct gc_layout *layout, __u64 runtime)
{
	int result = begin_now(ctx, state, image, layout, runtime);

	asm volatile("" : : "r"(result)); /* clang computes none that is not used */
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
	/* It was not the one that was due. */
	if (moved && state->cause == GC_CAUSE_AUTOMATIC && state->due >= 0 &&
		record->generation >= 0 && state->due != record->generation)
		state->cause = GC_CAUSE_MANUAL;
	/* Only _PyRuntime.finalizing tells a collection that the exit asked for from the user's. */
	if (moved && state->cause == GC_CAUSE_MANUAL && record->generation == 2 &&
		read_u64(state->runtime + layout->runtime_finalizing))
		state->cause = GC_CAUSE_SHUTDOWN;
	return moved;
}

static __always_inline void send_pause(struct thread_state *state)
{
	struct gc_pause *record = &state->record;
	__u64 size = GC_PAUSE_SIZE(record->frame_count & GC_MAX_FRAMES);

	record->header.size = size;
	send_record(record, size, &state->sent);
}

/* A call of the collector that should have moved a counter, wherever that is. */
static __always_inline void note_unmoved(const struct thread_state *state)
{
	const struct gc_layout *layout;
	struct shared *s = shared();
	__u32 image = state->image;

	layout = bpf_map_lookup_elem(&layouts, &image);
	/* A watchpoint is also hit by a call that chooses a generation and finds none due. */
	if (!layout || layout->idle_source == GC_IDLE_FLAGS)
		return;
	if (s && image < GC_MAX_IMAGES)
		__sync_fetch_and_add(&s->unmoved[image], 1);
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
		if (!settle_books(state)) {
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
	slot = open_slot(state);
	if (slot)
		slot->start_ns = 0;
	record = &state->record;
	record->frame_count = 0;
	if (kind != GC_SITE_PLACE && !settle_books(state)) {
		note_unmoved(state);
		return;
	}
	if (bpf_get_current_task_btf()->nvcsw != state->sleeps)
		state->flags |= GC_PAUSE_SLEPT;
	if (!read_rss(&record->rss_end))
		state->flags &= ~GC_PAUSE_RSS;
	settle_wait(state, end_ns - state->start_ns);
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
	struct thread_state *state = thread_state(0);

	OWN_STACK(ctx, no_programs);
	if (state)
		end(state, now, GC_COOKIE_KIND(bpf_get_attach_cookie(ctx)));
	return 0;
}

/*
 * All of it in one uprobe session (kernel 6.13): cheaper, and its 1 at an entry spares a process
 * that is not ours the return probe. trace/ sets the attach type, which libbpf 1.1 does not know.
 */
SEC("uprobe")
int on_collect_session(struct pt_regs *ctx)
{
	struct thread_state *state;
	__u64 now;

	OWN_STACK(ctx, no_sessions);
	if (session_returns(ctx)) {
		now = bpf_ktime_get_ns();
		state = thread_state(0);
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
	const __u64 zero_flag = 0x40;

	return layout->idle_source == GC_IDLE_FLAGS && !(ctx->regs.eflags & zero_flag);
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

	if (!state || !layout || layout->site_address[0] != ctx->addr ||
		bpf_probe_read_user(&collecting, 4, (void *)ctx->addr))
		return 0;
	if (state->depth && !collecting)
		end(state, now, GC_SITE_FUNCTION);
	else if (collecting && !state->depth && !has_failed(ctx, layout))
		begin((struct pt_regs *)&ctx->regs, state, image, layout, layout->runtime_address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
