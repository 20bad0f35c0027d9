// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The toy stops and goes on → one gc_toy_pause record at the end. */
#include "core.bpf.h"
#include "toy_wire.h"

struct toy_thread {
	__u64 start_ns; /* 0: it runs */
	__u32 sent, pad;
	struct gc_toy_pause record;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct toy_thread);
} toy_threads SEC(".maps");

/* toy_stop() */
SEC("uprobe")
int on_toy_stop(struct pt_regs *ctx)
{
	__u32 tgid = current_tgid(), image = GC_COOKIE_IMAGE(bpf_get_attach_cookie(ctx));
	struct toy_thread *thread;

	OWN_STACK(ctx, no_programs);
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	thread = bpf_task_storage_get(&toy_threads, bpf_get_current_task_btf(), NULL,
		BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_drop(GC_DROP_THREAD);
		return 0;
	}
	thread->record.image = image;
	thread->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* toy_go(pauses) */
SEC("uprobe")
int on_toy_go(struct pt_regs *ctx)
{
	struct toy_thread *thread =
		bpf_task_storage_get(&toy_threads, bpf_get_current_task_btf(), NULL, 0);
	__u64 now = bpf_ktime_get_ns();

	OWN_STACK(ctx, no_programs);
	if (!thread || !thread->start_ns)
		return 0;
	thread->record.start_ns = thread->start_ns;
	thread->record.pauses = PT_REGS_PARM1(ctx);
	thread->start_ns = 0;
	fill_header(&thread->record.header, GC_EVENT_TOY_PAUSE, sizeof(thread->record), now);
	send_record(&thread->record, sizeof(thread->record), &thread->sent);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
