// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The least that any tracer costs: programs that do nothing, or only send one record. */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define RECORD_BYTES 104 /* as long as a pause without a stack */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

/* The traced process; all others are strangers. */
const volatile __u32 target = 0;

extern bool bpf_session_is_return(void) __ksym __weak;

SEC("uprobe")
int on_nothing(void *ctx)
{
	return 0;
}

SEC("uprobe")
int on_session(void *ctx)
{
	return 0;
}

/* One record at the end, unread until the ring is full: the reader is never woken. */
SEC("uprobe")
int on_session_record(void *ctx)
{
	__u64 *record;

	if (!bpf_session_is_return())
		return 0;
	record = bpf_ringbuf_reserve(&events, RECORD_BYTES, 0);
	if (!record)
		return 0;
	record[0] = bpf_ktime_get_ns();
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* An entry's 1 spares a process that is not the target the return. */
SEC("uprobe")
int on_session_filter(void *ctx)
{
	return bpf_get_current_pid_tgid() >> 32 != target;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
