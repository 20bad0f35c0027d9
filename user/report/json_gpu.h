/* What GPUs did, as records and members of the JSON contract. In: an attribution with a timeline of them. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "report.h"
#include "vec.h"

/* Which idle intervals have been written. All zero at first. */
struct json_gpu {
	VEC(size_t) next; /* of each device: index in gpu_charges.idles */
	VEC(uint64_t)
	ids; /* of the pauses that came so far, to name those that intervals are charged to */
	bool begun;
};

/* Pause @id has come, the next in the order of the source. 0 or -ENOMEM. */
int json_gpu_add(struct json_gpu *gpu, const struct report_input *input, uint64_t id);
/*
 * A "gpu_idle" record of each interval that ended at or before @time_ns and is charged to no pause that has not come
 * yet, in the order of their ends. Nothing without a timeline. 0 or -ENOMEM.
 */
int json_gpu_until(struct json_gpu *gpu, FILE *out, const struct report_input *input,
	uint64_t time_ns);
void json_gpu_release(struct json_gpu *gpu);

/* What GPUs did in a step, beside gpu_idle_ns; what pause @index cost them: members of its record. */
void json_gpu_step(FILE *out, const struct attribution *attribution, const struct step_cost *cost);
void json_gpu_pause(FILE *out, const struct attribution *attribution, uint64_t index);
