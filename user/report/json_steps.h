/* The JSON records of steps, and the summary's keys that are about them. */
#pragma once

#include <stdio.h>

#include "report.h"

/* Writes the step records of all processes in the order in which the steps ended. A zeroed one is ready. */
struct json_steps {
	VEC(size_t) next; /* of each track */
};

/* Writes the records of the steps that ended at or before @time_ns. 0 or -ENOMEM. */
int json_steps_until(struct json_steps *steps, FILE *out, const struct report_input *input,
	uint64_t time_ns);
void json_steps_release(struct json_steps *steps);

/* The keys step, overlap_ns and cost_ns of the pause that @input gave as number @index, from 0. */
void json_charge(FILE *out, const struct report_input *input, uint64_t index);

/* The keys steps, step_signal, confidence and tracks of the summary. */
void json_tracks(FILE *out, const struct report_input *input);
