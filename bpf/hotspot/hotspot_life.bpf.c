// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A VM Thread that ends inside a safepoint → one gc_killed record. */
#include "vm_thread.bpf.h"

#define EXIT_SIGNAL 0x7f /* of an exit code */

/* Before Linux 5.17. */
struct signal_struct___before {
	struct task_struct *group_exit_task;
} __attribute__((preserve_access_index));

/* Whether another thread of its process is calling exec, which ends this one with an exit code of 0. */
static __always_inline bool ends_by_exec(const struct task_struct *task)
{
	const struct signal_struct___before *before = (void *)task->signal;

	if (bpf_core_field_exists(task->signal->group_exec_task))
		return task->signal->group_exec_task;
	return bpf_core_field_exists(before->group_exit_task) && before->group_exit_task;
}

/*
 * A JVM that is killed inside a safepoint, or runs another program from there. One that ends by itself does so
 * in a safepoint that stops nobody.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_hotspot_exit, struct task_struct *task)
{
	const struct vm_thread *vm = vm_thread(0);
	struct gc_killed *record;

	if (!vm || !vm->begin_ns || was_lost((__u32)current_ids()) ||
		!(task->exit_code & EXIT_SIGNAL || ends_by_exec(task)))
		return 0;
	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record) {
		count_drop(GC_DROP_RING);
		return 0;
	}
	fill_header(&record->header, GC_EVENT_KILLED, sizeof(*record), bpf_ktime_get_ns());
	record->start_ns = vm->begin_ns;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
