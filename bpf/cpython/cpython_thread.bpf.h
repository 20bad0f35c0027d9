/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread of CPython carries from a collection's begin to its end, and what is known of each file. */
#pragma once

#include "core.bpf.h"
#include "cpython_wire.h"

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
	__u64 before
		[9]; /* generation_stats at the begin: collections, collected, uncollectable, ×3 */
	__u32 cause, flags;
	__s32 generation; /* as the argument said */
	__u32 has_books, sent;
	__s32 due; /* the generation that the counters' word on the cause hangs on; -1: none */
	__u32 inherited; /* the collection was begun by the process that forked this one */
	__u32 sure; /* that this call of the collector collects: not at once in free-threaded builds */
	__u32 site; /* where it began: GC_SITE_… */
	struct parent_watch parent;
	/* Scratch. Per-CPU memory would be shared: uprobe programs may be preempted. */
	struct known
		known; /* before a call of which it must be found out whether it does anything */
	struct walk walk;
	struct table_walk table;
	__u8 frames[FRAME_WINDOW + FRAME_BYTES];
	__u64 code_bytes[16];
	struct gc_pause record;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GC_MAX_IMAGES);
	__type(key, __u32);
	__type(value, struct gc_layout);
} layouts __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads __weak SEC(".maps");

/* Ids of code objects already sent; losing one costs a resend. */
struct seen_codes {
	__u64 ids[GC_SEEN_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen_codes);
} seen_codes __weak SEC(".maps");

/* Not 0: some target has more than one interpreter, see find_interpreter(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} several_interpreters __weak SEC(".maps");

static __always_inline struct thread_state *thread_state(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL, flags);
}
