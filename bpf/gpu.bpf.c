// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the CUPTI shim of a process hands over (gpu_wire.h) → the ring, as it is: user space interprets. What does not
 * fit is counted, with the time that it was of, since of that time nothing is known.
 */
#include "core.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_GPU_THREADS);
	__type(key, __u64); /* current_ids() */
	__type(value, struct gc_gpu_loss);
} gpu_losses SEC(".maps");

/* Of the ring's space: what is reserved has one of these sizes. */
#define FEW 4

/* The verifier takes no computed offset into the registers, but a helper does. */
static __always_inline __u64 registered(const struct pt_regs *ctx, __u32 offset)
{
	__u64 value = 0;

	if (offset <= sizeof(machine_regs) - sizeof(value))
		bpf_probe_read_kernel(&value, sizeof(value), (const void *)ctx + offset);
	return value;
}

/* Notes of what time the @count records at @from are. False: they cannot be read. */
static __always_inline bool date(struct gc_gpu_loss *loss, __u64 from, __u32 count)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < GC_GPU_RECORDS; i++) {
		struct {
			__u16 kind, pad;
			__u32 device;
			__u64 start_ns, end_ns;
		} head;

		if (i >= count)
			break;
		if (bpf_probe_read_user(&head, sizeof(head),
			    (const void *)(from + i * sizeof(struct gc_gpu_record))))
			return false;
		if (head.kind != GC_GPU_BUSY && head.kind != GC_GPU_WAIT)
			continue;
		if (head.start_ns < loss->start_ns)
			loss->start_ns = head.start_ns;
		if (head.end_ns > loss->end_ns)
			loss->end_ns = head.end_ns;
	}
	return true;
}

/* This thread's entry is written by it alone. */
static __noinline void lose(__u64 ids, __u64 from, __u32 count)
{
	const struct gc_gpu_loss none = {.start_ns = ~0ull};
	struct gc_gpu_loss *loss = bpf_map_lookup_elem(&gpu_losses, &ids);

	if (!loss) {
		bpf_map_update_elem(&gpu_losses, &ids, &none, BPF_NOEXIST);
		loss = bpf_map_lookup_elem(&gpu_losses, &ids);
	}
	if (!loss) {
		count_drop(GC_DROP_THREAD);
		return;
	}
	loss->records += count;
	if (count > GC_GPU_RECORDS || !date(loss, from, count))
		loss->blind = 1;
}

/* What was lost before goes out with what is sent. */
static __always_inline void settle(struct gc_gpu *event, __u64 ids)
{
	struct gc_gpu_loss *loss = bpf_map_lookup_elem(&gpu_losses, &ids);

	event->flags = loss && loss->blind ? GC_GPU_BLIND : 0;
	event->lost = loss ? loss->records : 0;
	event->lost_start_ns = loss ? loss->start_ns : 0;
	event->lost_end_ns = loss ? loss->end_ns : 0;
	if (!loss || !loss->records)
		return;
	loss->records = loss->end_ns = loss->blind = 0;
	loss->start_ns = ~0ull;
}

/* At most @most of them, for which room is reserved: the verifier wants to know how much. */
static __always_inline void send(__u64 ids, __u64 from, __u32 count, const __u32 most)
{
	__u64 bytes = at_most(count, most) * sizeof(struct gc_gpu_record);
	__u64 unread = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	struct gc_gpu *event = NULL;

	/* Half of the ring is the pauses'. */
	if (unread < 2ull * wakeup_bytes)
		event = bpf_ringbuf_reserve(&events,
			sizeof(*event) + most * sizeof(struct gc_gpu_record), 0);
	if (!event) {
		lose(ids, from, count);
		return;
	}
	if (bpf_probe_read_user(event->records, bytes, (const void *)from)) {
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
		lose(ids, from, count);
		return;
	}
	fill_header(&event->header, GC_EVENT_GPU, sizeof(*event) + bytes, bpf_ktime_get_ns());
	event->count = count;
	settle(event, ids);
	bpf_ringbuf_submit(event, unread > wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* gctrace:gpu(records, count) */
SEC("uprobe")
int on_gpu(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), ids = current_ids(), from;
	__u32 tgid = ids >> 32, count;

	OWN_STACK(ctx, no_programs);
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	from = registered(ctx, GC_GPU_FROM(cookie));
	count = registered(ctx, GC_GPU_COUNT(cookie));
	if (count > GC_GPU_RECORDS)
		lose(ids, from, count);
	else if (count > FEW)
		send(ids, from, count, GC_GPU_RECORDS);
	else if (count)
		send(ids, from, count, FEW);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
