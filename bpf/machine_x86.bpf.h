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

#define CMPXCHG_MOST 10 /* bytes: prefix, REX, opcode, ModRM, SIB, displacement */

/* Of `lock cmpxchg` of four or eight bytes at @code: its length; 0: another instruction. Intel SDM, volume 2. */
static __always_inline __u32 cmpxchg_length(const __u8 *code)
{
	const __u32 rex = (code[1] & 0xf0) == 0x40;
	const __u8 *modrm = code + 3 + rex;
	__u32 mod, rm, length = 4 + rex;

	if (code[0] != 0xf0 || code[1 + rex] != 0x0f || code[2 + rex] != 0xb1)
		return 0;
	mod = *modrm >> 6;
	rm = *modrm & 7;
	if (mod != 3 && rm == 4) {
		rm = modrm[1] & 7;
		length++;
	}
	return length + (mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0);
}

/* Whether the instruction that a thread has just executed was a compare-and-swap, of a perf event's registers. */
static __always_inline bool machine_has_compared(__u64 ip)
{
	__u8 code[CMPXCHG_MOST + 5] =
		{}; /* and what is looked at behind it, which is no part of it */

	if (bpf_probe_read_user(code, CMPXCHG_MOST, (void *)(ip - CMPXCHG_MOST)))
		return false;
	for (__u32 at = 0; at <= CMPXCHG_MOST - 4; at++)
		if (cmpxchg_length(code + at) == CMPXCHG_MOST - at)
			return true;
	return false;
}

#define MACHINE_HAS_COMPARED(regs) machine_has_compared((regs)->rip)
