/* A training that has not been recorded: marks as its calls would leave them. For the tests of
 * step/. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "step.h"

/* A training that has not been recorded. */
struct scene {
	struct recording recording;
	struct step_marks marks;
	struct steps steps;
	struct err err;
	uint64_t now_ns;
	int64_t work_ns; /* of the next marks */
	uint32_t process, tid;
	uint32_t random;
	unsigned lose; /* of 1000 marks */
	bool thin;     /* losses in a row: as bpf/step.bpf.c thins them */
	struct {
		uint32_t series, calls, skipped;
		uint64_t last_ns;
	} row[4];
};

#define CALL_NS	     100000
#define MAYBE_UNUSED __attribute__((unused))

static uint32_t chance(struct scene *scene, uint32_t below)
{
	scene->random = scene->random * 1664525u + 1013904223u;
	return (scene->random >> 8) % below;
}

static struct scene *set_up(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct process *process = vec_add(&scene->recording.processes);

	process->id = 1;
	process->pid = 1009;
	scene->recording.start_ns = scene->now_ns = 5000000;
	scene->work_ns = UNKNOWN;
	scene->process = 1;
	scene->tid = 1009;
	scene->random = 23;
	return scene;
}

static void tear_down(struct scene *scene)
{
	steps_release(&scene->steps);
	step_marks_release(&scene->marks);
	recording_release(&scene->recording);
	free(scene);
}

static struct signal *signal_of(struct scene *scene, const char *name)
{
	struct signal *signal;

	for (size_t i = 0; i < scene->recording.signals.count; i++)
		if (!strcmp(scene->recording.signals.items[i].name, name))
			return &scene->recording.signals.items[i];
	signal = vec_add(&scene->recording.signals);
	signal->id = (uint32_t)scene->recording.signals.count;
	snprintf(signal->name, sizeof(signal->name), "%s", name);
	return signal;
}

static uint32_t series_of(struct scene *scene, const char *name, const char *label, int64_t number)
{
	uint32_t signal = signal_of(scene, name)->id;
	struct series *series;

	for (size_t i = scene->recording.series.count; i--;) {
		series = &scene->recording.series.items[i];
		if (series->signal == signal && series->process == scene->process &&
			series->tid == scene->tid && series->number == number &&
			!strcmp(series->label ? series->label : "", label ? label : ""))
			return series->id;
	}
	series = vec_add(&scene->recording.series);
	*series = (struct series){
		.id = (uint32_t)scene->recording.series.count,
		.signal = signal,
		.process = scene->process,
		.tid = scene->tid,
		.label = label ? strdup(label) : NULL,
		.number = number,
	};
	return series->id;
}

static void add_mark(struct scene *scene, uint32_t series, uint64_t time_ns, uint32_t skipped)
{
	struct mark mark = {series, time_ns, UNKNOWN, skipped, scene->work_ns};

	assert_int_equal(step_marks_add(&scene->marks, &mark), 0);
}

/* Another call ends the rows: what they held back is sent. */
static void end_rows(struct scene *scene)
{
	for (size_t i = 0; i < sizeof(scene->row) / sizeof(*scene->row); i++)
		if (scene->row[i].skipped)
			add_mark(scene, scene->row[i].series, scene->row[i].last_ns,
				scene->row[i].skipped - 1);
	memset(scene->row, 0, sizeof(scene->row));
}

/* Whether the call is held back: of a row, at most one call in 16 of those before it. */
static bool hold_back(struct scene *scene, uint32_t series, uint32_t *ret_skipped)
{
	size_t i = 0;

	while (scene->row[i].series && scene->row[i].series != series)
		i++;
	scene->row[i].series = series;
	scene->row[i].last_ns = scene->now_ns;
	*ret_skipped = scene->row[i].skipped++;
	if (scene->row[i].skipped * 16 <= ++scene->row[i].calls)
		return true;
	scene->row[i].skipped = 0;
	return false;
}

