/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The resident memory of the current process, as /proc/PID/statm counts it. */
#pragma once

#include <stdbool.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "core.bpf.h"

/* enum { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES }: so since Linux 4.5. */
#define FILE_PAGES  0
#define ANON_PAGES  1
#define SHMEM_PAGES 3
#define MM_COUNTERS 4

struct percpu_counter {
	long long
		count; /* without what CPUs hold back: 32 pages each, or twice their number if more */
} __attribute__((preserve_access_index));

/* Since Linux 6.2: commit f1a7941243c1. */
struct mm_struct___percpu {
	struct percpu_counter rss_stat[MM_COUNTERS];
} __attribute__((preserve_access_index));

struct page_count {
	long long counter; /* an atomic_long_t in the kernel */
} __attribute__((preserve_access_index));

struct mm_rss_stat___atomic {
	struct page_count count[MM_COUNTERS];
} __attribute__((preserve_access_index));

struct mm_struct___atomic {
	struct mm_rss_stat___atomic rss_stat;
} __attribute__((preserve_access_index));

struct mm_struct;

struct task_struct___mm {
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

/* Counters that CPUs share out may be below zero for a while. */
static __always_inline __u64 page_bytes(long long pages)
{
	return pages > 0 ? (__u64)pages * page_size : 0;
}

/* False, and *ret_bytes untouched, where the kernel's layout is neither of the two. */
static __always_inline bool read_rss(__u64 *ret_bytes)
{
	const struct task_struct___mm *task = (void *)bpf_get_current_task_btf();
	const void *mm = task->mm;

	if (!mm)
		return false;
	if (bpf_core_field_exists(((struct mm_struct___percpu *)0)->rss_stat[0].count)) {
		const struct mm_struct___percpu *m = mm;

		*ret_bytes = page_bytes(m->rss_stat[FILE_PAGES].count) +
			     page_bytes(m->rss_stat[ANON_PAGES].count) +
			     page_bytes(m->rss_stat[SHMEM_PAGES].count);
		return true;
	}
	if (bpf_core_field_exists(((struct mm_struct___atomic *)0)->rss_stat.count[0].counter)) {
		const struct mm_struct___atomic *m = mm;

		/* By a helper: these kernels' verifiers do not follow an array in a typedef. */
		*ret_bytes = page_bytes(BPF_CORE_READ(m, rss_stat.count[FILE_PAGES].counter)) +
			     page_bytes(BPF_CORE_READ(m, rss_stat.count[ANON_PAGES].counter)) +
			     page_bytes(BPF_CORE_READ(m, rss_stat.count[SHMEM_PAGES].counter));
		return true;
	}
	return false;
}
