/* A trace and a recording in; the timeline of the recording's processes out, or the sentence that says why not. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kineto.h"
#include "kineto_join.h"
#include "kineto_rows.h"
#include "log.h"
#include "parse.h"

#define NAMED	    4  /* processes in a sentence */
#define SAME_NUMBER 64 /* processes of one number that are tried */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The row with most calls, else with most events; NULL: none. */
static struct kineto_pid *busiest(struct kineto_trace *trace)
{
	struct kineto_pid *best = NULL;

	for (size_t i = 0; i < trace->pids.count; i++) {
		struct kineto_pid *row = &trace->pids.items[i];

		if (row->pid != KINETO_NONE &&
			(!best || row->calls > best->calls ||
				(row->calls == best->calls && row->events > best->events)))
			best = row;
	}
	return best;
}

static int not_of_it(const char *path, int64_t pid, const struct recording *recording,
	struct err *err)
{
	char known[160] = "";
	size_t count = recording->processes.count;

	for (size_t i = 0; i < count && i < NAMED; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%d (%s)",
			i ? ", " : "", recording->processes.items[i].ns_pid,
			recording->processes.items[i].comm);
	return err_set(err, ESRCH,
		"%s is of process %" PRId64 ", which is not in the recording: that has %s%s; give "
		"the trace that was exported in the same run",
		path, pid, count ? known : "no process", count > NAMED ? ", …" : "");
}

static bool is_process(const struct process *process, const struct kineto_pid *row)
{
	return process->ns_pid == row->pid || process->pid == row->pid;
}

/*
 * Finds the process of the recording that @row is, by its number; of several, which were in different containers or one
 * after the other, the one with which the clock agrees best. 0 or -errno.
 */
static int find_process(const struct kineto_trace *trace, struct kineto_pid *row,
	const struct recording *recording, const struct kineto_marks *marks,
	struct kineto_clock *ret)
{
	uint32_t pid = (uint32_t)(row - trace->pids.items);

	for (size_t i = 0, tried = 0; i < recording->processes.count; i++) {
		const struct process *process = &recording->processes.items[i];
		struct kineto_clock clock;

		if (!is_process(process, row) || tried++ >= SAME_NUMBER)
			continue;
		if (kineto_join(trace, pid, recording, marks, process, &clock))
			return -ENOMEM;
		if (!row->process || clock.calls > ret->calls) {
			row->process = process->id;
			*ret = clock;
		}
	}
	return row->process ? 0 : -ESRCH;
}

/* The processes of a trace that the busiest one shares it with. */
static void find_others(struct kineto_trace *trace, const struct recording *recording)
{
	for (size_t i = 0; i < trace->pids.count; i++) {
		struct kineto_pid *row = &trace->pids.items[i];

		for (size_t j = 0; !row->process && j < recording->processes.count; j++)
			if (is_process(&recording->processes.items[j], row))
				row->process = recording->processes.items[j].id;
	}
}

/* "2026-11-22 21:04:03 to 21:05:11 UTC". */
static const char *format_span(int64_t from_ns, int64_t to_ns, char *text, size_t size)
{
	time_t from = from_ns / 1000000000, to = to_ns / 1000000000;
	struct tm begin, end;
	char first[32], last[32];

	if (!gmtime_r(&from, &begin) || !gmtime_r(&to, &end) ||
		!strftime(first, sizeof(first), "%Y-%m-%d %H:%M:%S", &begin) ||
		!strftime(last, sizeof(last),
			begin.tm_yday == end.tm_yday ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &end))
		snprintf(text, size, "an unknown time");
	else
		snprintf(text, size, "%s to %s UTC", first, last);
	return text;
}

/* From the first to the last of the trace's work, on its own clock. */
static void span_of(const struct kineto_trace *trace, int64_t *ret_first, int64_t *ret_last)
{
	*ret_first = INT64_MAX;
	*ret_last = INT64_MIN;
	for (size_t i = 0; i < trace->work.count; i++) {
		const struct kineto_work *work = &trace->work.items[i];

		*ret_first = work->start_ns < *ret_first ? work->start_ns : *ret_first;
		*ret_last = work->end_ns > *ret_last ? work->end_ns : *ret_last;
	}
}

