/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A register by its number, for USDT arguments whose places differ from build to build. */
#pragma once

#include "core.bpf.h"

/* The verifier takes no computed offset into the registers: each load stays where it is written. */
#define LOADED(value)                                                                              \
	({                                                                                         \
		__u64 loaded_ = (value);                                                           \
		asm volatile("" : "+r"(loaded_));                                                  \
		loaded_;                                                                           \
	})
#define REGISTER(number, name)                                                                     \
	case number:                                                                               \
		return LOADED(ctx->name)

/* As GC_VM_COOKIE() numbers them. */
static __noinline __u64 vm_register(struct pt_regs *ctx, __u32 number)
{
	switch (number) {
		REGISTER(0, rax);
		REGISTER(1, rdx);
		REGISTER(2, rcx);
		REGISTER(3, rbx);
		REGISTER(4, rsi);
		REGISTER(5, rdi);
		REGISTER(6, rbp);
		REGISTER(8, r8);
		REGISTER(9, r9);
		REGISTER(10, r10);
		REGISTER(11, r11);
		REGISTER(12, r12);
		REGISTER(13, r13);
		REGISTER(14, r14);
		REGISTER(15, r15);
	}
	return 0;
}
