/* From a trace to the rows of a timeline. */
#pragma once

#include "gpu.h"
#include "kineto_join.h"

/*
 * Adds what @trace, matched, has of processes whose row in pids names one of @recording, with times moved by @clock.
 * *ret_ignored: how much work was left out, because its process is not known. 0, -ENOMEM, or -E2BIG: it has more of something than any machine.
 */
int kineto_rows(const struct kineto_trace *trace, const struct recording *recording,
	const struct kineto_clock *clock, struct gpu_timeline *timeline, uint64_t *ret_ignored);
