/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What user space has told of each JVM. */
#pragma once

#include "core.bpf.h"
#include "hotspot_wire.h"

/* Targets that are JVMs, and known by now; written by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_JVMS);
	__type(key, __u32); /* tgid */
	__type(value, struct gc_jvm);
} jvm_plans __weak SEC(".maps");

/* Of the current process; NULL: it is no JVM, or not known yet. */
static __always_inline const struct gc_jvm *jvm_plan(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&jvm_plans, &tgid);
}
