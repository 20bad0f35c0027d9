/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A thread's registers and the innermost part of its stack → one gc_julia_stack record. */
#pragma once

#include "core.bpf.h"
#include "julia_wire.h"

#define PAGE_BYTES 4096

/* How much of the stack there is, as far as that can be told: Julia's own tasks have stacks anywhere. */
static __always_inline __u64 stack_bytes(__u64 sp)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 most = PAGE_BYTES * (1 + GC_JULIA_STACK_PAGES);
	__u64 own = task->thread.fsbase - sp; /* where a C library puts a thread's block */
	__u64 first = task->mm->start_stack - sp;

	if (own < most)
		most = own;
	return first < most ? first : most;
}

/*
 * Straight into the ring, page by page: what lies above the stack need not be mapped. @pages of it, behind the one that
 * it is in. The record of the pause comes behind it.
 */
static __always_inline void send_pages(const struct pt_regs *regs, __u32 type, __u64 time_ns,
	__u64 limit, const int pages)
{
	const __u32 bytes =
		__builtin_offsetof(struct gc_julia_stack, bytes) + PAGE_BYTES * (1 + pages);
	__u64 sp = PT_REGS_SP(regs),
	      first = at_most(PAGE_BYTES - (sp & (PAGE_BYTES - 1)), PAGE_BYTES);
	struct gc_julia_stack *stack = bpf_ringbuf_reserve(&events, bytes, 0);
	__u64 flags = BPF_RB_NO_WAKEUP;
	void *rest;

	if (!stack) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&stack->header, type, bytes, time_ns);
	stack->ip = PT_REGS_IP(regs);
	stack->sp = sp;
	stack->bp = regs->rbp;
	stack->bx = regs->rbx;
	stack->r[0] = regs->r12;
	stack->r[1] = regs->r13;
	stack->r[2] = regs->r14;
	stack->r[3] = regs->r15;
	stack->size = 0;
	if (!bpf_probe_read_user(stack->bytes, first, (void *)sp)) {
		stack->size = first;
		rest = offset_by(stack->bytes, first);
#pragma unroll
		for (int i = 0; i < pages; i++) {
			if (bpf_probe_read_user(rest + i * PAGE_BYTES, PAGE_BYTES,
				    (void *)(sp + first + i * PAGE_BYTES)))
				break;
			stack->size += PAGE_BYTES;
		}
	}
	if (stack->size > limit)
		stack->size = limit;
	stack->pad = 0;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(stack, flags);
}

static __always_inline void send_stack(const struct pt_regs *regs, __u32 type, __u64 time_ns)
{
	__u64 sp = PT_REGS_SP(regs), limit = stack_bytes(sp);
	__u64 end = (sp & (PAGE_BYTES - 1)) + limit;

	if (end <= PAGE_BYTES)
		send_pages(regs, type, time_ns, limit, 0);
	else if (end <= 2 * PAGE_BYTES)
		send_pages(regs, type, time_ns, limit, 1);
	else
		send_pages(regs, type, time_ns, limit, GC_JULIA_STACK_PAGES);
}
