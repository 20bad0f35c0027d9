/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* x86-64's part of machine.bpf.h. */
#pragma once

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

#define MACHINE_THREAD_POINTER thread.fsbase /* of a task */

/* pthread_self() lies at most so far below the thread pointer: it is the same, under glibc and musl. */
#define MACHINE_SELF_SPAN 0

/* What programs get of the registers. */
typedef struct pt_regs machine_regs;

/* Bytes by which a return moves the stack pointer, seen from the function's entry. */
#define MACHINE_RETURN_POPS sizeof(__u64)

#define MACHINE_PARM6(ctx) ((ctx)->r9)

/* At a function's entry: its return address. @at: beyond that, on the stack. */
#define MACHINE_CALLER(ctx, at) read_u64(PT_REGS_SP(ctx) + (at))

/* A return address as it is, of code that lies near @beside. */
#define MACHINE_PLAIN(address, beside) (address)

/* Whether the last comparison found equality, of a perf event's registers. */
#define MACHINE_WAS_EQUAL(regs) ((regs)->eflags & 0x40)
