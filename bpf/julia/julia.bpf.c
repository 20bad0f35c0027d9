// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Julia's collector, jl_gc_collect(): its call, the moments when all threads stand still, when nothing is left to mark
 * and when it has collected, its end → one gc_julia_pause record at the end.
 */
#include "julia_stack.bpf.h"
#include "julia_thread.bpf.h"

#define SLOT_LOOKS 16

/*
 * The slot of its process, + 1, a new one for its first thread; 0: the places where it might be are taken. Verified
 * once, and off the path of collections.
 */
__noinline __weak int find_slot(__u32 tgid)
{
	const __u32 *found = bpf_map_lookup_elem(&julia_slots, &tgid);
	__u32 slot;
	int i;

	for (i = 0; !found && i < SLOT_LOOKS; i++) {
		slot = (tgid + i) % GC_MAX_TARGETS;
		if (bpf_map_update_elem(&julia_owners, &slot, &tgid, BPF_NOEXIST))
			continue;
		if (!bpf_map_update_elem(&julia_slots, &tgid, &slot, BPF_NOEXIST))
			return (int)slot + 1;
		bpf_map_delete_elem(&julia_owners, &slot); /* another thread of it was first */
		found = bpf_map_lookup_elem(&julia_slots, &tgid);
	}
	return found ? (int)*found + 1 : 0;
}

/* A collection is not seen: what was kept for the next one's before[] is none. */
static __always_inline void forget_books(__u32 tgid)
{
	struct gc_julia_calls *calls = calls_of_process(tgid);

	if (calls)
		calls->kept = 0;
}

/* A thread of a target; NULL for any other. */
static __always_inline struct julia_thread *target_thread(void)
{
	struct julia_thread *thread = julia_thread(0);
	__u32 tgid;

	if (thread)
		return thread;
	tgid = current_tgid();
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	thread = julia_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_drop(GC_DROP_THREAD);
		forget_books(tgid);
		return NULL;
	}
	if (!thread->slot)
		thread->slot = find_slot(tgid);
	return thread;
}

/* Of the calls within another one's finalizers, those of which the stack says that they have ended. */
static __always_inline void leave_inner(struct julia_thread *thread, __u64 sp)
{
	for (int i = 1; i < GC_JULIA_DEPTH; i++) {
		__u32 last = thread->depth - 1;

		if (thread->depth < 2 || thread->stack[last & (GC_JULIA_DEPTH - 1)] >= sp)
			return;
		thread->depth = last;
	}
}

/* Calls that this thread's stack has left: by an end that did not find its state, or by another way than their end. */
static __always_inline void leave_lost(struct julia_thread *thread, __u64 sp)
{
	if (!thread->depth)
		return;
	if (was_lost(thread->record.header.tid)) {
		thread->depth = 0;
		return;
	}
	leave_inner(thread, sp);
	if (sp <= thread->stack[0])
		return;
	thread->depth = 0;
	close_slot(thread->record.header.tid);
	count_drop(GC_DROP_UNMATCHED_END);
}

/* Where a file's variables are in this process. */
struct place {
	__u32 image;
	__u64 bias;
	const struct gc_julia_layout *layout;
};

static __always_inline struct place find_place(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct place place = {.image = GC_COOKIE_IMAGE(cookie)};

	place.layout = bpf_map_lookup_elem(&julia_layouts, &place.image);
	if (place.layout)
		place.bias = PT_REGS_IP(ctx) - place.layout->site_address[GC_COOKIE_SITE(cookie)];
	return place;
}

/* Whether a call that comes to @ctx, the site of calls, will find the collector disabled. */
static __always_inline bool is_disabled(struct pt_regs *ctx)
{
	const struct place place = find_place(ctx);
	__u32 times;

	return place.layout && place.layout->disabled &&
	       !bpf_probe_read_user(&times, sizeof(times),
		       (void *)(place.bias + place.layout->disabled)) &&
	       times;
}

/*
 * A call: it may find the collector disabled, or another thread collecting, which it waits for. So it is one that has
 * come to the safepoint.
 */
SEC("uprobe")
int on_julia_call(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread;
	struct gc_julia_calls *calls;

	OWN_STACK(ctx, no_programs);
	thread = target_thread();
	if (!thread)
		return 0;
	leave_lost(thread, PT_REGS_SP(ctx));
	hold(thread, now);
	thread->entered_ns = now;
	thread->asked = PT_REGS_PARM1(ctx);
	calls = calls_of(thread);
	if (!calls)
		return 0;
	__sync_fetch_and_add(is_disabled(ctx) ? &calls->disabled : &calls->entered, 1);
	if (calls->called_ns <= calls->restarted_ns)
		calls->called_ns = now;
	calls->late_tid = (__u32)current_ids();
	calls->late_ns = now;
	return 0;
}

