/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps and helpers that every BPF program shares: targets, the ring, drops, pauses in progress. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "gc_wire.h"
#include "machine.bpf.h"

/* The kernel's own structures, cut to the fields used; CO-RE finds their offsets at load. */
struct atomic_counter {
	int counter;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct atomic_counter live; /* an atomic_t in the kernel */
	struct task_struct *
		group_exec_task; /* set while a thread that calls exec ends the others; since 5.17 */
} __attribute__((preserve_access_index));

/* A CPU's queue: its clocks, as of the scheduler's last look. */
struct rq {
	__u64 clock;	  /* sched_clock() */
	__u64 clock_task; /* the same without what interrupts and other guests took */
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	__u64 exec_start;	/* when sum_exec_runtime was brought up to date: rq.clock_task */
	__u64 sum_exec_runtime; /* ns on a CPU; while running, as of the last tick */
	struct cfs_rq *cfs_rq;	/* with CONFIG_FAIR_GROUP_SCHED: of its CPU */
} __attribute__((preserve_access_index));

struct sched_info {			 /* its fields come with CONFIG_SCHED_INFO */
	unsigned long long run_delay;	 /* ns spent runnable without running */
	unsigned long long last_arrival; /* when it last got a CPU, by rq.clock */
} __attribute__((preserve_access_index));

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

/* A process's or thread's number in one pid namespace. */
struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them, the first namespace's first */
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long start_stack; /* of the first thread: where it began */
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned int __state;
	unsigned long nvcsw; /* voluntary context switches */
	struct task_struct
		*real_parent; /* the thread that forked this process, as long as it lives */
	struct sched_entity se;
	struct sched_info sched_info;
	struct signal_struct *signal;
	int exit_code;	    /* as wait() tells it */
	__u64 self_exec_id; /* counts its execs, and its parents' */
	struct thread_struct thread;
} __attribute__((preserve_access_index));

extern const volatile __u64 min_stack_ns;  /* what lasts no longer carries no stack */
extern const volatile __u32 wakeup_bytes;  /* unread bytes that wake the reader early */
extern const volatile __u32 pid_namespace; /* whose numbers we speak: its inode; 0: the first one */
extern const volatile __u32 page_size;
extern const volatile __u32
	refuse_state; /* for tests: of so many lookups of a thread's state, one fails */
extern const volatile bool refuse_ends; /* for tests: at the end of a pause they all do */

/* Hash tables are allocated in full: kernels before 6.1 let watchpoint programs use no other. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_TARGETS);
	__type(key, __u32); /* tgid */
	__type(value, struct gc_target);
} targets __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20); /* set at load */
} events __weak SEC(".maps");

/* Programs that none calls: see OWN_STACK(). A kernel takes one of these for one attach type only. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs __weak SEC(".maps"), no_sessions __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gc_shared);
} shared_map __weak SEC(".maps");

static __always_inline struct gc_shared *shared(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&shared_map, &zero);
}

static __always_inline void count_drop(__u32 cause)
{
	struct gc_shared *s = shared();

	if (s && cause < GC_DROP_COUNT)
		__sync_fetch_and_add(&s->drops[cause], 1);
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_TARGETS);
	__type(key, struct gc_vain);
	__type(value, __u64); /* how many */
} calls_in_vain __weak SEC(".maps");

/* Few processes make any: a call for which the map has no room is not counted. */
static __always_inline void count_in_vain(const struct gc_vain *key)
{
	const __u64 one = 1;
	__u64 *count = bpf_map_lookup_elem(&calls_in_vain, key);

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&calls_in_vain, key, &one, BPF_NOEXIST);
}

/* For tests: whether this lookup of a thread's state is to fail, as under contention before 6.2. */
static __always_inline bool state_is_refused(void)
{
	return refuse_state && !(bpf_get_prandom_u32() % refuse_state);
}

/* Of which branch the code is to run straight on: what a hit does not run should not be between what it does. */
#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/*
 * For each program of a uprobe. From 6.13 on the JIT gives a program of this type one stack a CPU, as
 * if it could not be preempted. A uprobe's can: another task's run of it on the same CPU then writes
 * into the stack of the first, which takes pointers from it. The kernel dies of that (Linux 7.3, lazy
 * preemption). A program that may call another one keeps the task's own stack.
 */
#define OWN_STACK(ctx, programs)                                                                   \
	do {                                                                                       \
		if (!PT_REGS_IP(ctx)) /* never: a uprobe's is in the program */                    \
			bpf_tail_call(ctx, &(programs), 0);                                        \
	} while (0)

/* The smaller one, in a form that the verifier follows: clang would fold the comparison away. */
static __always_inline __u64 at_most(__u64 length, __u64 most)
{
	asm volatile("" : "+r"(length));
	return length > most ? most : length;
}

