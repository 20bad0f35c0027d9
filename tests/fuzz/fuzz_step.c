/*
 * libFuzzer target: a line of text as --step takes it, then bytes that are marks → steps that are
 * in order, apart and within what the marks say. Seeds: any text with a newline and some bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *signal, *label;
	int64_t number;
} calls[] = {
	{"torch:backward", NULL, UNKNOWN},
	{"torch:record", "Optimizer.step#Adam.step", UNKNOWN},
	{"torch:record", "Optimizer.zero_grad#Adam.zero_grad", UNKNOWN},
	{"torch:record", "enumerate(DataLoader)#x.__next__", UNKNOWN},
	{"torch:record", "ProfilerStep#17", UNKNOWN},
	{"torch:record", NULL, UNKNOWN},
	{"torch:loss", "mse_loss", UNKNOWN},
	{"jax:execute", NULL, 460},
	{"jax:execute", NULL, 2},
	{"jax:pjit", "train_step", UNKNOWN},
	{"jax:pjit", "", UNKNOWN},
	{"nccl:allreduce", NULL, 4096},
	{"blas:gemm", NULL, -1000},
	{"blas:gemm", NULL, INT64_MAX},
	{"user:libfoo:bar", NULL, UNKNOWN},
	{"xgboost:update", NULL, UNKNOWN},
	{"dl4j:update", "adam", UNKNOWN},
	{"dl4j:update", "sgd", UNKNOWN},
	{"dl4j:loss", NULL, UNKNOWN},
	{"torch:learner", NULL, 0x7f0000100000},
	{"torch:learner", NULL, 0x7f0000200000},
};

#define CALLS	(sizeof(calls) / sizeof(*calls))
#define THREADS 3

static void describe(struct recording *recording)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		struct signal *signal = vec_add(&recording->signals);

		signal->id = i + 1;
		memcpy(signal->name, calls[i].signal, strlen(calls[i].signal));
		signal->let_go_ns = i == 10 ? 5 : 0;
	}
	for (uint32_t i = 0; i < CALLS * THREADS; i++) {
		struct series *series = vec_add(&recording->series);

		*series = (struct series){.id = i + 1,
			.signal = i % CALLS + 1,
			.process = 1 + i / CALLS / 2,
			.tid = i / CALLS,
			.number = calls[i % CALLS].number,
			.label = calls[i % CALLS].label ? strdup(calls[i % CALLS].label) : NULL};
	}
	for (uint32_t i = 1; i < 3; i++)
		*(struct process *)vec_add(&recording->processes) =
			(struct process){.id = i, .pid = (pid_t)i, .exit_ns = i == 2 ? 1000 : 0};
}

/* A byte is a call a moment later; 0xff and eight more is one at any time, in any series, for any number of them. */
static uint64_t add_marks(struct step_marks *marks, const uint8_t *data, size_t size)
{
	uint64_t now_ns = 0;

	for (size_t i = 0; i < size; i++) {
		struct mark mark = {
			.series = data[i] % (CALLS * THREADS) + 1, .rss_bytes = UNKNOWN};

		now_ns += 1 + data[i] / (CALLS * THREADS) * 1000;
		mark.time_ns = now_ns;
		if (data[i] == 0xff && size - i > 8) {
			memcpy(&mark.time_ns, data + i + 1, 8);
			mark.series = data[i + 1];
			mark.skipped = data[i + 2] & 1 ? UINT32_MAX >> data[i + 3] % 32 : 0;
			mark.work_ns = data[i + 4] & 1 ? INT64_MAX >> data[i + 5] % 64 : UNKNOWN;
			i += 8;
		}
		if (step_marks_add(marks, &mark))
			abort();
	}
	return now_ns;
}

static void check(const struct steps *steps)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct step_track *track = &steps->tracks.items[i];
		const struct step *step = track->steps.items;

		if (!track->steps.count || !(track->confidence >= 0 && track->confidence <= 1) ||
			!(track->variation >= 0))
			abort();
		for (size_t j = 0; j < track->steps.count; j++)
			if (step[j].end_ns < step[j].start_ns ||
				(j && step[j].start_ns < step[j - 1].end_ns) ||
				(step[j].work_ns <= 0 && step[j].work_ns != UNKNOWN))
				abort();
		if (steps_track(steps, track->process) != track)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	size_t len = line ? (size_t)(line - data) : size;
	struct recording recording = {};
	struct step_marks marks = {};
	struct steps steps = {};
	struct step_spec spec = {};
	struct err err = {};
	char *text = strndup((const char *)data, len);
	uint64_t end_ns;
	int r;

	if (step_spec_parse(text, &spec, &err) && !*err.text)
		abort();
	if (spec.way == STEP_NAMED && (!*spec.name || spec.every > 1000000))
		abort();
	describe(&recording);
	end_ns = add_marks(&marks, data + len, size - len);
	r = steps_find(&recording, &marks, end_ns, &spec, &steps, &err);
	if (r && !*err.text)
		abort();
	check(&steps);
	steps_release(&steps);
	step_marks_release(&marks);
	recording_release(&recording);
	free(text);
	return 0;
}
