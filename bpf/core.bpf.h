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

struct task_struct {
	int pid, tgid;
	unsigned int __state;
	unsigned long nvcsw; /* voluntary context switches */
	struct task_struct *real_parent; /* the thread that forked this process, as long as it lives */
	struct sched_entity se;
	struct sched_info sched_info;
	struct signal_struct *signal;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

extern const volatile __u64 min_stack_ns; /* what lasts no longer carries no stack */
extern const volatile __u32 wakeup_bytes; /* unread bytes that wake the reader early */

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

/* What a thread inside a collection carries from begin to end. */
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
	struct parent_watch parent;
	/* Scratch. Per-CPU memory would be shared: uprobe programs may be preempted. */
	__u8 frames[FRAME_WINDOW + FRAME_BYTES];
	__u64 code_bytes[16];
	struct gc_pause record;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_TARGETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
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
	__uint(map_flags, BPF_F_NO_PREALLOC);
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

/* Shared with user space through the mapped .bss. */
struct shared {
	__u64 drops[GC_DROP_COUNT];
	struct gc_open open[GC_OPEN_SLOTS];
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

/* The smaller one, in a form that the verifier follows: clang would fold the comparison away. */
static __always_inline __u64 at_most(__u64 length, __u64 most)
{
	asm volatile("" : "+r"(length));
	return length > most ? most : length;
}

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
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
	__u64 id = bpf_get_current_pid_tgid();

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
