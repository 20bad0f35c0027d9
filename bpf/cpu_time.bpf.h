/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the current thread has used of its processors, to the moment. */
#pragma once

#include "core.bpf.h"

/* By how much the scheduler's clock of this CPU lags behind ours, plus a constant. False where that cannot be read. */
static __always_inline bool read_lag(const struct task_struct *task, __u64 *ret)
{
	const struct rq *rq;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(task->se.cfs_rq->rq))
		return false;
	rq = task->se.cfs_rq->rq;
	*ret = rq->clock - rq->clock_task;
	return true;
}

/*
 * The current thread's CPU time up to now, plus a constant of this boot; *ret_now: now. sum_exec_runtime holds what it
 * was when the scheduler last looked, a tick ago at most, and exec_start when that was, by clock_task. Where the
 * queue cannot be read: the time as of that look.
 */
static __always_inline __u64 cpu_ns(__u64 *ret_now)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 start = task->se.exec_start, sum = task->se.sum_exec_runtime, lag;

	*ret_now = bpf_ktime_get_ns();
	if (start != task->se.exec_start) { /* a look came between: seldom twice */
		start = task->se.exec_start;
		sum = task->se.sum_exec_runtime;
		*ret_now = bpf_ktime_get_ns();
	}
	return read_lag(task, &lag) ? sum + *ret_now - start - lag : sum;
}
