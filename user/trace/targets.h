/* The targets: the processes whose probes count, in a map of BPF's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

#include "err.h"
#include "proc.h"

struct targets {
	const struct bpf_map *map;
};

bool targets_have(const struct targets *targets, pid_t pid);
/* All of them, behind what *@ret lists. */
void targets_list(const struct targets *targets, struct proc_pids *ret);
/*
 * Process @pid is one, or becomes one if @add; @watched: index + 1 of the image that a watchpoint of it watches, 0:
 * none. 0, or -errno with a sentence: -ESRCH if it has ended.
 */
int targets_keep(const struct targets *targets, pid_t pid, bool add, uint32_t watched,
	struct err *err);
void targets_remove(const struct targets *targets, pid_t pid);
