/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* AArch64's part of machine.bpf.h. */
#pragma once

/*
 * Current as of the last switch to another thread: 0 until the first one, as C libraries set the first thread's without the
 * kernel.
 */
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
} __attribute__((preserve_access_index));

#define MACHINE_THREAD_POINTER thread.uw.tp_value /* of a task */

/*
 * pthread_self() is struct pthread, just below the thread pointer (the ABI's TLS variant 1): under 2 KB in glibc 2.31 to
 * 2.41, 200 bytes in musl. That of another thread is a stack away.
 */
#define MACHINE_SELF_SPAN 4096

/* What programs get of the registers: the first part of struct pt_regs. */
typedef struct user_pt_regs machine_regs;

/* Bytes by which a return moves the stack pointer, seen from the function's entry: the address is in x30. */
#define MACHINE_RETURN_POPS 0

#define MACHINE_PARM6(ctx) (((const volatile machine_regs *)(ctx))->regs[5])

/* At a function's entry: its return address; or, at @at bytes on the stack, its caller's. */
#define MACHINE_CALLER(ctx, at)                                                                    \
	((at) == GC_NO_FIELD ? PT_REGS_RET(ctx) : read_u64(PT_REGS_SP(ctx) + (at)))

/*
 * A return address as it is, of code that lies near @beside. One that was signed (paciasp) has a code in its upper bits,
 * from the 39th on where the kernel's address space is the smallest; code that lies near has the same there.
 */
#define MACHINE_PLAIN(address, beside)                                                             \
	(((address) & ((1ull << 39) - 1)) | ((beside) & ~((1ull << 39) - 1)))

/* Whether the last comparison found equality, of a perf event's registers. */
#define MACHINE_WAS_EQUAL(regs) ((regs)->pstate & 0x40000000)

/* Whether the instruction that a thread has just executed was a compare-and-swap: never asked, as there are no watchpoints. */
#define MACHINE_HAS_COMPARED(regs) false
