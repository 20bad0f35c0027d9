// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Threads that come to a safepoint → which of them came last, one gc_late record with its Java stack.
 */
#include "vm_thread.bpf.h"

struct last_comer {
	__u64 from_ns, until_ns; /* the latest one so far, and the latest that counts */
	__u64 thread;
	__u32 tid;
};

/* A global function: 256 turns are verified as one. */
__noinline int take_later(const struct jvm_state *state, struct last_comer *last, __u32 i)
{
	const struct comer *comer;
	__u64 time_ns, thread;
	__u32 tid;

	if (!state || !last)
		return 0;
	comer = &state->comers[i & (COMERS - 1)];
	time_ns = comer->time_ns;
	thread = comer->thread;
	tid = comer->tid;
	if (time_ns <= last->from_ns || time_ns > last->until_ns || tid != comer->again)
		return 0;
	last->from_ns = time_ns;
	last->thread = thread;
	last->tid = tid;
	return 0;
}

/* What the VM Thread may need to notice the last arrival: it naps for 1 ms (17+). */
#define NOTICE_NS 1500000ull

/*
 * Who came last is who was waited for, if the wait ended with that: a thread in native code or in
 * the VM is safe without coming. A global function: verified once.
 */
__noinline int tell_late(struct vm_thread *vm, __u64 begin_ns, __u64 sync_ns)
{
	struct last_comer last = {.from_ns = begin_ns, .until_ns = sync_ns};
	const struct jvm_state *state = jvm_state();
	__u64 waited_ns = sync_ns - begin_ns, count;
	struct gc_late *late;

	if (!vm || !state)
		return 0;
	for (__u32 i = 0; i < COMERS; i++)
		take_later(state, &last, i);
	if (!last.tid ||
		(sync_ns - last.from_ns > NOTICE_NS && sync_ns - last.from_ns > waited_ns / 2))
		return 0;
	late = &vm->late;
	walk_java((struct java_frames *)late->frames, &vm->walk, last.thread, true);
	count = at_most(vm->walk.count, GC_JAVA_FRAMES);
	fill_header(&late->header, GC_EVENT_LATE, GC_LATE_SIZE(count), sync_ns);
	late->begin_ns = begin_ns;
	late->arrived_ns = last.from_ns;
	late->late_tid = last.tid;
	late->stack_flags = vm->walk.flags;
	late->frame_count = count;
	send_record(late, GC_LATE_SIZE(count), &vm->sent);
	vm->record.late_tid = last.tid;
	return 0;
}

/* Every thread that ran Java code pays for this, at each safepoint. */
SEC("uprobe")
int on_safepoint_block(struct pt_regs *ctx)
{
	struct jvm_state *state = jvm_state();
	struct comer *comer;
	__u32 tid;

	OWN_STACK(ctx, no_programs);
	if (!state)
		return 0;
	comer = &state->comers[bpf_get_smp_processor_id() & (COMERS - 1)];
	tid = (__u32)current_ids();
	comer->tid = tid;
	barrier();
	comer->thread = PT_REGS_PARM1(ctx);
	comer->time_ns = bpf_ktime_get_ns();
	barrier();
	comer->again = tid;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
