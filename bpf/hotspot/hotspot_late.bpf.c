// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Threads that come to a safepoint → which of them came last, one gc_late record with its Java stack.
 */
#include "cpu_time.bpf.h"
#include "vm_thread.bpf.h"

/* Of a Java thread: when it last came to a safepoint, and what it had used of CPUs then. */
struct java_thread {
	__u64 came_ns, cpu_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct java_thread);
} java_threads SEC(".maps");

struct last_comer {
	__u64 from_ns, until_ns; /* the latest one so far, and the latest that counts */
	__u64 thread, got_cpu, before_ns, off_ns;
	__u32 tid;
};

/* A global function: 256 turns are verified as one. */
__noinline int take_later(const struct jvm_state *state, struct last_comer *last, __u32 i)
{
	const struct comer *comer;
	__u64 time_ns, thread, got_cpu, before_ns, off_ns;
	__u32 tid;

	if (!state || !last)
		return 0;
	comer = &state->comers[i & (COMERS - 1)];
	time_ns = comer->time_ns;
	thread = comer->thread;
	got_cpu = comer->got_cpu;
	before_ns = comer->before_ns;
	off_ns = comer->off_ns;
	tid = comer->tid;
	if (time_ns <= last->from_ns || time_ns > last->until_ns || tid != comer->again)
		return 0;
	last->from_ns = time_ns;
	last->thread = thread;
	last->got_cpu = got_cpu;
	last->before_ns = before_ns;
	last->off_ns = off_ns;
	last->tid = tid;
	return 0;
}

/* For how long @last had been on its CPU at a stretch when it came, by two clocks of which the one is @ahead_ns. */
static __always_inline __u64 stretch_ns(const struct last_comer *last, __u64 begin_ns,
	__s64 ahead_ns)
{
	__u64 from_ns = last->got_cpu + ahead_ns;

	if ((__s64)(from_ns - begin_ns) < 0)
		from_ns = begin_ns;
	return from_ns < last->from_ns ? last->from_ns - from_ns : 0;
}

/*
 * What @last ran at least of the time that it was waited for: a thread that had no CPU came at once when it got one. That
 * is its last stretch on one, or all but the time without since it last came: since it was let go then, where that was to
 * the last safepoint. The two clocks are set against each other as the VM Thread begins and ends to wait.
 */
static __always_inline __u64 ran_ns(const struct last_comer *last, const struct vm_thread *vm,
	__u64 begin_ns, __u64 now)
{
	__u64 ran = 0, off_ns = last->off_ns, asleep_ns, waited_ns = last->from_ns - begin_ns;
	__s64 ahead_ns = clock_ahead(now);

	if (ahead_ns == AHEAD_UNKNOWN || (!last->got_cpu && !last->before_ns))
		return GC_RAN_UNKNOWN;
	if (vm->ahead_ns < ahead_ns)
		ahead_ns = vm->ahead_ns;
	if (last->got_cpu)
		ran = stretch_ns(last, begin_ns, ahead_ns);
	if (!last->before_ns)
		return ran;
	if (last->before_ns >= vm->before_ns && last->before_ns < vm->ended_ns) {
		asleep_ns = vm->ended_ns - last->before_ns;
		off_ns = off_ns > asleep_ns ? off_ns - asleep_ns : 0;
	}
	return waited_ns > off_ns && waited_ns - off_ns > ran ? waited_ns - off_ns : ran;
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
	late->ran_ns = ran_ns(&last, vm, begin_ns, sync_ns);
	late->late_tid = last.tid;
	late->stack_flags = vm->walk.flags;
	late->frame_count = count;
	send_record(late, GC_LATE_SIZE(count), &vm->sent);
	vm->record.late_tid = last.tid;
	return 0;
}

static __always_inline __u64 got_cpu(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	return bpf_core_field_exists(task->sched_info.last_arrival) ? task->sched_info.last_arrival
								    : 0;
}

/* Notes in @comer how this thread came to be there, at a time that it returns. */
static __always_inline __u64 note_cpu(struct comer *comer)
{
	struct java_thread *thread =
		state_is_refused() ? NULL
				   : bpf_task_storage_get(&java_threads, bpf_get_current_task_btf(),
					     NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 now, cpu = cpu_ns(&now), off_ns;

	comer->got_cpu = got_cpu();
	comer->before_ns = 0;
	if (!thread)
		return now;
	off_ns = now - thread->came_ns - (cpu - thread->cpu_ns);
	comer->before_ns = thread->came_ns;
	comer->off_ns = (__s64)off_ns < 0 ? 0 : off_ns;
	thread->came_ns = now;
	thread->cpu_ns = cpu;
	return now;
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
	comer->time_ns = note_cpu(comer);
	barrier();
	comer->again = tid;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