static int check_clock(const char *path, const struct kineto_trace *trace,
	const struct recording *recording, const struct kineto_clock *clock, struct err *err)
{
	uint64_t end_ns = recording->end_ns ? recording->end_ns : INT64_MAX;
	int64_t first, last, first_ns, last_ns, wall;
	char span[64], own[64];

	if (!clock->known)
		return err_set(err, ERANGE,
			"%s does not say when it began (no baseTimeNanoseconds), and no calls are both in "
			"it and in the recording: export it with the profiler of a newer PyTorch, or "
			"record with step signals of torch",
			path);
	span_of(trace, &first, &last);
	if (__builtin_add_overflow(first, clock->shift_ns, &first_ns) ||
		__builtin_add_overflow(last, clock->shift_ns, &last_ns))
		return err_set(err, EBADMSG, "%s has times that cannot be: export it again", path);
	if (last_ns >= 0 && (uint64_t)last_ns >= recording->start_ns && first_ns >= 0 &&
		(uint64_t)first_ns < end_ns)
		return 0;
	wall = recording_wall_ns(recording, recording->start_ns);
	format_span(first + trace->base_ns, last + trace->base_ns, span, sizeof(span));
	format_span(wall,
		recording->end_ns ? recording_wall_ns(recording, recording->end_ns) : wall, own,
		sizeof(own));
	return err_set(err, ERANGE,
		"%s is of another time than the recording: it has work from %s, the recording is of %s",
		path, span, own);
}

/* What the reader should know of how the clocks were joined. */
static void add_note(struct gpu_timeline *timeline, const char *path,
	const struct kineto_clock *clock, uint64_t ignored)
{
	char text[sizeof(timeline->note)];
	size_t used = strlen(timeline->note);

	if (clock->calls)
		snprintf(text, sizeof(text), "%s: clock joined through %zu calls, ± %s",
			base_name(path), clock->calls, FORMAT_DURATION(clock->error_ns));
	else
		snprintf(text, sizeof(text),
			"%s: its clock is known by the time of day alone, for lack of calls that "
			"the recording saw, too",
			base_name(path));
	log_debug("%s", text);
	if (!clock->calls)
		used += (size_t)snprintf(timeline->note + used, sizeof(timeline->note) - used,
			"%s%s", used ? "; " : "", text);
	if (ignored && used < sizeof(timeline->note))
		snprintf(timeline->note + used, sizeof(timeline->note) - used,
			"%s%" PRIu64 " kernels and copies of other processes are left out",
			used ? "; " : "", ignored);
}

static int add_to(const char *path, struct kineto_trace *trace, const struct recording *recording,
	const struct kineto_clock *clock, struct gpu_timeline *timeline, struct err *err)
{
	uint64_t ignored;
	size_t used = strlen(timeline->source);
	int r;

	find_others(trace, recording);
	r = kineto_rows(trace, recording, clock, timeline, &ignored);
	if (r == -E2BIG)
		return err_set(err, EBADMSG,
			"%s has more devices or threads than any machine: export it again", path);
	if (r)
		return err_set(err, ENOMEM, "out of memory while reading %s", path);
	snprintf(timeline->source + used, sizeof(timeline->source) - used, "%s%s", used ? ", " : "",
		base_name(path));
	if (clock->error_ns > timeline->clock_error_ns)
		timeline->clock_error_ns = clock->error_ns;
	add_note(timeline, path, clock, ignored);
	return 0;
}

static int read_trace(const char *path, const struct kineto_labels *labels,
	struct kineto_trace *ret, struct err *err)
{
	struct kineto_text text;
	int r = kineto_text_open(&text, path, err);

	if (!r)
		r = kineto_parse(&text, labels, ret, err);
	kineto_text_close(&text);
	if (!r && !ret->work.count)
		r = err_set(err, ENODATA, "%s has no GPU activity: was ProfilerActivity.CUDA on?",
			path);
	if (!r && kineto_match(ret))
		r = err_set(err, ENOMEM, "out of memory while reading %s", path);
	return r;
}

int kineto_read(const char *path, const struct recording *recording, const struct step_marks *marks,
	struct gpu_timeline *timeline, struct err *err)
{
	struct kineto_trace trace = {};
	struct kineto_clock clock = {};
	struct kineto_marks known;
	struct kineto_pid *row;
	int r = kineto_marks_make(recording, marks, &known);

	if (r)
		err_set(err, ENOMEM, "out of memory while reading %s", path);
	else
		r = read_trace(path, &known.labels, &trace, err);
	row = r ? NULL : busiest(&trace);
	if (!r && !row)
		r = err_set(err, ESRCH,
			"%s does not say of which process it is: it has no calls of CUDA or PyTorch; "
			"was ProfilerActivity.CPU on?",
			path);
	if (!r) {
		r = find_process(&trace, row, recording, &known, &clock);
		if (r == -ESRCH)
			not_of_it(path, row->pid, recording, err);
	}
	if (!r)
		r = check_clock(path, &trace, recording, &clock, err);
	if (!r)
		r = add_to(path, &trace, recording, &clock, timeline, err);
	kineto_trace_release(&trace);
	kineto_marks_release(&known);
	return r;
}
