/* The parts of Julia's pauses in; what would make them shorter out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "describe.h"
#include "julia_advice.h"
#include "parse.h"
#include "stats.h"
#include "u64map.h"

#define LEAST_PART   0.3 /* of the stopped time: less is not what to look at */
#define MARKED	     0.5 /* of it, for which threads are worth it */
#define GC_THREADS   4
#define LONG_MARK_NS 20e6     /* of marking in a collection, for which waking threads is worth it */
#define LATE_NS	     1000000  /* a time to safepoint that is long */
#define USUAL_NS     200000.0 /* what is left of it where all threads have safepoints */
#define LEAST_PAIRS  2

/*
 * From 1.10 on; half as many as -t has by default. Not for short collections: where 1.13.1 marked for 1.7 ms each, a
 * second thread on two busy processors made them twice as long, docs/workloads-julia.md.
 */
int advise_gc_threads(struct advising *advising)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums all = julia_sum(events, julia_all);
	struct advice *advice;
	int r;

	if (events->minor < 10 || events->gc_threads || events->threads >= GC_THREADS ||
		all.mark < MARKED * all.overlap || all.mark < all.count * LONG_MARK_NS)
		return 0;
	advice = advice_add(advising, ADVICE_GC_THREADS, all.mark / 3, 0,
		all.mark * (1 - 1.0 / GC_THREADS), &r);
	if (!advice)
		return r;
	advice->grows_bytes = 0;
	snprintf(advice->title, sizeof(advice->title), "Let several threads mark");
	snprintf(advice->line, sizeof(advice->line), "--gcthreads=%d  # or JULIA_NUM_GC_THREADS=%d",
		GC_THREADS, GC_THREADS);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %s of it is marking; how much of that threads save is a guess",
		FORMAT_DURATION(stats_whole(all.mark)));
	snprintf(advice->risk, sizeof(advice->risk),
		"no gain if JULIA_NUM_GC_THREADS is set already, nor where the heap is long lists, which "
		"one thread marks; a loss where so many processors are not free");
	return 0;
}

/* Finalizers run once the world does again, but on the thread that collected: a training thread, mostly. */
int advise_finalizers(struct advising *advising)
{
	struct julia_sums all = julia_sum(julia_events(advising), julia_all);
	struct advice *advice;
	int r;

	if (all.post < LEAST_PART * all.overlap)
		return 0;
	/* What has a finalizer outlives a collection, and is marked in it. */
	advice = advice_add(advising, ADVICE_FINALIZERS, 0.9 * all.post + all.mark / 3,
		0.5 * all.post, all.post + 0.9 * all.mark, &r);
	if (!advice)
		return r;
	advice->grows_bytes = 0;
	snprintf(advice->title, sizeof(advice->title), "Run fewer finalizers");
	snprintf(advice->line, sizeof(advice->line),
		"release(x)  # where x is no longer needed, in place of finalizer(release, x)");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %s of it is finalizers and callbacks, %s of them in the thread that collected",
		FORMAT_DURATION(stats_whole(all.post)),
		DESCRIBE_SHARE(all.overlap > 0 ? all.post / all.overlap : 0));
	snprintf(advice->risk, sizeof(advice->risk),
		"what releases by itself now is a leak where the call is forgotten; what the release "
		"itself takes is then part of the step");
	return 0;
}

/* What all collections waited for the last thread. */
struct waiting {
	double above_usual_ns, above_median_ns;
	uint64_t median_ns;
	uint32_t late_tid, late;
	double late_ns;	     /* of it */
	uint64_t longest_ns; /* of it, where it was at .late */
};

/* Adds up by thread. 0 or -ENOMEM. */
static int find_late(const struct julia_events *events, struct waiting *ret)
{
	struct u64map sums = {};
	int r = 0;

	for (size_t i = 0; i < events->events.count && !r; i++) {
		const struct julia_event *event = &events->events.items[i];
		const uint64_t *found;
		uint64_t sum;

		if (!event->late_tid || event->ttsp_ns < LATE_NS)
			continue;
		found = u64map_get(&sums, event->late_tid);
		sum = found ? *found : 0;
		stats_add(&sum, (uint64_t)event->ttsp_ns);
		if ((double)sum > ret->late_ns) {
			ret->late_ns = (double)sum;
			ret->late_tid = event->late_tid;
		}
		r = u64map_put(&sums, event->late_tid, sum);
	}
	u64map_release(&sums);
	for (size_t i = 0; i < events->events.count; i++) {
		const struct julia_event *event = &events->events.items[i];

		if (event->late_tid != ret->late_tid || !event->late ||
			event->ttsp_ns <= (int64_t)ret->longest_ns)
			continue;
		ret->longest_ns = (uint64_t)event->ttsp_ns;
		ret->late = event->late;
	}
	return r;
}

