// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Threads that fork, exec or exit inside a collection: what becomes of the pause. */
#include "cpython_thread.bpf.h"

/*
 * A finalizer forks: the child's stack is in the same collection, whose end will be the child's
 * own. Should it never return from it, as where it runs another program, there is nothing to tell:
 * no slot shows it, and leave_pause() leaves it.
 */
static __always_inline void inherit_pause(struct task_struct *child)
{
	const struct thread_state *from =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	struct thread_state *state;
	__u64 ids;
	__u32 tgid;

	if (!from || !from->depth || !from->sure)
		return;
	ids = task_ids(child);
	tgid = ids >> 32;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return; /* its process is not followed */
	state = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		count_drop(GC_DROP_THREAD);
		return;
	}
	state->record.header.type = GC_EVENT_PAUSE;
	state->record.header.pid = ids >> 32;
	state->record.header.tid = (__u32)ids;
	state->depth = from->depth;
	state->inherited = 1;
	state->sure = 1;
	state->record.stop_count = GC_MAX_STOPS + 1; /* the first one was the parent's */
	state->image = from->image;
	state->tstate = from->tstate;
	state->interpreter = from->interpreter;
	state->gc = from->gc;
	state->runtime = from->runtime;
	for (int i = 0; i < 9; i++)
		state->before[i] = from->before[i];
	state->has_books = from->has_books;
	state->generation = from->generation;
	state->cause = from->cause;
	state->due = from->due;
	state->flags = from->flags & ~(GC_PAUSE_RSS | GC_PAUSE_WAITED);
	state->start_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_cpython_fork, struct task_struct *parent, struct task_struct *child)
{
	if (child->pid == child->tgid) /* a process, no thread */
		inherit_pause(child);
	return 0;
}

/*
 * The collector that this thread was in will never return: exit or exec has taken it away, and with
 * it the memory that its counters were in. The pause ends here.
 */
static __always_inline void leave_pause(struct thread_state *state)
{
	struct gc_pause *record = &state->record;

	if (!state->depth)
		return;
	state->depth = 0;
	if (state->inherited || !state->sure)
		return;
	close_slot(record->header.tid);
	record->header.size = GC_PAUSE_SIZE(0);
	record->header.time_ns = bpf_ktime_get_ns();
	record->start_ns = state->start_ns;
	record->interpreter = state->interpreter;
	record->number = -1;
	record->image = state->image;
	record->generation = state->generation;
	record->cause = state->cause;
	record->flags = (state->flags & ~GC_PAUSE_RSS) | GC_PAUSE_NO_BOOKS | GC_PAUSE_UNFINISHED;
	record->collected = record->uncollectable = 0;
	record->frame_count = record->stop_count = 0;
	send_record(record, GC_PAUSE_SIZE(0), &state->sent);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_cpython_exec, struct task_struct *task)
{
	struct thread_state *state =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);

	if (!state)
		return 0;
	leave_pause(state);
	state->tstate = 0;
	/* The thread that called exec is now the leader. */
	state->record.header.tid = (__u32)task_ids(task);
	return 0;
}

/* cpython_books.bpf.h. From Linux 6.16 on a process that exits still has its memory here. */
int end_was_lost(struct thread_state *state);

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_cpython_exit, struct task_struct *task)
{
	struct thread_state *state =
		bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);

	if (!state)
		return 0;
	if (state->depth && state->sure && !state->inherited && end_was_lost(state)) {
		state->depth = 0;
		tell(GC_EVENT_UNFINISHED, 0, state->start_ns);
	}
	leave_pause(state);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
