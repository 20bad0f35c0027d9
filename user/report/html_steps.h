/*
 * The steps of one process as the HTML page holds them. In: an attribution. Out: JSON: bins of one or more consecutive
 * steps, their distribution, the worst of them exactly.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "attrib.h"
#include "html_stacks.h"

/*
 * "…": the bins of track @track, @per_bin steps each (the last may hold fewer), as numbers: see html_read.js, which
 * reads them. 0 or -ENOMEM.
 */
int html_steps_write(FILE *out, const struct attribution *attribution, uint32_t track,
	uint32_t per_bin);

/* {"low_ns":…,"high_ns":…,"with":[counts],"without":[counts]} over logarithmic classes. */
void html_distribution_write(FILE *out, const struct attribution *attribution, uint32_t track);

/*
 * [{"index":…,"start_ns":…,"duration_ns":…,"overlap_ns":…,"cost_ns":…,"pauses":…,"class":…,"frame":…},…] of the longest
 * steps and of those that pauses cost most, by index; ns from the recording's start on. A class is its colour. 0 or -ENOMEM.
 */
int html_worst_write(FILE *out, const struct attribution *attribution, uint32_t track,
	struct html_stacks *stacks);
