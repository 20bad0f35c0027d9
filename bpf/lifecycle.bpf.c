// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Follows processes: fork adds a child before it runs, exit removes it, exec and dlopen are reported. A
 * runtime that has to know of these has programs of its own on the same tracepoints (bpf/NAME/), which are
 * attached so that a child is a target before they hear of it, and a process one until they have heard of its
 * end.
 */
#include "core.bpf.h"

const volatile bool follow_children = true;
const volatile __u64 min_stack_ns = 50000;   /* pauses shorter than this carry no stack */
const volatile __u32 wakeup_bytes = 1 << 20; /* unread bytes that wake the reader early */
const volatile __u32 pid_namespace = 0;
const volatile __u32 page_size = 4096;
const volatile __u32 refuse_state = 0;
const volatile bool refuse_ends = false;

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	const struct gc_target *target;
	__u32 from, to;

	if (!follow_children || child->pid != child->tgid)
		return 0; /* a thread */
	from = task_ids(parent) >> 32;
	to = task_ids(child) >> 32;
	target = bpf_map_lookup_elem(&targets, &from);
	if (!target)
		return 0; /* the child's interpreters are its parent's, at the same addresses */
	if (bpf_map_update_elem(&targets, &to, target, BPF_ANY)) {
		count_drop(GC_DROP_TARGETS);
		return 0;
	}
	tell(GC_EVENT_FORK, to, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct gc_target fresh = {.space = bpf_get_prandom_u32(), .exec = task->self_exec_id};
	__u64 ids = task_ids(task);
	__u32 tgid = ids >> 32;
	const struct gc_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!target || target->exec == fresh.exec)
		return 0; /* not followed, or told by the one before this program: attach_last() */
	bpf_map_update_elem(&targets, &tgid, &fresh, BPF_EXIST);
	tell(GC_EVENT_EXEC, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 ids = task_ids(task);
	__u32 tgid = ids >> 32;

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	close_slot((__u32)ids); /* no pause outlives its thread */
	if (task->signal->live.counter)
		return 0; /* other threads live on */
	bpf_map_delete_elem(&targets, &tgid);
	tell(GC_EVENT_EXIT, 0, 0);
	return 0;
}

/* The dynamic linker's r_brk hook (glibc's and musl's _dl_debug_state): maps change or have changed. */
SEC("uprobe")
int on_maps_changed(struct pt_regs *ctx)
{
	__u32 tgid = current_tgid();

	OWN_STACK(ctx, no_programs);
	if (bpf_map_lookup_elem(&targets, &tgid))
		tell(GC_EVENT_MAPS, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
