/* The JSON records of what a collector does beside pausing: stalls of single threads, concurrent phases. */
#pragma once

#include <stdio.h>

#include "report.h"
#include "room.h"

/* One record each. @room: as json_pause() has it. */
void json_stall(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct stall *stall, struct report_room *room);
void json_phase(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct phase *phase);

/* Hands out stalls and phases by the time they ended. A zeroed one is ready. */
struct json_waits {
	size_t stall, phase;
};

/* Writes the records of what ended at or before @time_ns. */
void json_waits_until(struct json_waits *waits, FILE *out, const struct report_input *input,
	uint64_t time_ns, struct report_room *room);