static int waiting_read(const struct julia_events *events, struct waiting *ret)
{
	_cleanup_free_ uint64_t *times = calloc(events->events.count + 1, sizeof(*times));
	size_t count = 0;

	*ret = (struct waiting){};
	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < events->events.count; i++)
		if (events->events.items[i].ttsp_ns >= 0)
			times[count++] = (uint64_t)events->events.items[i].ttsp_ns;
	ret->median_ns = stats_median(times, count);
	for (size_t i = 0; i < events->events.count; i++) {
		const struct julia_event *event = &events->events.items[i];
		double ns = (double)event->ttsp_ns;

		if (ns < 0)
			continue;
		ret->above_median_ns +=
			(double)event->weight * fmax(0, ns - (double)ret->median_ns);
		ret->above_usual_ns += (double)event->weight * fmax(0, ns - USUAL_NS);
	}
	return find_late(events, ret);
}

static void say_waiting(const struct advising *advising, const struct waiting *waiting,
	double ttsp_ns, struct advice *advice)
{
	const struct recording *recording = advising->attribution->recording;
	const struct thread *thread =
		recording_thread(recording, advising->subject->process, waiting->late_tid);

	snprintf(advice->title, sizeof(advice->title), "Let a busy thread reach a safepoint");
	snprintf(advice->line, sizeof(advice->line), "GC.safepoint()  # in the loop of thread %u",
		waiting->late_tid);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %s of it is the time until all threads had stopped, median %s; the last was "
		"thread %u%s%s%s",
		FORMAT_DURATION(stats_whole(ttsp_ns)), FORMAT_DURATION(waiting->median_ns),
		waiting->late_tid, thread && *thread->name ? " (" : "", thread ? thread->name : "",
		thread && *thread->name ? ")" : "");
	if (waiting->late)
		APPEND_TO(advice->estimate, ", out of %s",
			DESCRIBE_FRAME(advising->attribution->stacks, waiting->late));
	snprintf(advice->risk, sizeof(advice->risk),
		"the loop is a load slower a turn; no gain where the thread is late in a call of C, or "
		"because there are more threads than processors");
}

/* GC.safepoint() is there from 1.4 on. */
int advise_safepoint(struct advising *advising)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums all = julia_sum(events, julia_all);
	struct waiting waiting;
	struct advice *advice;
	int r;

	if (all.ttsp < LEAST_PART * all.overlap)
		return 0;
	if (waiting_read(events, &waiting))
		return -ENOMEM;
	if (!waiting.late_tid)
		return 0;
	/* A thread whose place is not known may be late for want of a processor, too. */
	advice = advice_add(advising, ADVICE_SAFEPOINT,
		waiting.late ? waiting.above_usual_ns : waiting.above_usual_ns / 2,
		waiting.late ? fmin(waiting.above_median_ns, waiting.above_usual_ns / 2) : 0,
		all.ttsp, &r);
	if (!advice)
		return r;
	advice->grows_bytes = 0;
	advice->trigger = waiting.late;
	say_waiting(advising, &waiting, all.ttsp, advice);
	return 0;
}

/* What CUDA.jl does where an allocation on the GPU fails; what a program of another kind does looks the same. */
int advise_gpu_memory(struct advising *advising)
{
	struct julia_sums all = julia_sum(julia_events(advising), julia_paired);
	struct advice *advice;
	int r;

	if (all.count < 2 * LEAST_PAIRS)
		return 0;
	advice = advice_add(advising, ADVICE_GPU_MEMORY, all.overlap / 2, 0, all.overlap, &r);
	if (!advice)
		return r;
	snprintf(advice->title, sizeof(advice->title),
		"Free arrays on the GPU before its memory is short");
	snprintf(advice->line, sizeof(advice->line),
		"CUDA.unsafe_free!(x)  # of each array x that is no longer needed");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %.0f times GC.gc(false) was directly followed by GC.gc(true), %s in all, as CUDA.jl "
		"does when memory on the GPU is short; that half of them can be spared is a guess",
		floor(all.count / 2), FORMAT_DURATION(stats_whole(all.overlap)));
	snprintf(advice->risk, sizeof(advice->risk),
		"an array that is used after it was freed is an error; no gain if it is not CUDA.jl that "
		"calls");
	return 0;
}
