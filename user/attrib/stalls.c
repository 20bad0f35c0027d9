/*
 * Stalls of a recording and charged pauses in; how long the threads that make steps waited for the
 * collector in each step out: beside pauses, and never part of their cost.
 */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "spans.h"
#include "stats.h"

/* A stall of the thread that makes a track's steps. */
struct track_stall {
	uint32_t track;
	struct span span;
};

typedef VEC(struct track_stall) track_stalls;

static void track_stalls_release(track_stalls *list)
{
	vec_free(list);
}

static int by_track(const void *a, const void *b)
{
	const struct track_stall *one = a, *other = b;

	if (one->track != other->track)
		return one->track < other->track ? -1 : 1;
	return span_compare(&one->span, &other->span);
}

static uint64_t thread_key(uint32_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}

/* By track, then by time. */
static int collect_stalls(const struct attribution *attribution, track_stalls *ret)
{
	const struct recording *recording = attribution->recording;
	struct u64map tracks = {};
	int r = 0;

	for (size_t i = 0; i < attribution->tracks.count && !r; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];

		r = u64map_put(&tracks, thread_key(track->process, track->tid), i);
	}
	for (size_t i = 0; i < recording->stalls.count && !r; i++) {
		const struct stall *stall = &recording->stalls.items[i];
		const struct runtime *runtime = recording_runtime(recording, stall->runtime);
		const uint64_t *track =
			runtime ? u64map_get(&tracks, thread_key(runtime->process, stall->tid))
				: NULL;
		struct track_stall *added = track ? vec_add(ret) : NULL;

		if (added)
			*added = (struct track_stall){
				(uint32_t)*track, {stall->start_ns, stall->end_ns}};
		else if (track)
			r = -ENOMEM;
	}
	u64map_release(&tracks);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_track);
	return r;
}

static void lay(const struct step_track *track, const struct spans *stalls,
	const struct spans *pauses, struct track_cost *cost)
{
	size_t first = 0, paused = 0;

	for (size_t i = 0; i < stalls->count; i++) {
		const struct span *stall = &stalls->items[i];

		while (first < track->steps.count &&
			track->steps.items[first].end_ns <= stall->start_ns)
			first++;
		for (size_t j = first; j < track->steps.count; j++) {
			const struct step *step = &track->steps.items[j];
			uint64_t from, to, alone_ns;

			if (step->start_ns >= stall->end_ns)
				break;
			from = step->start_ns > stall->start_ns ? step->start_ns : stall->start_ns;
			to = step->end_ns < stall->end_ns ? step->end_ns : stall->end_ns;
			if (to <= from)
				continue;
			alone_ns = to - from - spans_covered(pauses, &paused, from, to);
			stats_add(&cost->stall_ns, to - from);
			stats_add(&cost->stall_alone_ns, alone_ns);
			stats_add(&cost->steps.items[j].stall_ns, alone_ns);
		}
	}
}

int stalls_lay(struct attribution *attribution, const struct charging *charging)
{
	_cleanup_(track_stalls_release) track_stalls all = {};

	if (collect_stalls(attribution, &all))
		return -ENOMEM;
	for (size_t i = 0; i < all.count;) {
		uint32_t track = all.items[i].track;
		struct track_cost *cost = &attribution->tracks.items[track];
		_cleanup_(spans_release) struct spans stalls = {}, pauses = {};

		for (; i < all.count && all.items[i].track == track; i++) {
			cost->stalls++;
			if (span_add(&stalls, all.items[i].span.start_ns, all.items[i].span.end_ns))
				return -ENOMEM;
		}
		spans_unite(&stalls);
		if (spans_of_track(charging, track, &pauses))
			return -ENOMEM;
		lay(&attribution->steps->tracks.items[track], &stalls, &pauses, cost);
	}
	return 0;
}
