/* A track's steps with their costs in; how its slow steps recur and what slowed them out. */
#include <errno.h>
#include <stdlib.h>

#include "attrib_priv.h"
#include "stats.h"
#include "cleanup.h"

#define REGULAR 0.25 /* half of the distances lie within this share of the median on each side */
#define FEW	3    /* slow steps that show a distance */

/* The steps that pauses made slow, of one class: that of each step's longest pause. */
struct slow {
	const struct pause_class *class; /* NULL: no step yet */
	VEC(uint64_t) steps, durations;
	uint64_t overlap_ns;
};

/* Of all of a track: classes without a rank are one, the first; the others follow as in the attribution. */
struct slows {
	struct slow *items;
	size_t count;
};

static int slow_add(struct slows *slows, const struct attribution *attribution,
	const struct step_cost *cost, size_t step, uint64_t duration_ns)
{
	const struct charge *worst = &attribution->charges.items[cost->worst];
	const struct pause_class *class = attribution->classes.items[worst->class];
	struct slow *slow = &slows->items[class->rank ? 1 + worst->class : 0];
	uint64_t *at = vec_add(&slow->steps), *lasted = vec_add(&slow->durations);

	slow->class = class;
	if (!at || !lasted)
		return -ENOMEM;
	*at = step;
	*lasted = duration_ns;
	stats_add(&slow->overlap_ns, cost->overlap_ns);
	return 0;
}

static void set_distance(struct slow *slow, struct slow_pattern *ret)
{
	uint64_t *distances = slow->steps.items;
	size_t count = slow->steps.count;
	double quarter, three_quarters;

	if (count < FEW)
		return;
	for (size_t i = 0; i + 1 < count; i++)
		distances[i] = distances[i + 1] - distances[i];
	count--;
	ret->every = (double)stats_median(distances, count);
	quarter = (double)stats_quantile(distances, count, 0.25);
	three_quarters = (double)stats_quantile(distances, count, 0.75);
	ret->regular = quarter >= (1 - REGULAR) * ret->every &&
		       three_quarters <= (1 + REGULAR) * ret->every;
}

/* The class that cost most: a few long collections outweigh many short ones. */
static struct slow *costliest(const struct slows *slows)
{
	struct slow *most = slows->items;

	for (size_t i = 1; i < slows->count; i++)
		if (slows->items[i].overlap_ns > most->overlap_ns)
			most = &slows->items[i];
	return most;
}

enum slowed {
	SLOWED_BY_PAUSES,
	SLOWED_BY_SIBLINGS,
	SLOWED_BY_STALLS,
	SLOWED_BY_RETRIES,
	SLOWED_OTHERWISE
};

/* What makes up half of the excess, or more: of pauses, only what made the step longer. */
static enum slowed reason_of(const struct step_cost *cost, double excess)
{
	double paused = 2 * (double)(cost->overlap_ns - cost->hidden_ns);

	if (paused >= excess)
		return SLOWED_BY_PAUSES;
	if (paused + 2 * (double)cost->held_ns >= excess)
		return SLOWED_BY_SIBLINGS;
	if (paused + 2 * (double)cost->stall_ns >= excess)
		return SLOWED_BY_STALLS;
	return paused + 2 * (double)cost->retry_ns >= excess ? SLOWED_BY_RETRIES : SLOWED_OTHERWISE;
}

static int find(const struct attribution *attribution, size_t index, const uint64_t *durations,
	struct slows *slows, struct slow_pattern *ret)
{
	const struct track_cost *cost = &attribution->tracks.items[index];
	size_t count = cost->steps.count;
	struct stats_window window = {};

	for (size_t i = 0; i < count; i++) {
		double excess, median;
		size_t from, to;

		stats_window_place(i, 0, count, &from, &to);
		stats_window_move(&window, durations, from, to);
		median = (double)stats_window_median(&window);
		excess = (double)durations[i] - median;
		if (excess <= 0 || (double)durations[i] < SLOW_RATIO * median)
			continue;
		switch (reason_of(&cost->steps.items[i], excess)) {
		case SLOWED_BY_PAUSES:
			ret->steps++;
			if (slow_add(slows, attribution, &cost->steps.items[i], i, durations[i]))
				return -ENOMEM;
			break;
		case SLOWED_BY_SIBLINGS:
			ret->held++;
			break;
		case SLOWED_BY_STALLS:
			ret->stalled++;
			ret->other++;
			break;
		case SLOWED_BY_RETRIES:
			ret->retried++;
			ret->other++;
			break;
		case SLOWED_OTHERWISE:
			ret->other++;
		}
	}
	return 0;
}

static void slows_release(struct slows *slows)
{
	for (size_t i = 0; slows->items && i < slows->count; i++) {
		vec_free(&slows->items[i].steps);
		vec_free(&slows->items[i].durations);
	}
	free(slows->items);
}

int pattern_find(const struct attribution *attribution, size_t track, struct slow_pattern *ret)
{
	const struct step_track *steps = &attribution->steps->tracks.items[track];
	size_t count = steps->steps.count;
	_cleanup_free_ uint64_t *durations = calloc(count + 1, sizeof(*durations));
	struct slows slows = {.count = attribution->classes.count + 1};
	struct slow_pattern found = {};
	struct slow *slow;
	uint64_t median;
	int r;

	slows.items = calloc(slows.count, sizeof(*slows.items));
	r = durations && slows.items ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !r; i++)
		durations[i] = step_duration(&steps->steps.items[i]);
	if (!r)
		r = find(attribution, track, durations, &slows, &found);
	if (!r) {
		slow = costliest(&slows);
		median = stats_median(durations, count);
		found.class = slow->class;
		found.chief = slow->steps.count;
		found.ratio = median ? (double)stats_median(slow->durations.items,
					       slow->durations.count) /
					       (double)median
				     : 0;
		set_distance(slow, &found);
		*ret = found;
	}
	slows_release(&slows);
	return r;
}
