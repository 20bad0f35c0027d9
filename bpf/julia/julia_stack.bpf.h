/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A thread's registers and the innermost part of its stack → one gc_julia_stack record. */
#pragma once

#include "core.bpf.h"
#include "julia_wire.h"

#define PAGE_BYTES 4096

/*
 * Straight into the ring, page by page: what lies above the stack need not be mapped. The record of the pause comes
 * behind it.
 */
static __always_inline void send_stack(const struct pt_regs *ctx)
{
	__u64 sp = PT_REGS_SP(ctx),
	      first = at_most(PAGE_BYTES - (sp & (PAGE_BYTES - 1)), PAGE_BYTES);
	struct gc_julia_stack *stack = bpf_ringbuf_reserve(&events, sizeof(*stack), 0);
	__u64 flags = BPF_RB_NO_WAKEUP;
	void *rest;

	if (!stack) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&stack->header, GC_EVENT_JULIA_STACK, sizeof(*stack), bpf_ktime_get_ns());
	stack->ip = PT_REGS_IP(ctx);
	stack->sp = sp;
	stack->bp = ctx->rbp;
	stack->bx = ctx->rbx;
	stack->r[0] = ctx->r12;
	stack->r[1] = ctx->r13;
	stack->r[2] = ctx->r14;
	stack->r[3] = ctx->r15;
	stack->size = 0;
	if (!bpf_probe_read_user(stack->bytes, first, (void *)sp)) {
		stack->size = first;
		rest = offset_by(stack->bytes, first);
#pragma unroll
		for (int i = 0; i < GC_JULIA_STACK_PAGES; i++) {
			if (bpf_probe_read_user(rest + i * PAGE_BYTES, PAGE_BYTES,
				    (void *)(sp + first + i * PAGE_BYTES)))
				break;
			stack->size += PAGE_BYTES;
		}
	}
	stack->pad = 0;
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(stack, flags);
}
