// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of CUDA's driver in a process without the shim: launches are counted by thread, as a record each would cost more
 * than many launches do; calls that wait, allocate or free are sent one by one when they return.
 */
#include "core.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_DRIVER_THREADS);
	__type(key, __u64); /* current_ids() */
	__type(value, struct gc_driver_thread);
} driver_threads SEC(".maps");

static __noinline struct gc_driver_thread *add_thread(__u64 ids)
{
	const struct gc_driver_thread none = {};
	__u32 tgid = ids >> 32;
	struct gc_driver_thread *thread;

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	bpf_map_update_elem(&driver_threads, &ids, &none, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&driver_threads, &ids);
	if (!thread)
		count_drop(GC_DROP_THREAD);
	return thread;
}

/* This thread's entry is written by it alone. */
static __always_inline struct gc_driver_thread *this_driver_thread(void)
{
	__u64 ids = current_ids();
	struct gc_driver_thread *thread = bpf_map_lookup_elem(&driver_threads, &ids);

	return likely(thread) ? thread : add_thread(ids);
}

SEC("uprobe")
int on_driver_launch(struct pt_regs *ctx)
{
	struct gc_driver_thread *thread;

	OWN_STACK(ctx, no_programs);
	thread = this_driver_thread();
	if (thread)
		thread->launches++;
	return 0;
}

/* Of none of these functions more than the first two matter. The verifier takes no computed offset into the registers. */
static __always_inline __u64 argument(struct pt_regs *ctx, __u32 number)
{
	__u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx);

	asm volatile("" : "+r"(first), "+r"(second));
	return number == 1 ? first : number == 2 ? second : 0;
}

/* At the entry, where the stack pointer is at the return address. Of calls within others the inner one is seen. */
SEC("uprobe")
int on_driver_call(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct gc_driver_thread *thread;

	OWN_STACK(ctx, no_programs);
	thread = this_driver_thread();
	if (!thread)
		return 0;
	thread->calls++;
	thread->address = argument(ctx, GC_DRIVER_ADDRESS(cookie));
	thread->bytes = argument(ctx, GC_DRIVER_BYTES(cookie));
	thread->sp = PT_REGS_SP(ctx);
	thread->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* Half of the ring is the pauses'. */
static __always_inline struct gc_driver_call *reserve(void)
{
	struct gc_driver_call *call = NULL;

	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < 2ull * wakeup_bytes)
		call = bpf_ringbuf_reserve(&events, sizeof(*call), 0);
	if (!call)
		count_drop(GC_DROP_RING);
	return call;
}

/* At its return, when the return address has been taken from the stack. */
SEC("uretprobe")
int on_driver_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), ids = current_ids(), cookie = bpf_get_attach_cookie(ctx);
	struct gc_driver_thread *thread = bpf_map_lookup_elem(&driver_threads, &ids);
	struct gc_driver_call *call;

	OWN_STACK(ctx, no_programs);
	if (!thread || !thread->sp || thread->sp + MACHINE_RETURN_POPS != PT_REGS_SP(ctx))
		return 0;
	thread->sp = 0;
	call = reserve();
	if (!call)
		return 0;
	fill_header(&call->header, GC_EVENT_DRIVER, sizeof(*call), now);
	call->start_ns = thread->start_ns;
	call->launches = thread->launches;
	call->address = thread->address;
	if (GC_DRIVER_KIND(cookie) == GC_DRIVER_ALLOCATE)
		call->address = read_u64(thread->address);
	call->bytes = thread->bytes;
	call->cookie = (__u32)cookie;
	call->result = (__s32)PT_REGS_RC(ctx);
	bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
