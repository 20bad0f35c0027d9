/* Marks as they come in; the latest of each thread, from the begin of a step on, kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "step_priv.h"
#include "window.h"

/* The marks of one thread, which several series hold. */
struct kept_thread {
	uint32_t process, tid;
	size_t marks;
	uint64_t from_ns; /* those before go */
};

struct cutting {
	const struct recording *recording;
	struct step_marks *marks;
	VEC(struct kept_thread) threads;
	struct u64map index; /* process << 32 | tid → index */
	size_t marks_most;   /* of a thread */
};

int step_window_add(struct step_window *window, const struct mark *mark)
{
	window->added++;
	window->kept++;
	return step_marks_add(&window->marks, mark);
}

void step_window_release(struct step_window *window)
{
	step_marks_release(&window->marks);
	*window = (struct step_window){};
}

uint64_t step_window_first(const struct step_window *window)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < window->marks.lines.count; i++) {
		const struct step_line *line = &window->marks.lines.items[i];

		if (line->marks.count && line->marks.items[0].time_ns < first_ns)
			first_ns = line->marks.items[0].time_ns;
	}
	return first_ns;
}

/* The thread of @line; NULL: its process has been forgotten, or memory is out. */
static struct kept_thread *thread_of(struct cutting *cutting, const struct step_line *line)
{
	const struct series *series = recording_series(cutting->recording, line->series);
	uint64_t key = series ? (uint64_t)series->process << 32 | series->tid : 0;
	const uint64_t *found = series ? u64map_get(&cutting->index, key) : NULL;
	struct kept_thread *thread;

	if (!series)
		return NULL;
	if (found)
		return &cutting->threads.items[*found];
	if (u64map_put(&cutting->index, key, cutting->threads.count))
		return NULL;
	thread = vec_add(&cutting->threads);
	if (thread)
		*thread = (struct kept_thread){.process = series->process, .tid = series->tid};
	return thread;
}

static int count_marks(struct cutting *cutting)
{
	for (size_t i = 0; i < cutting->marks->lines.count; i++) {
		const struct step_line *line = &cutting->marks->lines.items[i];
		struct kept_thread *thread = thread_of(cutting, line);

		if (thread)
			thread->marks += line->marks.count;
		else if (recording_series(cutting->recording, line->series))
			return -ENOMEM;
	}
	cutting->marks_most = WINDOW_THREAD;
	if (cutting->threads.count * WINDOW_THREAD > WINDOW_ALL)
		cutting->marks_most = WINDOW_ALL / cutting->threads.count;
	if (cutting->marks_most < WINDOW_LEAST)
		cutting->marks_most = WINDOW_LEAST;
	return 0;
}

/* When the mark of @thread was after which half of those come that it may have. 0, or -ENOMEM. */
static int middle_of(struct cutting *cutting, const struct kept_thread *thread, uint64_t *ret)
{
	uint64_t *times = malloc(thread->marks * sizeof(*times));
	size_t count = 0, rank = thread->marks - cutting->marks_most / 2;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < cutting->marks->lines.count; i++) {
		const struct step_line *line = &cutting->marks->lines.items[i];
		const struct kept_thread *its = thread_of(cutting, line);

		for (size_t j = 0; its == thread && j < line->marks.count; j++)
			times[count++] = line->marks.items[j].time_ns;
	}
	*ret = stats_nth(times, count, rank);
	free(times);
	return 0;
}

/* Where @thread's marks are cut: before a step, if it makes some. */
static int cut_thread(struct cutting *cutting, struct kept_thread *thread,
	const struct steps *steps)
{
	const struct step_track *track = steps_track(steps, thread->process);
	size_t after;

	if (thread->marks <= cutting->marks_most)
		return 0;
	if (middle_of(cutting, thread, &thread->from_ns))
		return -ENOMEM;
	if (!track || track->tid != thread->tid || !track->steps.count)
		return 0;
	after = vec_first(&track->steps, start_ns, thread->from_ns + 1);
	/* A step of that many marks: the thread keeps what it is made of, or with twice as many, forgets it. */
	if (after > 1 || thread->marks < 2 * cutting->marks_most)
		thread->from_ns = after ? track->steps.items[after - 1].start_ns : 0;
	return 0;
}

/* Leaves out marks and lines. 0, or -ENOMEM: all is as it was. */
static int drop_old(struct cutting *cutting)
{
	struct step_marks kept = {}, *marks = cutting->marks;

	if (vec_reserve((void **)&kept.lines.items, &kept.lines.capacity, marks->lines.count,
		    sizeof(*kept.lines.items)))
		return -ENOMEM;
	for (size_t i = 0, lines = 0; i < marks->lines.count; i++)
		if (thread_of(cutting, &marks->lines.items[i]) &&
			u64map_put(&kept.index, marks->lines.items[i].series, lines++)) {
			step_marks_release(&kept);
			return -ENOMEM;
		}
	for (size_t i = 0; i < marks->lines.count; i++) {
		struct step_line line = marks->lines.items[i];
		const struct kept_thread *thread = thread_of(cutting, &line);
		size_t first = thread ? vec_first(&line.marks, time_ns, thread->from_ns)
				      : line.marks.count;

		if (!thread) {
			vec_free(&line.marks);
			continue;
		}
		line.marks.count -= first;
		memmove(line.marks.items, line.marks.items + first,
			line.marks.count * sizeof(*line.marks.items));
		kept.lines.items[kept.lines.count++] = line;
	}
	vec_free(&marks->lines);
	u64map_release(&marks->index);
	*marks = kept;
	return 0;
}

static size_t ended_count(const struct recording *recording)
{
	size_t count = 0;

	for (size_t i = 0; i < recording->processes.count; i++)
		count += recording->processes.items[i].exit_ns > 0;
	return count;
}

static size_t marks_in(const struct step_marks *marks)
{
	size_t count = 0;

	for (size_t i = 0; i < marks->lines.count; i++)
		count += marks->lines.items[i].marks.count;
	return count;
}

int step_window_cut(struct step_window *window, const struct recording *recording,
	const struct steps *steps)
{
	struct cutting cutting = {.recording = recording, .marks = &window->marks};
	size_t ended = ended_count(recording);
	bool due = false;
	int r;

	if (window->added < WINDOW_LEAST / 2 && window->ended == ended)
		return 0;
	r = count_marks(&cutting);
	for (size_t i = 0; !r && i < cutting.threads.count; i++) {
		due |= cutting.threads.items[i].marks > cutting.marks_most;
		r = cut_thread(&cutting, &cutting.threads.items[i], steps);
	}
	if (!r && (due || window->ended != ended)) {
		r = drop_old(&cutting);
		window->kept = marks_in(&window->marks);
	}
	if (!r) {
		window->added = 0;
		window->ended = ended;
	}
	vec_free(&cutting.threads);
	u64map_release(&cutting.index);
	return r;
}
