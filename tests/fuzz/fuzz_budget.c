/*
 * Budgets of any text, judged on an attribution made of the same bytes: no crash, no outcome
 * without a reason.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "budget.h"
#include "compare.h"

/* Pauses from bytes: 8 each. */
struct source {
	const uint8_t *data;
	size_t size, at;
};

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct source *state = source;
	const uint8_t *bytes = state->data + state->at;
	uint64_t start = 0;

	if (state->size - state->at < 8)
		return state->size & 1 ? -74 : 0;
	memcpy(&start, bytes, 3);
	state->at += 8;
	*ret = (struct pause){
		.id = state->at / 8,
		.start_ns = bytes[7] == 255 ? start << 40 : start,
		.runtime = bytes[3] & 3,
		.interpreter = (bytes[3] >> 2 & 3) - 1,
		.generation = (bytes[3] >> 4 & 7) - 1,
		.cause = bytes[4] & 7,
		.collected = bytes[5] & 1 ? UNKNOWN : (int64_t)bytes[5] << (bytes[4] >> 3),
		.heap_objects = bytes[5] & 2 ? UNKNOWN : (int64_t)bytes[5] << (bytes[6] & 31),
		.heap_pending = bytes[5] & 4 ? UNKNOWN : (int64_t)bytes[6] << (bytes[5] & 31),
		.rss_start = bytes[6] - 1,
		.rss_end = bytes[7] - 1,
		.waited_ns = bytes[6] - 1,
		.stack = bytes[7] & 7,
	};
	ret->end_ns = ret->start_ns + ((uint64_t)bytes[6] << (bytes[7] & 63));
	return 1;
}

static void make_steps(struct steps *steps, const uint8_t *data, size_t size)
{
	struct step_track *track = vec_add(&steps->tracks);
	uint64_t now = 0;

	assert(track);
	track->process = 1;
	track->measured = size & 2;
	track->confidence = size & 4 ? 1 : 0.5;
	for (size_t i = 0; i < size && i < 4096; i++) {
		struct step *step = vec_add(&track->steps);

		assert(step);
		step->start_ns = now + (data[i] & 3);
		now = step->start_ns + ((uint64_t)(data[i] >> 2) << (data[i] & 15));
		step->end_ns = now;
		step->rss_bytes = data[i] - 1;
	}
}

static void judge(const char *text, const struct attribution *attribution)
{
	struct budget_result result = {};
	struct budget budget = {};
	struct err err = {};

	if (budget_parse(text, &budget, &err)) {
		assert(*err.text && !strchr(err.text, '\n') == !strchr(text, '\n'));
		return;
	}
	assert(budget.limit >= 0 && budget.limit < 1e30);
	assert(!budget_judge(&budget, attribution, &result));
	assert(result.known == (result.outcome != BUDGET_REFUSED));
	assert(result.outcome == BUDGET_KEPT || *result.why);
}

static void analyse(const char *text, const uint8_t *data, size_t size)
{
	struct recording recording = {};
	struct stack_table stacks = {};
	struct steps steps = {};
	struct source source = {data, size, 0};
	struct attribution attribution = {};
	struct comparisons comparisons = {};
	struct advices advices = {};

	assert(!stack_table_init(&stacks));
	for (uint32_t i = 1; i <= 2; i++) {
		struct process *process = vec_add(&recording.processes);
		struct runtime *runtime = vec_add(&recording.runtimes);

		assert(process && runtime);
		*process = (struct process){.id = i, .pid = (pid_t)i, .ppid = (pid_t)i - 1};
		*runtime = (struct runtime){
			.id = i, .process = i, .kind = "cpython", .version = "3.12.1"};
	}
	if (size & 8)
		make_steps(&steps, data, size);
	attrib_build(&recording, &stacks, &steps, next_pause, &source, &attribution, NULL);
	source.at = 0;
	advice_compute(&attribution, next_pause, &source, &advices, NULL);
	for (size_t i = 0; i < advices.items.count; i++)
		assert(*advices.items.items[i].title && *advices.items.items[i].estimate);
	assert(!compare(&attribution, &attribution, &comparisons, NULL));
	assert(*comparisons.verdict);
	judge(text, &attribution);
	comparisons_release(&comparisons);
	advices_release(&advices);
	attrib_release(&attribution);
	for (size_t i = 0; i < steps.tracks.count; i++)
		vec_free(&steps.tracks.items[i].steps);
	vec_free(&steps.tracks);
	stack_table_release(&stacks);
	recording_release(&recording);
}

/* A line of text, then bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[200];
	size_t length = 0;

	while (length < size && length + 1 < sizeof(text) && data[length] != '\n') {
		text[length] = (char)data[length];
		length++;
	}
	text[length] = '\0';
	if (length < size && data[length] == '\n')
		length++;
	analyse(text, data + length, size - length);
	return 0;
}