/*
 * @base + @offset, in this order and no other: where clang adds the pointer to the number, kernels
 * before 6.13 (and 6.12.96) take the stack of the function that does so for that of its caller too.
 */
static __always_inline void *offset_by(const void *base, __u64 offset)
{
	asm volatile("%0 += %1" : "+r"(base) : "r"(offset));
	return (void *)base;
}

/*
 * Whether a uprobe session's program runs at the function's return: the instruction pointer is where it
 * returns to by then. (bpf_session_is_return() would say so too, but lost its old prototype in Linux 7.0.)
 */
static __always_inline bool session_returns(struct pt_regs *ctx)
{
	return PT_REGS_IP(ctx) != bpf_get_func_ip(ctx);
}

#define PID_LEVELS 32 /* include/linux/pid_namespace.h: MAX_PID_NS_LEVEL */

/* The number of the struct pid at @address in our namespace; 0: it has none there. Verified once. */
__noinline __weak __u32 number_here(__u64 address)
{
	const struct pid *pid = (const void *)address;
	__u32 level = BPF_CORE_READ(pid, level);

	/* From the innermost namespace outwards: usually that is ours. */
	for (int i = 0; i <= PID_LEVELS && level <= PID_LEVELS; i++, level--) {
		const struct upid *upid =
			(const void *)(address + bpf_core_field_offset(struct pid, numbers) +
				       level * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(upid, ns, ns.inum) == pid_namespace)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

/* tgid << 32 | tid as our pid namespace counts, like the two below. */
static __always_inline __u64 task_ids(const struct task_struct *task)
{
	if (!pid_namespace)
		return (__u64)task->tgid << 32 | (__u32)task->pid;
	/* Copied by a helper, an address is a number to the verifier, and a function of its own may take it. */
	return (__u64)number_here((__u64)BPF_CORE_READ(task, group_leader, thread_pid)) << 32 |
	       number_here((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline __u64 current_ids(void)
{
	return pid_namespace ? task_ids(bpf_get_current_task_btf()) : bpf_get_current_pid_tgid();
}

static __always_inline __u32 current_tgid(void)
{
	return current_ids() >> 32;
}

static __always_inline bool is_target(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&targets, &tgid);
}

static __always_inline void fill_header(struct gc_header *header, __u32 type, __u32 size,
	__u64 time_ns)
{
	__u64 id = current_ids();

	header->type = type;
	header->size = size;
	header->pid = id >> 32;
	header->tid = (__u32)id;
	header->time_ns = time_ns;
}

static __always_inline __u64 read_u64(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* A pause in progress shows in a slot that user space sees; a collision hides one of the two. */
static __always_inline struct gc_open *open_slot(__u32 tid)
{
	struct gc_shared *s = shared();

	return s ? &s->open[tid % GC_OPEN_SLOTS] : NULL;
}

static __always_inline void close_slot(__u32 tid)
{
	struct gc_open *slot = open_slot(tid);

	if (slot && slot->tid == tid)
		slot->start_ns = 0;
}

/*
 * An end that did not find the thread's state: the pause is over all the same, though what is known of it cannot be
 * told. @sp: as in the slot, so that no other end is taken for it. Returns whether it was the pause's.
 */
static __always_inline bool lose_slot(__u32 tid, __u64 sp)
{
	struct gc_open *slot = open_slot(tid);

	if (!slot || slot->tid != tid || !slot->start_ns || slot->sp != sp)
		return false;
	slot->start_ns = 0;
	slot->sp = GC_OPEN_LOST;
	return true;
}

/* Of a thread with a pause under way, by its state: that has ended, see lose_slot(). */
static __always_inline bool was_lost(__u32 tid)
{
	const struct gc_open *slot = open_slot(tid);

	return slot && slot->tid == tid && slot->sp == GC_OPEN_LOST;
}

#define WAKEUP_LOOKS 16

/* Of the record number @sent of a sender: the reader is woken only when much is waiting, which is looked at now and then. */
static __always_inline __u64 wakeup_flags(__u64 sent)
{
	if (!(sent % WAKEUP_LOOKS) && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* Puts a record into the ring. @sent counts its sender's records. */
static __always_inline void send_record(void *record, __u64 size, __u32 *sent)
{
	if (bpf_ringbuf_output(&events, record, size, wakeup_flags(++*sent)))
		count_drop(GC_DROP_RING);
}

/*
 * Sends a record of a process. New ones and new maps wake the reader: it must look at them soon. Exits can
 * wait for its turn; and a reader that is woken may preempt the program that woke it, while the kernel leaves
 * the program out for whoever exits next on this CPU (7.x).
 */
static __always_inline void tell(__u32 type, __u32 child, __u64 start_ns)
{
	bool urgent = type != GC_EVENT_EXIT && type != GC_EVENT_UNFINISHED;
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
