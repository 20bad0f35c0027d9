/*
 * Events of a trace and marks of a recording in; how far apart their clocks are out. An event and the mark of the same
 * call differ by that and a few µs; an event and the mark of any other call by something else. So the difference that most
 * pairs have in common is the one that is looked for.
 */
#include <errno.h>
#include <stdlib.h>

#include "kineto_join.h"
#include "stats.h"

#define TOGETHER_NS   50000 /* pairs that differ by less may be of the same calls */
#define BASE_NS	      2000000 /* by how much the base time may be wrong: BASE_ERROR_NS on either side */
#define BASE_ERROR_NS 1000000 /* recording_note_offset() notes what is more */
#define FEWEST	      3	      /* calls that must agree near the base time … */
#define FEWEST_ALONE  5	      /* … and anywhere */
#define APART_NS                                                                                   \
	200000 /* calls of one label that come closer are let go as too hot (docs/steps.md) */
#define TRIES_MOST (1u << 26)  /* events against series */
#define PAIRS_MOST (1u << 22)  /* 32 MiB */
#define SINCE_1970 (1ll << 60) /* ns, 2006: times before that have another origin */
#define SHIFT_MOST (1ll << 62)

struct pairs {
	VEC(int64_t) shifts; /* mark − event */
};

static int by_label(const void *a, const void *b)
{
	const struct kineto_line *one = a, *other = b;

	return (one->label > other->label) - (one->label < other->label);
}

int kineto_marks_make(const struct recording *recording, const struct step_marks *marks,
	struct kineto_marks *ret)
{
	*ret = (struct kineto_marks){};
	for (size_t i = 0; i < marks->lines.count; i++) {
		const struct step_line *line = &marks->lines.items[i];
		const struct series *series = recording_series(recording, line->series);
		struct kineto_line *row;

		if (!series || !series->label || !*series->label)
			continue;
		if (kineto_labels_add(&ret->labels, series->label))
			return -ENOMEM;
		row = vec_add(&ret->lines);
		if (!row)
			return -ENOMEM;
		*row = (struct kineto_line){
			kineto_labels_find(&ret->labels, series->label, strlen(series->label)),
			series, line};
	}
	if (ret->lines.count)
		qsort(ret->lines.items, ret->lines.count, sizeof(*ret->lines.items), by_label);
	return 0;
}

void kineto_marks_release(struct kineto_marks *marks)
{
	kineto_labels_release(&marks->labels);
	vec_free(&marks->lines);
}

uint32_t kineto_tid(const struct process *process, uint32_t tid)
{
	return tid == (uint32_t)process->ns_pid ? (uint32_t)process->pid : tid;
}

