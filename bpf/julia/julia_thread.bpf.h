/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Julia's programs: what is kept of a thread in the collector, and of a process's calls of it. */
#pragma once

#include "core.bpf.h"
#include "julia_wire.h"

struct julia_thread {
	__u64 entered_ns; /* the last call of the collector, whatever came of it */
	__u64 held_ns;	  /* when another one's collection held up its finalizers; 0: none does */
	__u64 own_ns;	  /* since when its time is its own again: finalizers and callbacks */
	__u64 own_waited_ns; /* of record.waited_ns, what it had waited by then */
	__u64 collections;   /* gc_julia_calls.collected when it had collected */
	__u64 run_ns;	     /* when the run of _jl_gc_collect() under way began */
	__u64 stack
		[GC_JULIA_DEPTH]; /* stack pointers of the calls that collect, the outermost first */
	__u32 asked, sent;
	__u32 depth;
	__u32 slot;	  /* of its process in julia_calls, + 1; 0: not known yet */
	__u8 gc_num[256]; /* GC_JULIA_NUM of them are read */
	struct gc_julia_pause record;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct julia_thread);
} julia_threads __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY); /* a lookup that is no call */
	__uint(max_entries, GC_MAX_IMAGES);
	__type(key, __u32);
	__type(value, struct gc_julia_layout);
} julia_layouts __weak SEC(".maps");

/*
 * Of a process, each in a slot: a lookup in a hash table costs more than all else that is done at some probes. A thread
 * knows its process's slot. User space gives a slot back when its process has ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GC_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct gc_julia_calls);
} julia_calls __weak SEC(".maps");

/* Process → slot, and slot → process: who puts it in there has the slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_TARGETS);
	__type(key, __u32);
	__type(value, __u32);
} julia_slots __weak SEC(".maps"), julia_owners __weak SEC(".maps");

static __always_inline struct julia_thread *julia_thread(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&julia_threads, bpf_get_current_task_btf(), NULL, flags);
}

/* NULL: it has not called the collector yet. */
static __always_inline struct gc_julia_calls *calls_of_process(__u32 tgid)
{
	const __u32 *slot = bpf_map_lookup_elem(&julia_slots, &tgid);

	return slot ? bpf_map_lookup_elem(&julia_calls, slot) : NULL;
}

/* NULL: not known, see find_slot(). */
static __always_inline struct gc_julia_calls *calls_of(const struct julia_thread *thread)
{
	const __u32 slot = thread->slot - 1;

	return bpf_map_lookup_elem(&julia_calls, &slot);
}

/*
 * Once a collection is over its thread may have to wait for another one's at once, or while finalizers run. That is no
 * time of its own. It came to the safepoint at held_ns, and the last restart let it go.
 */
static __always_inline void settle_wait(struct julia_thread *thread)
{
	const struct gc_julia_calls *calls;

	if (!thread->held_ns)
		return;
	calls = calls_of(thread);
	if (calls && calls->restarted_ns > thread->held_ns)
		thread->record.waited_ns += calls->restarted_ns - thread->held_ns;
	thread->held_ns = 0;
}

/* It has come to a safepoint. */
static __always_inline void hold(struct julia_thread *thread, __u64 now)
{
	if (!thread->depth || !(thread->record.flags & GC_JULIA_COLLECTED))
		return;
	settle_wait(thread);
	thread->held_ns = now;
}

/* Sends the record as it is; @flags are added to its own. */
static __always_inline void send_julia(struct julia_thread *thread, __u64 end_ns, __u32 flags)
{
	struct gc_julia_pause *record = &thread->record;

	record->flags |= flags;
	if (record->flags & GC_JULIA_COLLECTED)
		record->post_ns =
			end_ns - thread->own_ns - (record->waited_ns - thread->own_waited_ns);
	record->header.time_ns = end_ns;
	send_record(record, sizeof(*record), &thread->sent);
}
