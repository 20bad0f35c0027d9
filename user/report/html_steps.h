/*
 * The steps of one process as the HTML page holds them. In: an attribution. Out: JSON: bins of one or more consecutive
 * steps, and their distribution.
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
