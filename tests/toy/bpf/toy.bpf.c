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

static __always_inline struct toy_thread *toy_thread(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&toy_threads, bpf_get_current_task_btf(), NULL, flags);
}

static __always_inline void show_stop(const struct toy_thread *thread)
{
	__u64 id = current_ids();
	struct gc_open *slot = open_slot((__u32)id);

	if (!slot)
		return;
	slot->pid = id >> 32;
	slot->tid = (__u32)id;
	slot->image = thread->record.image;
	slot->kind = thread->record.major;
	slot->cause = GC_CAUSE_MANUAL;
	slot->start_ns = thread->start_ns;
}

/* toy_stop(major) */
SEC("uprobe")
int on_toy_stop(struct pt_regs *ctx)
{
	__u32 tgid = current_tgid();
	struct toy_thread *thread;

	OWN_STACK(ctx, no_programs);
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	thread = toy_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_drop(GC_DROP_THREAD);
		return 0;
	}
	thread->record.image = GC_COOKIE_IMAGE(bpf_get_attach_cookie(ctx));
	thread->record.major = !!PT_REGS_PARM1(ctx);
	thread->start_ns = bpf_ktime_get_ns();
	show_stop(thread);
	return 0;
}

/* toy_go(heap). One that began before us sends nothing: the books show whether one was under way. */
SEC("uprobe")
int on_toy_go(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct toy_thread *thread = toy_thread(0);
	struct gc_toy_pause *record;

	OWN_STACK(ctx, no_programs);
	if (!thread || !thread->start_ns)
		return 0;
	record = &thread->record;
	record->start_ns = thread->start_ns;
	thread->start_ns = 0;
	close_slot((__u32)current_ids());
	if (bpf_probe_read_user(&record->heap, sizeof(record->heap), (void *)PT_REGS_PARM1(ctx)))
		return 0; /* what it should have counted counts as missed */
	fill_header(&record->header, GC_EVENT_TOY, sizeof(*record), now);
	send_record(record, sizeof(*record), &thread->sent);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
