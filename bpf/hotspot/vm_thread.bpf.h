/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a JVM's VM Thread carries from a safepoint's begin to its end, and what others tell it. */
#pragma once

#include "java_stack.bpf.h"

#define COMERS 256 /* of CPUs: two that share an entry may lose who was late */

/* Who came to the safepoint on this CPU last. Torn where @tid, written first, is not @again, last. */
struct comer {
	__u32 tid, again;
	__u64 thread, time_ns;
	__u64 got_cpu; /* when it last did, by the scheduler's clock; 0: not known */
	__u64 before_ns,
		off_ns; /* when it came the last time, 0: not known; without a CPU since then */
};

/* An operation handed to the VM Thread, which takes one at a time. */
struct request {
	__u64 name; /* address of its text; 0: none is waiting */
	__u64 thread;
	__u32 tid, pad;
};

/* What threads of a JVM tell its VM Thread. User space makes the entry, zeros, with the plan. */
struct jvm_state {
	struct request request;
	struct comer comers[COMERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_JVMS);
	__type(key, __u32); /* tgid */
	__type(value, struct jvm_state);
} jvm_states __weak SEC(".maps");

/* Of one VM Thread. */
struct vm_thread {
	__u64 begin_ns; /* of the safepoint in progress; 0: none */
	__u32 sent, op_thread, image, pad;
	__u64 current_op, late_ns; /* these, op_thread and image: the plan's; 0: not known yet */
	__s64 ahead_ns;		   /* clock_ahead() at begin_ns */
	__u64 before_ns, ended_ns; /* the last safepoint's begin and end; 0: none */
	struct gc_safepoint record;
	struct gc_late late;
	struct java_walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vm_thread);
} vm_threads __weak SEC(".maps");

static __always_inline struct vm_thread *vm_thread(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&vm_threads, bpf_get_current_task_btf(), NULL, flags);
}

#define AHEAD_UNKNOWN ((__s64)(~0ull >> 1))

/*
 * By how much our clock, which says @now, is ahead of the scheduler's, and a bit more: by the time since the scheduler
 * last looked at this CPU. That is next to nothing where the thread has just been woken.
 */
static __always_inline __s64 clock_ahead(__u64 now)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(task->se.cfs_rq->rq))
		return AHEAD_UNKNOWN;
	return (__s64)(now - task->se.cfs_rq->rq->clock);
}

static __always_inline struct jvm_state *jvm_state(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&jvm_states, &tgid);
}

/* Finds who kept @vm waiting from @begin_ns to @sync_ns, and sends a gc_late record if there is one. */
int tell_late(struct vm_thread *vm, __u64 begin_ns, __u64 sync_ns);
