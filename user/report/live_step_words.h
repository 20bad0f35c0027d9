/* Steps as live_steps.h has them in; the words of the live view out. */
#pragma once

#include "live_steps.h"

/* Time and process, with which a line about steps begins. */
void live_step_head(FILE *out, const struct recording *recording, uint64_t time_ns,
	uint32_t process);

/* ", 266.1 ms of it GC (generation 2)". */
void live_step_stopped(FILE *out, const struct live_step *step);

/* The line of a slow step of @process. */
void live_step_line(FILE *out, const struct recording *recording, uint32_t process,
	const struct live_step *step, uint64_t median_ns);
