// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Follows processes: fork adds a child before it runs, exit removes it, exec and dlopen are told. */
#include "vm_thread.bpf.h"

const volatile bool follow_children = true;

/*
 * New processes and maps wake the reader: they must be looked at soon. Exits can wait for its turn; and
 * a reader that is woken may preempt the program that woke it, while the kernel leaves the program out
 * for who exits next on this CPU (7.x).
 */
static __always_inline void tell(__u32 type, __u32 child, __u64 start_ns)
{
	bool urgent = type != GC_EVENT_EXIT && type != GC_EVENT_UNFINISHED && type != GC_EVENT_KILLED;
	struct gc_process *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&event->header, type, sizeof(*event), bpf_ktime_get_ns());
	event->child = child;
	event->pad = 0;
	event->start_ns = start_ns;
	if (type != GC_EVENT_EXEC || bpf_get_current_comm(event->comm, sizeof(event->comm)))
		__builtin_memset(event->comm, 0, sizeof(event->comm));
	bpf_ringbuf_submit(event, urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

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

	if (!from || !from->depth)
		return;
	state = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		count_drop(GC_DROP_THREAD);
		return;
	}
	ids = task_ids(child);
	state->record.header.type = GC_EVENT_PAUSE;
	state->record.header.pid = ids >> 32;
	state->record.header.tid = (__u32)ids;
	state->depth = from->depth;
	state->inherited = 1;
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

/* cpython_books.bpf.h. From Linux 6.16 on a process that exits still has its memory here. */
int end_was_lost(struct thread_state *state);

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	const struct gc_target *target;
	__u32 from, to;

	if (!follow_children || child->pid != child->tgid)
		return 0; /* a thread */
	from = task_ids(parent) >> 32;
	to = task_ids(child) >> 32;
	target = bpf_map_lookup_elem(&targets, &from);
	if (!target)
		return 0; /* the child's interpreters are its parent's, at the same addresses */
	if (bpf_map_update_elem(&targets, &to, target, BPF_ANY)) {
		count_drop(GC_DROP_TARGETS);
		return 0;
	}
	inherit_pause(child);
	tell(GC_EVENT_FORK, to, 0);
	return 0;
}

static __always_inline void close_slot(__u32 tid)
{
	struct shared *s = shared();

	if (s && s->open[tid % GC_OPEN_SLOTS].tid == tid)
		s->open[tid % GC_OPEN_SLOTS].start_ns = 0;
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
	if (state->inherited)
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
	record->frame_count = 0;
	send_record(record, GC_PAUSE_SIZE(0), &state->sent);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct gc_target fresh = {.space = bpf_get_prandom_u32()};
	__u64 ids = task_ids(task);
	__u32 tgid = ids >> 32;
	struct thread_state *state;

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	bpf_map_update_elem(&targets, &tgid, &fresh, BPF_EXIST);
	state = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	if (state) {
		leave_pause(state);
		state->tstate = 0;
		/* The thread that called exec is now the leader. */
		state->record.header.tid = (__u32)ids;
	}
	tell(GC_EVENT_EXEC, 0, 0);
	return 0;
}

#define EXIT_SIGNAL 0x7f /* of an exit code */

/* Before Linux 5.17. */
struct signal_struct___before {
	struct task_struct *group_exit_task;
} __attribute__((preserve_access_index));

/* Whether another thread of its process is calling exec, which ends this one with an exit code of 0. */
static __always_inline bool ends_by_exec(const struct task_struct *task)
{
	const struct signal_struct___before *before = (void *)task->signal;

	if (bpf_core_field_exists(task->signal->group_exec_task))
		return task->signal->group_exec_task;
	return bpf_core_field_exists(before->group_exit_task) && before->group_exit_task;
}

/*
 * A JVM that is killed inside a safepoint, or runs another program from there. What ends by itself does so
 * in one, which stops nobody.
 */
static __always_inline void leave_safepoint(const struct task_struct *task)
{
	const struct vm_thread *vm = vm_thread(0);

	if (vm && vm->begin_ns && (task->exit_code & EXIT_SIGNAL || ends_by_exec(task)))
		tell(GC_EVENT_KILLED, 0, vm->begin_ns);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 ids = task_ids(task);
	__u32 tgid = ids >> 32;
	struct thread_state *state;

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	state = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, 0);
	if (state && state->depth && !state->inherited && end_was_lost(state)) {
		state->depth = 0;
		tell(GC_EVENT_UNFINISHED, 0, state->start_ns);
	}
	if (state)
		leave_pause(state);
	leave_safepoint(task);
	close_slot((__u32)ids); /* a JVM's last safepoint has no end */
	if (task->signal->live.counter)
		return 0; /* other threads live on */
	bpf_map_delete_elem(&targets, &tgid);
	tell(GC_EVENT_EXIT, 0, 0);
	return 0;
}

/* The dynamic linker's r_brk hook (glibc's and musl's _dl_debug_state): maps change or have changed. */
SEC("uprobe")
int on_maps_changed(struct pt_regs *ctx)
{
	__u32 tgid = current_tgid();

	OWN_STACK(ctx, no_programs);
	if (bpf_map_lookup_elem(&targets, &tgid))
		tell(GC_EVENT_MAPS, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