/* The first mark at or after @time_ns. */
static size_t first_from(const struct step_line *line, int64_t time_ns)
{
	size_t low = 0, high = line->marks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((int64_t)line->marks.items[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All pairs of @seen with marks of @line whose shift is within [low, high]. 0, or -ENOMEM; full at PAIRS_MOST. */
static int add_pairs(struct pairs *pairs, const struct kineto_seen *seen,
	const struct step_line *line, int64_t low, int64_t high)
{
	int64_t from_ns = 0;

	if (__builtin_add_overflow(seen->time_ns, low, &from_ns) || from_ns < 0)
		from_ns = 0;
	for (size_t i = first_from(line, from_ns); i < line->marks.count; i++) {
		int64_t shift, *slot;

		if (__builtin_sub_overflow((int64_t)line->marks.items[i].time_ns, seen->time_ns,
			    &shift) ||
			shift > high || shift > SHIFT_MOST || shift < -SHIFT_MOST ||
			pairs->shifts.count == PAIRS_MOST)
			return 0;
		slot = vec_add(&pairs->shifts);
		if (!slot)
			return -ENOMEM;
		*slot = shift;
	}
	return 0;
}

/* In a PID namespace only the main thread's number is known on both sides. */
static bool same_thread(const struct process *process, const struct kineto_seen *seen,
	const struct series *series)
{
	bool main = seen->tid == (uint32_t)process->ns_pid;

	return process->pid == process->ns_pid ? seen->tid == series->tid
					       : main == (series->tid == (uint32_t)process->pid);
}

/* The first line of @label. */
static size_t first_of(const struct kineto_marks *marks, uint32_t label)
{
	return vec_first(&marks->lines, label, label);
}

static int make_pairs(const struct kineto_trace *trace, uint32_t pid,
	const struct kineto_marks *marks, const struct process *process, int64_t low, int64_t high,
	struct pairs *ret)
{
	size_t tried = 0;

	for (size_t i = 0; i < trace->seen.count && ret->shifts.count < PAIRS_MOST; i++) {
		const struct kineto_seen *seen = &trace->seen.items[i];

		if (seen->pid != pid)
			continue;
		for (size_t j = first_of(marks, seen->label); j < marks->lines.count; j++) {
			const struct kineto_line *line = &marks->lines.items[j];

			if (line->label != seen->label || tried++ == TRIES_MOST)
				break;
			if (line->series->process == process->id &&
				same_thread(process, seen, line->series) &&
				add_pairs(ret, seen, line->line, low, high))
				return -ENOMEM;
		}
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return (one > other) - (one < other);
}

struct window {
	size_t from, count; /* of the sorted shifts */
};

/* Whether @shift is one of @window's, but for a call that was held up between the two clocks. */
static bool belongs(int64_t shift, const int64_t *shifts, const struct window *window)
{
	return window->count && shift >= shifts[window->from] - APART_NS &&
	       shift <= shifts[window->from + window->count - 1] + APART_NS;
}

/* The largest set of shifts within TOGETHER_NS that does not belong to @other. */
static struct window fullest(const struct pairs *pairs, const struct window *other)
{
	const int64_t *shifts = pairs->shifts.items;
	struct window best = {};

	for (size_t from = 0, to = 0; to < pairs->shifts.count; to++) {
		while ((uint64_t)shifts[to] - (uint64_t)shifts[from] > TOGETHER_NS)
			from++;
		if (to - from + 1 > best.count && !belongs(shifts[from], shifts, other) &&
			!belongs(shifts[to], shifts, other))
			best = (struct window){from, to - from + 1};
	}
	return best;
}

/* Takes the shift that at least @fewest pairs share and no other half as many do; else leaves *ret as it is. */
static void decide(struct pairs *pairs, size_t fewest, struct kineto_clock *ret)
{
	int64_t *shifts = pairs->shifts.items, low, middle, high;
	struct window best, second;

	if (pairs->shifts.count < fewest)
		return;
	qsort(shifts, pairs->shifts.count, sizeof(*shifts), ascending);
	best = fullest(pairs, &(struct window){});
	second = fullest(pairs, &best);
	if (best.count < fewest || second.count > best.count / 2)
		return;
	low = shifts[best.from];
	middle = shifts[best.from + best.count / 2];
	high = shifts[best.from + best.count - 1];
	*ret = (struct kineto_clock){.shift_ns = middle,
		.error_ns = (uint64_t)(high - middle > middle - low ? high - middle : middle - low),
		.calls = best.count,
		.known = true};
}

/* By the trace's base time and the recording's wall clock. */
static void by_base(const struct kineto_trace *trace, const struct recording *recording,
	struct kineto_clock *ret)
{
	int64_t first_ns = INT64_MAX, wall_ns, offset_ns = recording->realtime_offset_ns;

	for (size_t i = 0; i < trace->work.count; i++)
		if (trace->work.items[i].start_ns < first_ns)
			first_ns = trace->work.items[i].start_ns;
	if (!trace->work.count || __builtin_add_overflow(first_ns, trace->base_ns, &wall_ns) ||
		wall_ns < SINCE_1970)
		return;
	for (size_t i = 0; i < recording->shifts.count; i++) {
		const struct clock_shift *shift = &recording->shifts.items[i];
		int64_t at_ns;

		if (!__builtin_sub_overflow(wall_ns, shift->offset_ns, &at_ns) && at_ns >= 0 &&
			(uint64_t)at_ns >= shift->time_ns)
			offset_ns = shift->offset_ns;
	}
	ret->known = !__builtin_sub_overflow(trace->base_ns, offset_ns, &ret->shift_ns) &&
		     ret->shift_ns < SHIFT_MOST && ret->shift_ns > -SHIFT_MOST;
	ret->error_ns = BASE_ERROR_NS;
}

int kineto_join(const struct kineto_trace *trace, uint32_t pid, const struct recording *recording,
	const struct kineto_marks *marks, const struct process *process, struct kineto_clock *ret)
{
	struct pairs pairs = {};
	int r = 0;

	*ret = (struct kineto_clock){};
	by_base(trace, recording, ret);
	if (ret->known) {
		r = make_pairs(trace, pid, marks, process, ret->shift_ns - BASE_NS,
			ret->shift_ns + BASE_NS, &pairs);
		if (!r)
			decide(&pairs, FEWEST, ret);
	}
	/* The base time may be missing, or of another clock; loops are never so regular that they fit at two places. */
	if (!r && !ret->calls && !pairs.shifts.count) {
		r = make_pairs(trace, pid, marks, process, INT64_MIN, INT64_MAX, &pairs);
		if (!r)
			decide(&pairs, FEWEST_ALONE, ret);
	}
	vec_free(&pairs.shifts);
	return r;
}
