/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is kept of a thread that makes steps: calls that are not sent one by one, and its work. */
#pragma once

#include "cpu_time.bpf.h"

/* Calls of one thinned signal and key in one thread, since the thread's last mark of another signal. */
struct row {
	__u64 key, last_ns;
	__u64 last_work_ns; /* as read by the call at last_ns */
	__u32 signal;
	__u32 calls;   /* 0: none, and none in the rows behind it */
	__u32 waiting; /* of them, the last ones: those that were not sent */
	__u32 flags;   /* GC_MARK_WORK: last_work_ns is known */
};

#define ROWS 4 /* at once; other calls are sent one by one */

/* Of a thread of a target, as long as it lives: what was a target once is one to its end. */
struct step_thread {
	__u64 base_ns; /* cpu_ns() from which its work is counted */
	__u64 spun_ns; /* on a CPU since then, within calls that wait */
	__u64 call_sp; /* stack pointer at the entry of the outermost call that it waits in; 0: none */
	__u64 call_cpu; /* cpu_ns() then */
	__u64 epoch;	/* of gc_waits, at base_ns; 0: none of this is set */
	struct row rows[ROWS];
	__u32 named; /* its last mark has a label: GC_KEY_OBJECT says what the named range began with */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct step_thread);
} step_threads __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gc_signals);
} signals __weak SEC(".maps");

/* NULL: no memory, or (before 6.2) the kernel is busy with it. */
static __always_inline struct step_thread *this_thread(__u64 flags)
{
	return state_is_refused() ? NULL
				  : bpf_task_storage_get(&step_threads, bpf_get_current_task_btf(),
					    NULL, flags);
}

/* From @cpu on, in which no call that waits is under way. */
static __always_inline void begin_work(struct step_thread *thread, __u64 epoch, __u64 cpu)
{
	thread->base_ns = cpu;
	thread->spun_ns = 0;
	thread->call_sp = 0;
	thread->epoch = epoch;
}
