/* Steps and collections in; the 99th percentile of the steps out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gc_tail.h"
#include "parse.h"
#include "stats.h"

#define TAIL	    0.99
#define LEAST_STEPS 100 /* fewer have no 99th percentile */

bool gc_tail_known(const struct gc_facts *facts)
{
	const struct step_track *track = facts->of->track;

	return track && track->measured && track->confidence >= STEP_CONFIDENT &&
	       track->steps.count >= LEAST_STEPS;
}

/* Takes the collections of generation @least and above after warm-up from @without, the durations of all steps. */
static void take_out(const struct gc_facts *facts, int least, uint64_t *without)
{
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		uint64_t ns = stats_whole(gc_event_overlap(event));

		if (!event->warm || event->generation < least || event->step == GC_NO_STEP)
			continue;
		without[event->step] -= ns < without[event->step] ? ns : without[event->step];
	}
}

int gc_tail_of(const struct gc_facts *facts, int least, const double *by_step, struct gc_tail *ret)
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
	take_out(facts, least, after);
	for (size_t i = 0; i < count; i++)
		stats_add(&after[i], stats_whole(by_step[i]));
	*ret = (struct gc_tail){
		.before_ns = stats_quantile(before + first, count - first, TAIL),
		.after_ns = stats_quantile(after + first, count - first, TAIL),
		/* Twice as many of the slow ones, as their number is known no better. */
		.most_ns = stats_quantile(after + first, count - first, 1 - (1 - TAIL) / 2),
	};
	return 0;
}

void gc_tail_say(const struct gc_tail *tail, uint64_t most_ns, struct advice *advice)
{
	if (!tail->before_ns)
		return;
	if (most_ns < tail->most_ns)
		most_ns = tail->most_ns;
	advice->tail = gc_tail_ratio(tail);
	advice->tail_most = (double)most_ns / (double)tail->before_ns;
	APPEND_TO(advice->estimate, "; the steps' 99th percentile from %s to about %s",
		FORMAT_DURATION(tail->before_ns), FORMAT_DURATION(tail->after_ns));
	if (most_ns > tail->before_ns && most_ns - tail->after_ns > tail->after_ns / 4)
		APPEND_TO(advice->estimate, ", to %s at worst", FORMAT_DURATION(most_ns));
}
