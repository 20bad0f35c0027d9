// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Calls that wait, perhaps by spinning → the CPU time that their threads spent in them, which is no work. */
#include "step_thread.bpf.h"

/* False if there have been more calls, this one included, than are tolerated. @weight: what it costs. */
static __always_inline bool pour(struct gc_waits *waits, __u64 weight, __u64 now)
{
	__sync_fetch_and_add(&waits->calls, 1);
	__sync_fetch_and_add(&waits->due_ns, waits->rate_ns * weight);
	if (waits->due_ns < now) {
		waits->due_ns = now;
		return true;
	}
	if (waits->due_ns - now < (__u64)waits->rate_ns * GC_SIGNAL_BURST)
		return true;
	waits->muted = 1;
	return false;
}

static __always_inline struct gc_waits *all_waits(void)
{
	struct gc_signals *all;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&signals, &zero);
	return all ? &all->waits : NULL;
}

/* At the entry, where the stack pointer is at the return address. Calls within others are part of them. */
SEC("uprobe")
int on_wait_call(struct pt_regs *ctx)
{
	struct step_thread *thread = this_thread(0);
	__u64 cpu, now, sp = PT_REGS_SP(ctx);
	struct gc_waits *waits;

	OWN_STACK(ctx, no_programs);
	if (!thread && !is_target())
		return 0;
	waits = all_waits();
	if (!waits || waits->muted)
		return 0;
	cpu = cpu_ns(&now);
	if (!pour(waits, bpf_get_attach_cookie(ctx), now))
		return 0;
	if (!thread)
		thread = this_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		count_drop(GC_DROP_THREAD);
		return 0;
	}
	if (thread->epoch != waits->epoch)
		begin_work(thread, waits->epoch, cpu);
	if (thread->call_sp && sp < thread->call_sp)
		return 0; /* and a call that was left by a jump is none */
	thread->call_cpu = cpu;
	thread->call_sp = sp;
	return 0;
}

/* At its return, when the return address has been taken from the stack. */
SEC("uretprobe")
int on_wait_return(struct pt_regs *ctx)
{
	struct step_thread *thread = this_thread(0);
	struct gc_waits *waits = all_waits();
	__u64 now;

	OWN_STACK(ctx, no_programs);
	if (!thread || !waits || thread->epoch != waits->epoch ||
		thread->call_sp + MACHINE_RETURN_POPS != PT_REGS_SP(ctx))
		return 0;
	thread->spun_ns += cpu_ns(&now) - thread->call_cpu;
	thread->call_sp = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
