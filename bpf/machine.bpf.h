/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What differs from one processor to the next for BPF programs: where the kernel keeps a thread's pointer, what a call does
 * to the stack, what the sixth argument is called. Each machine has a header that defines the same names.
 */
#pragma once

#include <stddef.h>
#include <linux/types.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#if defined(__TARGET_ARCH_x86)
#include "machine_x86.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "machine_arm64.bpf.h"
#else
#error "no machine_ARCH.bpf.h for this processor"
#endif
