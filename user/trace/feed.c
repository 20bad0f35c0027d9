/* Rows of the recording → its tables and the sink; the sink's first error is kept. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "feed.h"

/* Tells the sink of a row, if it asks for those. */
#define TELL(feed, kind, row)                                                                      \
	do {                                                                                       \
		const struct trace_sink *sink_ = &(feed)->sink;                                    \
		int r_ = sink_->kind ? sink_->kind(sink_->arg, row) : 0;                           \
		if (r_ < 0 && !(feed)->error)                                                      \
			(feed)->error = r_;                                                        \
	} while (0)

void feed_process(struct feed *feed, const struct process *process)
{
	TELL(feed, process, process);
}

void feed_runtime(struct feed *feed, const struct runtime *runtime)
{
	TELL(feed, runtime, runtime);
}

void feed_signal(struct feed *feed, const struct signal *signal)
{
	TELL(feed, signal, signal);
}

void feed_series(struct feed *feed, const struct series *series)
{
	TELL(feed, series, series);
}

void feed_mark(struct feed *feed, const struct mark *mark)
{
	TELL(feed, mark, mark);
}

void feed_gpu(struct feed *feed, const struct gpu_fact *fact)
{
	TELL(feed, gpu, fact);
}

void feed_pause(struct feed *feed, struct pause *pause)
{
	pause->id = ++feed->pauses;
	TELL(feed, pause, pause);
}

void feed_stall(struct feed *feed, struct stall *stall)
{
	stall->id = ++feed->stalls;
	TELL(feed, stall, stall);
}

void feed_phase(struct feed *feed, struct phase *phase)
{
	phase->id = ++feed->phases;
	TELL(feed, phase, phase);
}

/* In ascending order, see struct recording. */
static void insert_thread(struct recording *recording, const struct thread *thread)
{
	struct thread *slot = vec_add(&recording->threads);

	if (!slot)
		return;
	for (; slot > recording->threads.items; slot--) {
		if (slot[-1].process < thread->process ||
			(slot[-1].process == thread->process && slot[-1].tid < thread->tid))
			break;
		*slot = slot[-1];
	}
	*slot = *thread;
}

void feed_thread(struct feed *feed, uint32_t process, pid_t pid, uint32_t tid)
{
	struct thread thread = {.process = process, .tid = tid};
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64];

	if (recording_thread(&feed->recording, process, tid))
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", pid, tid);
	stream = fopen(path, "re");
	if (!stream || !fgets(thread.name, sizeof(thread.name), stream))
		return; /* gone: another may get its number */
	thread.name[strcspn(thread.name, "\n")] = '\0';
	insert_thread(&feed->recording, &thread);
	TELL(feed, thread, &thread);
}

void feed_drop(struct feed *feed, const char *cause, uint64_t count, const char *remedy)
{
	struct drop *drop = NULL;

	if (!count)
		return;
	for (size_t i = 0; i < feed->recording.drops.count; i++)
		if (!strcmp(feed->recording.drops.items[i].cause, cause))
			drop = &feed->recording.drops.items[i];
	if (!drop) {
		drop = vec_add(&feed->recording.drops);
		if (!drop)
			return;
		snprintf(drop->cause, sizeof(drop->cause), "%s", cause);
		snprintf(drop->remedy, sizeof(drop->remedy), "%s", remedy);
	}
	if (drop->count != count)
		drop->time_ns = now_ns();
	drop->count = count;
}