/* The thread that came to the safepoint last, if any had to after this collection was called for. */
static __always_inline void tell_late(struct gc_julia_pause *record,
	const struct gc_julia_calls *calls)
{
	record->late_ns = 0;
	record->late_tid = 0;
	if (!calls || calls->late_tid == record->header.tid || calls->late_ns <= record->start_ns)
		return;
	record->late_ns = calls->late_ns;
	record->late_tid = calls->late_tid;
}

static __always_inline bool read_live(const struct place *place, __u64 *ret)
{
	return place->layout && place->layout->live_bytes &&
	       !bpf_probe_read_user(ret, sizeof(*ret),
		       (void *)(place->bias + place->layout->live_bytes));
}

/* @to: before[] or after[] of the thread's record. */
static __always_inline bool read_books(const struct place *place, struct julia_thread *thread,
	__u64 *to)
{
	const struct gc_julia_layout *layout = place->layout;

	if (!layout || !layout->gc_num ||
		bpf_probe_read_user(thread->gc_num, GC_JULIA_NUM,
			(void *)(place->bias + layout->gc_num)))
		return false;
	for (int i = 0; i < GC_JULIA_FIELDS; i++)
		to[i] = *(__u64 *)(thread->gc_num + (layout->fields[i] & 0xf8));
	return true;
}

static __always_inline void show(const struct julia_thread *thread)
{
	const struct gc_julia_pause *record = &thread->record;
	struct gc_open *slot = open_slot(record->header.tid);

	if (!slot)
		return;
	slot->pid = record->header.pid;
	slot->tid = record->header.tid;
	slot->image = record->image;
	slot->kind = -1;
	slot->cause = record->asked == GC_JULIA_AUTO ? GC_CAUSE_AUTOMATIC : GC_CAUSE_MANUAL;
	slot->sp = thread->stack[0];
	slot->start_ns = record->start_ns ? record->start_ns : record->stopped_ns;
}

/* Whether the call whose stack pointer is @sp is the innermost one that collects. */
static __always_inline bool is_innermost(const struct julia_thread *thread, __u64 sp)
{
	__u32 depth = thread->depth;

	return depth && thread->stack[(depth - 1) & (GC_JULIA_DEPTH - 1)] == sp;
}

/* A pause begins: @now its threads stand still, or, in one that had begun before us, it has collected. */
static __always_inline struct gc_julia_pause *begin(struct pt_regs *ctx,
	struct julia_thread *thread, __u32 image, __u64 now, __u32 flags)
{
	struct gc_julia_pause *record = &thread->record;
	struct gc_julia_calls *calls = calls_of(thread);
	__u32 depth = thread->depth;

	if (depth >= GC_JULIA_DEPTH) {
		if (calls)
			calls->kept = 0;
		thread->entered_ns = 0;
		return NULL; /* the books will miss it */
	}
	thread->held_ns = 0; /* it did not come to wait */
	if (depth) {
		/* In a finalizer. */
		send_julia(thread, flags & GC_JULIA_BEGUN ? now : thread->entered_ns, 0);
		flags |= GC_JULIA_NESTED;
	}
	thread->stack[depth & (GC_JULIA_DEPTH - 1)] = PT_REGS_SP(ctx);
	thread->depth = depth + 1;
	fill_header(&record->header, GC_EVENT_JULIA_PAUSE, sizeof(*record), 0);
	record->image = image;
	record->asked = flags & GC_JULIA_BEGUN ? GC_JULIA_UNKNOWN : thread->asked;
	record->flags = flags | GC_JULIA_BOOKS | GC_JULIA_LIVE;
	record->start_ns = flags & GC_JULIA_BEGUN ? 0 : thread->entered_ns;
	record->stopped_ns = now;
	record->collected_ns = 0;
	record->mark_ns = 0;
	record->waited_ns = 0;
	record->post_ns = 0;
	thread->own_waited_ns = 0;
	tell_late(record, calls);
	if (calls && thread->entered_ns)
		__sync_fetch_and_add(&calls->collected, 1);
	thread->entered_ns = 0; /* it is this one's call */
	show(thread);
	return record;
}

/*
 * gc_num as it was before: nothing changes it between two collections, but for what was allocated, which is counted at
 * the next one, and the time to the safepoint, which is that of the last. live_bytes grows where Julia loads an image.
 */
static __always_inline void take_books(const struct place *place, struct julia_thread *thread)
{
	const struct gc_julia_calls *calls = calls_of(thread);
	struct gc_julia_pause *record = &thread->record;

	if (!read_live(place, &record->live_before))
		record->flags &= ~GC_JULIA_LIVE;
	if (calls && calls->kept == place->image + 1) {
		for (int i = 0; i < GC_JULIA_FIELDS; i++)
			record->before[i] = calls->books[i];
		record->flags |= GC_JULIA_KEPT;
	} else if (!read_books(place, thread, record->before)) {
		record->flags &= ~GC_JULIA_BOOKS;
	}
}

