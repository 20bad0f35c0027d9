/* The JSON records and keys that only JVMs have. json_stall() and json_phase() are in json.h. */
#pragma once

#include <stdio.h>

#include "report.h"
#include "room.h"
#include "summary.h"

/* What a safepoint's record has beside a pause's. */
void json_safepoint(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, struct report_room *room);

/* Hands out stalls and phases by the time they ended. A zeroed one is ready. */
struct json_jvm {
	size_t stall, phase;
};

/* Writes the records of what ended at or before @time_ns. */
void json_jvm_until(struct json_jvm *jvm, FILE *out, const struct report_input *input,
	uint64_t time_ns, struct report_room *room);

/* The summary's keys: safepoints, stalls, phases, explicit_gc; none for a recording without JVMs. */
void json_jvm_summary(FILE *out, const struct report_input *input, struct summary *summary);
/* ,{"cause":…}: those in HotSpot's words, as they stand in "causes"; @first: no comma before the first. */
void json_jvm_causes(FILE *out, const struct stack_table *stacks, struct summary *summary, bool first);
