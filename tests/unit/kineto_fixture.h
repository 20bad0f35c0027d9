/* Traces as profilers write them, and a recording of the same process. For the tests of kineto/. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kineto.h"

#define MAYBE_UNUSED __attribute__((unused))
#define US	     1000ull
#define MS	     1000000ull
#define WALL	     1700000000000000000ll /* when the recording began */
#define BEGIN	     5000000000ull	   /* the same on CLOCK_MONOTONIC */
#define PID	     4711

/* In µs since 1970, of a moment that is @us after the recording's begin. */
#define AT(us) (WALL / 1000 + (us))
/* The same on the recording's clock, in ns. */
#define NS(us) (BEGIN + (us) * US)

struct scene {
	struct recording recording;
	struct step_marks marks;
	struct gpu_timeline timeline;
	struct err err;
	char path[64];
	FILE *trace;
	bool any; /* event in it */
};

static struct process *add_process(struct scene *scene, int pid, int ns_pid)
{
	struct process *process = vec_add(&scene->recording.processes);

	*process = (struct process){.id = (uint32_t)scene->recording.processes.count,
		.pid = pid,
		.ns_pid = ns_pid,
		.comm = "python3"};
	return process;
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	int fd;

	scene->recording.start_ns = BEGIN;
	scene->recording.end_ns = BEGIN + 3600000 * MS;
	scene->recording.realtime_offset_ns = WALL - (int64_t)BEGIN;
	add_process(scene, PID, PID);
	snprintf(scene->path, sizeof(scene->path), "/tmp/gctrace-kineto-XXXXXX");
	fd = mkstemp(scene->path);
	assert_true(fd >= 0);
	scene->trace = fdopen(fd, "w");
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	unlink(scene->path);
	fclose(scene->trace);
	gpu_release(&scene->timeline);
	step_marks_release(&scene->marks);
	recording_release(&scene->recording);
	free(scene);
	return 0;
}

/* All of the file, instead of what it held. */
MAYBE_UNUSED static void write_text(struct scene *scene, const char *text)
{
	rewind(scene->trace);
	assert_int_equal(ftruncate(fileno(scene->trace), 0), 0);
	fputs(text, scene->trace);
	fflush(scene->trace);
}

__attribute__((format(printf, 2, 3))) static void event(struct scene *scene, const char *format,
	...)
{
	va_list args;

	fputs(scene->any ? ",\n" : "{\"schemaVersion\": 1, \"traceEvents\": [\n", scene->trace);
	va_start(args, format);
	vfprintf(scene->trace, format, args);
	va_end(args);
	scene->any = true;
}

/* A call into CUDA in [us, us + dur), @us after the recording's begin. */
MAYBE_UNUSED static void call_of(struct scene *scene, const char *name, long long pid,
	long long tid, long long us, long long dur, long long correlation)
{
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": %lld, \"tid\": %lld, "
		"\"ts\": %lld, \"dur\": %lld, \"args\": {\"cbid\": 211, \"correlation\": %lld}}",
		name, pid, tid, AT(us), dur, correlation);
}

MAYBE_UNUSED static void call(struct scene *scene, const char *name, long long us, long long dur,
	long long correlation)
{
	call_of(scene, name, PID, PID, us, dur, correlation);
}

MAYBE_UNUSED static void work(struct scene *scene, const char *category, long long device,
	long long us, long long dur, long long correlation)
{
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"k\", \"pid\": %lld, \"tid\": 7, "
		"\"ts\": %lld, \"dur\": %lld, \"args\": {\"device\": %lld, \"context\": 1, \"stream\": 7, "
		"\"correlation\": %lld}}",
		category, device, AT(us), dur, device, correlation);
}

MAYBE_UNUSED static void annotation(struct scene *scene, const char *name, long long tid,
	long long us)
{
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": %d, \"tid\": %lld, "
		"\"ts\": %lld, \"dur\": 5, \"args\": {\"External id\": 1}}",
		name, PID, tid, AT(us));
}

/* A series of marks with that label; marks are added with mark(). */
MAYBE_UNUSED static uint32_t add_series(struct scene *scene, const char *label, uint32_t process,
	uint32_t tid)
{
	struct series *series = vec_add(&scene->recording.series);

	*series = (struct series){.id = (uint32_t)scene->recording.series.count,
		.signal = 1,
		.process = process,
		.tid = tid,
		.label = strdup(label),
		.number = UNKNOWN};
	return series->id;
}

MAYBE_UNUSED static void mark(struct scene *scene, uint32_t series, uint64_t time_ns)
{
	assert_int_equal(step_marks_add(&scene->marks,
				 &(struct mark){.series = series, .time_ns = time_ns}),
		0);
}

static int read_file(struct scene *scene)
{
	int r = kineto_read(scene->path, &scene->recording, &scene->marks, &scene->timeline,
		&scene->err);

	gpu_settle(&scene->timeline);
	return r;
}

/* Closes the trace with @end, which may hold more keys, and reads it. */
MAYBE_UNUSED static int read_with(struct scene *scene, const char *end)
{
	if (scene->any)
		fprintf(scene->trace, "\n]%s}\n", end);
	fflush(scene->trace);
	return read_file(scene);
}

MAYBE_UNUSED static void read_it(struct scene *scene)
{
	if (read_with(scene, ""))
		fail_msg("%s", scene->err.text);
}

/* Whether reading fails with @code and a sentence that has the file's name and @words. */
MAYBE_UNUSED static void refuses(struct scene *scene, int code, const char *words)
{
	int r = read_file(scene);

	assert_int_equal(r, -code);
	if (!strstr(scene->err.text, words) || !strstr(scene->err.text, scene->path))
		fail_msg("\"%s\" lacks \"%s\"", scene->err.text, words);
}

MAYBE_UNUSED static void assert_span(uint64_t start_ns, uint64_t end_ns, uint64_t from_ns,
	uint64_t to_ns)
{
	assert_int_equal(start_ns, from_ns);
	assert_int_equal(end_ns, to_ns);
}
