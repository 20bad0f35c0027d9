/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps and helpers that every BPF program shares: targets, thread state, the ring, drops. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "gc_wire.h"

/* The kernel's own structures, cut to the fields used; CO-RE finds their offsets at load. */
struct atomic_counter {
	int counter;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct atomic_counter live; /* an atomic_t in the kernel */
	struct task_struct *group_exec_task; /* set while a thread that calls exec ends the others; since 5.17 */
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned long fsbase; /* x86-64: pthread_self() under glibc and musl */
} __attribute__((preserve_access_index));

struct sched_entity {
	__u64 sum_exec_runtime; /* ns on a CPU; while running, as of the last tick */
} __attribute__((preserve_access_index));

struct sched_info { /* its fields come with CONFIG_SCHED_INFO */
	unsigned long long run_delay; /* ns spent runnable without running */
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

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned int __state;
	unsigned long nvcsw; /* voluntary context switches */
	struct task_struct *real_parent; /* the thread that forked this process, as long as it lives */
	struct sched_entity se;
	struct sched_info sched_info;
	struct signal_struct *signal;
	int exit_code; /* as wait() tells it */
	struct thread_struct thread;
} __attribute__((preserve_access_index));

extern const volatile __u64 min_stack_ns; /* what lasts no longer carries no stack */
extern const volatile __u32 wakeup_bytes; /* unread bytes that wake the reader early */
extern const volatile __u32 pid_namespace; /* whose numbers we speak: its inode; 0: the first one */
extern const volatile __u32 refuse_state; /* for tests: of so many lookups of a thread's state, one fails */

#define TASK_ASLEEP 3 /* TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE, of task_struct.__state */

#define FRAME_BYTES  128  /* no frame has fields that we read beyond this */
#define FRAME_WINDOW 2048 /* of a thread's frames, one below the other, copied at once */

/* What the parent's thread had done when a pause of its child began. */
struct parent_watch {
	__u64 task; /* its task_struct; 0: its process is no target */
	__u64 ran_ns, queued_ns;
	unsigned long sleeps;
	bool asleep;
	/* The parent process whose being a target was last looked up, and the answer. */
	bool is_target;
	__u32 tgid;
};

/* Where a walk along a thread's Python frames is. */
struct walk {
	__u64 frame;
	__u64 base, span; /* frames at base … base + span are in thread_state.frames */
	__u64 code, id;	  /* of the frame above: a function that calls itself is looked up once */
	__u32 count, space;
};

/* How far a line table has been sent. */
struct table_walk {
	__u64 id, bytes, length, offset;
};

/* Where a thread's collector is. */
struct known {
	__u64 tstate, interpreter, gc, runtime;
};

/*
 * What a thread inside a collection carries from begin to end. The walks are here because what lies
 * in a map has no known value for the verifier: it follows a function that works on them once.
 */
struct thread_state {
	__u32 depth; /* calls of the collector on this thread's stack */
	__u32 image;
	__u64 tstate, interpreter, gc, runtime;
	__u64 start_ns;
	unsigned long sleeps; /* of the thread before the pause: task_struct.nvcsw */
	__u64 before[9]; /* generation_stats at the begin: collections, collected, uncollectable, ×3 */
	__u32 cause, flags;
	__s32 generation; /* as the argument said */
	__u32 has_books, sent;
	__s32 due; /* the generation that the counters' word on the cause hangs on; -1: none */
	__u32 inherited; /* the collection was begun by the process that forked this one */
	struct parent_watch parent;
	/* Scratch. Per-CPU memory would be shared: uprobe programs may be preempted. */
	struct known known; /* before a call of which it must be found out whether it does anything */
	struct walk walk;
	struct table_walk table;
	__u8 frames[FRAME_WINDOW + FRAME_BYTES];
	__u64 code_bytes[16];
	struct gc_pause record;
};

/* Hash tables are allocated in full: kernels before 6.1 let watchpoint programs use no other. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_TARGETS);
	__type(key, __u32); /* tgid */
	__type(value, struct gc_target);
} targets __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GC_MAX_IMAGES);
	__type(key, __u32);
	__type(value, struct gc_layout);
} layouts __weak SEC(".maps");

/* Targets that are JVMs, and known by now; written by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_JVMS);
	__type(key, __u32); /* tgid */
	__type(value, struct gc_jvm);
} jvm_plans __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads __weak SEC(".maps");

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

/* Shared with user space through the mapped .bss. */
struct shared {
	__u64 drops[GC_DROP_COUNT];
	struct gc_open open[GC_OPEN_SLOTS];
	__u64 unmoved[GC_MAX_IMAGES]; /* calls of the collector that should have moved a counter */
	__u64 several; /* some target has more than one interpreter: see find_interpreter() */
	__u64 seen[GC_SEEN_SLOTS]; /* ids of code objects already sent; losing one costs a resend */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct shared);
} shared_map __weak SEC(".maps");

static __always_inline struct shared *shared(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&shared_map, &zero);
}

static __always_inline void count_drop(__u32 cause)
{
	struct shared *s = shared();

	if (s && cause < GC_DROP_COUNT)
		__sync_fetch_and_add(&s->drops[cause], 1);
}

/* For tests: whether this lookup of a thread's state is to fail, as under contention before 6.2. */
static __always_inline bool state_is_refused(void)
{
	return refuse_state && !(bpf_get_prandom_u32() % refuse_state);
}

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
 * Whether a uprobe session's program runs at the function's return: the instruction pointer is
 * where it returns to by then. (bpf_session_is_return() would tell too, but it lost its old prototype
 * in Linux 7.0.)
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

	/* From the innermost namespace outwards: mostly it is ours. */
	for (int i = 0; i <= PID_LEVELS && level <= PID_LEVELS; i++, level--) {
		const struct upid *upid = (const void *)(address +
			bpf_core_field_offset(struct pid, numbers) +
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
	/* Copied by a helper, addresses are numbers, which a function of its own takes. */
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

/* Of the current process; NULL: it is no JVM, or not known yet. */
static __always_inline const struct gc_jvm *jvm_plan(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&jvm_plans, &tgid);
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

#define WAKEUP_LOOKS 16

/*
 * Puts a record into the ring. The reader is woken only when much waits there, at which each sender
 * looks now and then: @sent counts its records.
 */
static __always_inline void send_record(void *record, __u64 size, __u32 *sent)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!(++*sent % WAKEUP_LOOKS) &&
		bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&events, record, size, flags))
		count_drop(GC_DROP_RING);
}
