/* Steps and full collections in; the 99th percentile of the steps out. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gc_tail.h"
#include "stats.h"

#define TAIL	    0.99
#define LEAST_STEPS 100 /* fewer have no 99th percentile */

bool gc_tail_known(const struct gc_facts *facts)
{
	const struct step_track *track = facts->of->track;

	return track && track->measured && track->confidence >= STEP_CONFIDENT &&
	       track->steps.count >= LEAST_STEPS;
}

/* Takes the full collections after warm-up from @without, the durations of all steps. */
static void take_full(const struct gc_facts *facts, uint64_t *without)
{
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		uint64_t ns = stats_whole(gc_event_overlap(event));

		if (!event->warm || event->generation != 2 || event->step == GC_NO_STEP)
			continue;
		without[event->step] -= ns < without[event->step] ? ns : without[event->step];
	}
}

int gc_tail_of(const struct gc_facts *facts, const double *by_step, struct gc_tail *ret)
{
	const struct step_track *track = facts->of->track;
	_cleanup_free_ uint64_t *before = calloc(track->steps.count, sizeof(*before));
	_cleanup_free_ uint64_t *after = calloc(track->steps.count, sizeof(*after));
	size_t first = 0, count = track->steps.count;

	if (!before || !after)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		before[i] = after[i] =
			track->steps.items[i].end_ns - track->steps.items[i].start_ns;
		first += track->steps.items[i].start_ns < facts->of->warm_ns;
	}
	take_full(facts, after);
	for (size_t i = 0; i < count; i++)
		stats_add(&after[i], stats_whole(by_step[i]));
	*ret = (struct gc_tail){
		.before_ns = stats_quantile(before + first, count - first, TAIL),
		.after_ns = stats_quantile(after + first, count - first, TAIL),
	};
	return 0;
}
