/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How much of a child's pause the thread that forked it slept: a consumer waits for its worker. */
#pragma once

#include "cpython_thread.bpf.h"

#define RECHECK 64 /* pauses after which a parent that was no target is looked up again */

static __always_inline bool is_asleep(const struct task_struct *task)
{
	return task->__state & TASK_ASLEEP;
}

static __always_inline __u64 queued_ns(const struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* Whether the parent process is a target; a lookup only when that may have changed. */
static __always_inline bool parent_is_target(struct thread_state *state,
	const struct task_struct *parent)
{
	struct parent_watch *watch = &state->parent;
	__u32 tgid;

	if ((__u32)parent->tgid != watch->tgid || (!watch->is_target && !(state->sent % RECHECK))) {
		watch->tgid = parent->tgid;
		tgid = task_ids(parent) >> 32;
		watch->is_target = bpf_map_lookup_elem(&targets, &tgid);
	}
	return watch->is_target;
}

static __always_inline void watch_parent(struct thread_state *state)
{
	const struct task_struct *parent = bpf_get_current_task_btf()->real_parent;
	struct parent_watch *watch = &state->parent;

	watch->task = 0;
	if (!parent_is_target(state, parent))
		return;
	watch->task = (__u64)parent;
	watch->ran_ns = parent->se.sum_exec_runtime;
	watch->queued_ns = queued_ns(parent);
	watch->sleeps = parent->nvcsw;
	watch->asleep = is_asleep(parent);
}

/*
 * Time slept = the pause less what the parent ran or was runnable. Exact for one that slept all
 * the time, that never slept, or that slept at both ends; of one that was awake at an end, only
 * what it did until its last tick or switch is known: off by up to a tick (1 to 10 ms). What it
 * slept for is not known: this is the most that it can have waited for this child.
 */
static __always_inline void settle_wait(struct thread_state *state, __u64 duration_ns)
{
	const struct task_struct *parent = bpf_get_current_task_btf()->real_parent;
	const struct parent_watch *watch = &state->parent;
	__u64 awake_ns, slept_ns = 0;

	/* Gone, and another has adopted this process. */
	if (!watch->task || watch->task != (__u64)parent)
		return;
	awake_ns = parent->se.sum_exec_runtime - watch->ran_ns;
	awake_ns += queued_ns(parent) - watch->queued_ns;
	if ((watch->asleep || is_asleep(parent) || parent->nvcsw != watch->sleeps) &&
		awake_ns < duration_ns)
		slept_ns = duration_ns - awake_ns;
	state->record.waited_ns = slept_ns;
	state->flags |= GC_PAUSE_WAITED;
}
