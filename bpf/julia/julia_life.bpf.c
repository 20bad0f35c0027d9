// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Threads that come to a safepoint, and those that exit or exec within a collection. */
#include "julia_stack.bpf.h"
#include "julia_thread.bpf.h"

#define SAFEPOINT_SIGNAL                                                                           \
	11 /* SIGSEGV: a safepoint is a read of a page that the collector takes away */

/* The thread's own code, which the signal has stopped: where it was all the time that others waited for it. */
static __always_inline void send_late(__u64 now)
{
	struct pt_regs regs;
	const void *own = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (!bpf_probe_read_kernel(&regs, sizeof(regs), own))
		send_stack(&regs, GC_EVENT_JULIA_LATE, now);
}

/* By the kernel's own hand, so that it is seen in every build: the functions it leads to are not exported. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_julia_safepoint, int signal)
{
	struct julia_thread *thread;
	struct gc_julia_calls *calls;
	__u64 ids, now;

	if (signal != SAFEPOINT_SIGNAL)
		return 0;
	ids = current_ids();
	calls = calls_of_process(ids >> 32);
	if (!calls)
		return 0;
	now = bpf_ktime_get_ns();
	calls->late_tid = (__u32)ids;
	calls->late_ns = now;
	thread = julia_thread(0);
	if (thread)
		hold(thread, now);
	if (calls->called_ns > calls->restarted_ns && now - calls->called_ns >= min_stack_ns)
		send_late(now);
	return 0;
}

/* The collector will never return; or it has, and its end did not find the state. */
static __always_inline void leave(struct julia_thread *thread)
{
	if (!thread || !thread->depth)
		return;
	thread->depth = 0;
	if (was_lost(thread->record.header.tid))
		return;
	close_slot(thread->record.header.tid);
	send_julia(thread, bpf_ktime_get_ns(), GC_JULIA_UNFINISHED);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_julia_exec, struct task_struct *task)
{
	struct julia_thread *thread =
		bpf_task_storage_get(&julia_threads, bpf_get_current_task_btf(), NULL, 0);
	struct gc_julia_calls *calls = calls_of_process(current_tgid());

	leave(thread);
	if (thread)
		thread->entered_ns = 0;
	if (calls)
		calls->kept = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_julia_exit, struct task_struct *task)
{
	leave(bpf_task_storage_get(&julia_threads, bpf_get_current_task_btf(), NULL, 0));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