static __always_inline void keep_books(struct gc_julia_calls *calls,
	const struct gc_julia_pause *record, bool known)
{
	calls->kept = known ? record->image + 1 : 0;
	for (int i = 0; i < GC_JULIA_FIELDS; i++)
		calls->books[i] = record->after[i];
}

/* All threads stand still. Twice where it thinks better of it and collects again, all of the heap this time. */
SEC("uprobe")
int on_julia_stopped(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread;
	struct place place;

	OWN_STACK(ctx, no_programs);
	thread = target_thread();
	if (!thread)
		return 0;
	leave_lost(thread, PT_REGS_SP(ctx));
	thread->run_ns = now;
	if (is_innermost(thread, PT_REGS_SP(ctx)))
		return 0;
	place = find_place(ctx);
	if (begin(ctx, thread, place.image, now, thread->entered_ns ? 0 : GC_JULIA_BEGUN))
		take_books(&place, thread);
	return 0;
}

/* Nothing is left to mark. */
SEC("uprobe")
int on_julia_marked(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread = julia_thread(0);

	OWN_STACK(ctx, no_programs);
	if (!thread || !thread->depth)
		return 0;
	thread->record.mark_ns += now - thread->run_ns;
	thread->record.flags |= GC_JULIA_MARK;
	return 0;
}

/* It has collected; the threads still stand. */
SEC("uprobe")
int on_julia_collected(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread;
	struct gc_julia_pause *record;
	struct gc_julia_calls *calls;
	struct place place;
	bool known;

	OWN_STACK(ctx, no_programs);
	thread = target_thread();
	if (!thread)
		return 0;
	place = find_place(ctx);
	record = &thread->record;
	if (!is_innermost(thread, PT_REGS_SP(ctx)))
		record = begin(ctx, thread, place.image, now, GC_JULIA_BEGUN);
	if (!record)
		return 0;
	record->collected_ns = now;
	record->flags |= GC_JULIA_COLLECTED;
	if (!read_live(&place, &record->live_after))
		record->flags &= ~GC_JULIA_LIVE;
	known = read_books(&place, thread, record->after);
	if (!known)
		record->flags &= ~GC_JULIA_BOOKS;
	thread->own_ns = now;
	calls = calls_of(thread);
	if (!calls)
		return 0;
	calls->restarted_ns = now;
	keep_books(calls, record, known);
	thread->collections = calls->collected;
	return 0;
}

/*
 * Its finalizers come. Until now it may have waited for another thread's collection, as it let the others run, or for a
 * processor, which they had.
 */
SEC("uprobe")
int on_julia_finalize(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread = julia_thread(0);
	const struct gc_julia_calls *calls;

	OWN_STACK(ctx, no_programs);
	if (!thread || !is_innermost(thread, PT_REGS_SP(ctx)) ||
		!(thread->record.flags & GC_JULIA_COLLECTED))
		return 0;
	settle_wait(thread);
	calls = calls_of(thread);
	if (calls && calls->collected != thread->collections)
		thread->record.waited_ns = now - thread->record.collected_ns;
	thread->own_ns = now;
	thread->own_waited_ns = thread->record.waited_ns;
	return 0;
}

/* Whether the jump at which @ctx stands goes where @kind says: the conditions of x86, by their encoding. */
static __always_inline bool is_over(const struct pt_regs *ctx, __u32 kind)
{
	const __u64 flags = ctx->eflags;
	const bool carry = flags & 0x1, parity = flags & 0x4, zero = flags & 0x40;
	const bool sign = flags & 0x80, overflow = flags & 0x800;
	bool holds = overflow;

	if (kind == GC_JULIA_ALWAYS)
		return true;
	switch (kind >> 1 & 7) {
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry || zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = parity;
		break;
	case 6:
		holds = sign != overflow;
		break;
	case 7:
		holds = zero || sign != overflow;
		break;
	}
	return holds != (kind & 1) != !!(kind & 0x20);
}

/* Finalizers and callbacks are done, unless those of the collection in whose finalizers this was go on. */
SEC("uprobe")
int on_julia_over(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct julia_thread *thread = refuse_ends ? NULL : julia_thread(0);

	OWN_STACK(ctx, no_programs);
	if (!is_over(ctx, GC_COOKIE_KIND(bpf_get_attach_cookie(ctx))))
		return 0;
	if (!thread) {
		if (lose_slot((__u32)current_ids(), PT_REGS_SP(ctx)))
			count_drop(GC_DROP_THREAD);
		return 0;
	}
	leave_inner(thread, PT_REGS_SP(ctx));
	if (!is_innermost(thread, PT_REGS_SP(ctx)))
		return 0;
	if (--thread->depth)
		return 0;
	settle_wait(thread);
	close_slot(thread->record.header.tid);
	if (now - thread->record.start_ns >= min_stack_ns)
		send_stack(ctx, GC_EVENT_JULIA_STACK, now);
	send_julia(thread, now, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