/* Time passes, a call is made. */
static void call(struct scene *scene, const char *name, const char *label, int64_t number)
{
	uint32_t series = series_of(scene, name, label, number), skipped = 0;
	bool loss = !strcmp(name, "torch:loss");

	scene->now_ns += CALL_NS + chance(scene, CALL_NS / 10);
	if (chance(scene, 1000) < scene->lose)
		return;
	if (scene->thin && !loss)
		end_rows(scene);
	if (!scene->thin || !loss || !hold_back(scene, series, &skipped))
		add_mark(scene, series, scene->now_ns, skipped);
}

static void torch(struct scene *scene, char what)
{
	static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

	switch (what) {
	case 'L':
		call(scene, "torch:record", loader, UNKNOWN);
		break;
	case 'Z':
		call(scene, "torch:record", "Optimizer.zero_grad#Adam.zero_grad", UNKNOWN);
		break;
	case 'U':
		call(scene, "torch:record", "Optimizer.step#Adam.step", UNKNOWN);
		break;
	case 'V':
		call(scene, "torch:record", "Optimizer.step#SGD.step", UNKNOWN);
		break;
	case 'B':
		call(scene, "torch:backward", NULL, UNKNOWN);
		break;
	case 'a': /* backward passes of an actor, a critic, an entropy: by the classes of what they differentiate */
	case 'c':
	case 'e':
		call(scene, "torch:backward", NULL, 0x7f0000001009 + what);
		break;
	case 'k':
		call(scene, "torch:loss", "kl_div", UNKNOWN);
		break;
	case 'o':
		call(scene, "torch:loss", "cross_entropy_loss", UNKNOWN);
		call(scene, "torch:loss", "nll_loss_nd", UNKNOWN);
		break;
	case '1': /* what the update before it writes to */
	case '2':
	case '3':
		call(scene, "torch:learner", NULL, 0x7f0000100000 + 64 * what);
		break;
	default:
		break;
	}
}

/* Calls in the order of the letters; blanks are nothing. */
static void play(struct scene *scene, const char *letters)
{
	for (; *letters; letters++)
		torch(scene, *letters);
}

MAYBE_UNUSED static void repeat(struct scene *scene, const char *letters, int times)
{
	while (times-- > 0)
		play(scene, letters);
}

MAYBE_UNUSED static void jit(struct scene *scene, const char *name)
{
	call(scene, "jax:pjit", name, UNKNOWN);
}

MAYBE_UNUSED static void run(struct scene *scene, int64_t inputs)
{
	call(scene, "jax:execute", NULL, inputs);
}

static int try_find(struct scene *scene, const char *text)
{
	struct step_spec spec;

	assert_int_equal(step_spec_parse(text, &spec, &scene->err), 0);
	steps_release(&scene->steps);
	memset(&scene->steps, 0, sizeof(scene->steps));
	return steps_find(&scene->recording, &scene->marks, scene->now_ns + CALL_NS, &spec,
		&scene->steps, &scene->err);
}

/* The one track that there is; its steps are in order and apart. */
MAYBE_UNUSED static const struct step_track *find(struct scene *scene, const char *text)
{
	const struct step_track *track;
	int r = try_find(scene, text);

	if (r)
		print_error("%s\n", scene->err.text);
	assert_int_equal(r, 0);
	if (scene->steps.tracks.count != 1)
		print_error("%zu tracks: %s\n", scene->steps.tracks.count, scene->steps.note);
	assert_int_equal(scene->steps.tracks.count, 1);
	track = &scene->steps.tracks.items[0];
	for (size_t i = 0; i < track->steps.count; i++) {
		assert_true(track->steps.items[i].start_ns <= track->steps.items[i].end_ns);
		if (i)
			assert_true(track->steps.items[i - 1].end_ns <=
				    track->steps.items[i].start_ns);
	}
	assert_true(track->confidence >= 0 && track->confidence <= 1);
	return track;
}

MAYBE_UNUSED static size_t closed(const struct step_track *track)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < track->steps.count; i++)
		count += track->steps.items[i].end_ns < track->steps.items[i + 1].start_ns;
	return count;
}

MAYBE_UNUSED static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("\"%s\" is not in \"%s\"\n", part, text);
	assert_non_null(strstr(text, part));
}

MAYBE_UNUSED static void gemm(struct scene *scene, int64_t shape)
{
	call(scene, "blas:gemm", NULL, shape);
}
