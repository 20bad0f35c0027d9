/* What loading the programs takes beside libbpf; for this room's files and their tests. */
#pragma once

#include "err.h"

/* limits.c: makes room for many open files. 0, or -errno with the remedy where files or memory are too few. */
int kernel_check_limits(struct err *err);

/* libbpf_log.c: libbpf's warnings go to our log. */
void kernel_quiet_libbpf(void);
/*
 * Why the programs were not loaded, @r being libbpf's answer. Privileges and the like were looked at
 * before: what is left is the kernel's own word on a program. Returns @r.
 */
int kernel_explain_refusal(int r, struct err *err);

/* refusal.c: GCTRACE_REFUSE → bits (1 << way, REFUSE_…). -EINVAL: it names no feature. */
#define REFUSE_STATES (1u << 8) /* lookups of threads' states fail now and then */
#define REFUSE_ENDS   (1u << 9) /* those at the ends of pauses always fail */
int kernel_parse_refusals(unsigned int *ret, struct err *err);
