/*
 * Tracks that go in step, as ranks do that wait for each other, and their pauses in; for how long the pauses of others
 * held up each step out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "spans.h"
#include "stats.h"

#define STEPS_LEAST 16 /* in the time that both were seen; fewer show no common step */
#define PERIODS_APART                                                                              \
	0.05 /* of their median durations: ranks that wait for each other have one speed */
/*
 * How closely the other's marks keep to one place in the steps: the length of the mean of unit vectors, 1 for always the
 * same place, 0 for every place alike (circular statistics: Fisher 1993, section 2.3). A rank that is paused is late in
 * that step and no longer than that.
 */
#define CLOSENESS 0.6

struct place {
	double cosine, sine;
	size_t marks, steps; /* of the other, within so many steps of the one */
};

/* Where in the steps of @one those of @other begin. */
static struct place place_of(const struct step_track *one, const struct step_track *other)
{
	struct place place = {};
	size_t at = 0;

	for (size_t i = 0; i < one->steps.count; i++) {
		const struct step *step = &one->steps.items[i];

		while (at < other->steps.count && other->steps.items[at].start_ns < step->start_ns)
			at++;
		if (!at || at == other->steps.count)
			continue;
		for (; at < other->steps.count && other->steps.items[at].start_ns < step->end_ns;
			at++) {
			double turn = 2 * M_PI *
				      (double)(other->steps.items[at].start_ns - step->start_ns) /
				      (double)step_duration(step);

			place.cosine += cos(turn);
			place.sine += sin(turn);
			place.marks++;
		}
		place.steps++;
	}
	return place;
}

static bool same_speed(const struct step_track *one, const struct step_track *other)
{
	double a = (double)one->period_ns, b = (double)other->period_ns;

	return fabs(a - b) <= PERIODS_APART * fmin(a, b);
}

/* Whether steps of two processes begin at one place of each other's, step by step. */
static bool in_step(const struct step_track *one, const struct step_track *other)
{
	struct place place;
	double marks;

	if (one->process == other->process || !one->measured || !other->measured ||
		strcmp(one->signal, other->signal) || !same_speed(one, other))
		return false;
	place = place_of(one, other);
	marks = (double)place.marks;
	return place.marks >= STEPS_LEAST && fabs(marks - (double)place.steps) <= 0.1 * marks &&
	       hypot(place.cosine, place.sine) >= CLOSENESS * marks;
}

/* By track: the first track of its group. 0 or -ENOMEM. */
static int find_groups(const struct steps *steps, uint32_t **ret)
{
	uint32_t *group = calloc(steps->tracks.count + 1, sizeof(*group));

	if (!group)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps->tracks.count; i++) {
		group[i] = i;
		for (uint32_t j = 0; j < i && group[i] == i; j++)
			if (group[j] == j &&
				in_step(&steps->tracks.items[j], &steps->tracks.items[i]))
				group[i] = j;
	}
	*ret = group;
	return 0;
}

/* A pause of a sibling, by its place among track_cost.siblings. */
struct held {
	struct span span;
	size_t sibling;
};

struct held_list {
	struct held *items;
	size_t count, capacity;
};

static void held_release(struct held_list *list)
{
	vec_free(list);
}

static int by_span(const void *a, const void *b)
{
	const struct held *one = a, *other = b;
	int order = span_compare(&one->span, &other->span);

	return order ? order : (one->sibling > other->sibling) - (one->sibling < other->sibling);
}

static int collect(const struct attribution *attribution, const struct charging *charging,
	const uint32_t *group, uint32_t track, struct held_list *ret)
{
	struct track_cost *cost = &attribution->tracks.items[track];

	for (uint32_t i = 0; i < attribution->tracks.count; i++) {
		_cleanup_(spans_release) struct spans pauses = {};
		struct sibling_cost *sibling;

		if (i == track || group[i] != group[track])
			continue;
		sibling = vec_add(&cost->siblings);
		if (!sibling || spans_of_track(charging, i, &pauses))
			return -ENOMEM;
		*sibling = (struct sibling_cost){
			.process = attribution->steps->tracks.items[i].process};
		for (size_t j = 0; j < pauses.count; j++) {
			struct held *held = vec_add(ret);

			if (!held)
				return -ENOMEM;
			*held = (struct held){pauses.items[j], cost->siblings.count - 1};
		}
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_span);
	return 0;
}

/* Each moment counts once: for the track's own pauses, else for the sibling that was paused first. */
static void lay(const struct step_track *track, const struct held_list *list,
	const struct spans *own, struct track_cost *cost)
{
	uint64_t covered_ns = 0;
	size_t first = 0, at = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct held *held = &list->items[i];
		struct sibling_cost *sibling = &cost->siblings.items[held->sibling];
		uint64_t from = held->span.start_ns > covered_ns ? held->span.start_ns : covered_ns;
		uint64_t sum_ns = 0;

		if (held->span.end_ns > covered_ns)
			covered_ns = held->span.end_ns;
		while (first < track->steps.count && track->steps.items[first].end_ns <= from)
			first++;
		for (size_t j = first; j < track->steps.count; j++) {
			const struct step *step = &track->steps.items[j];
			uint64_t begin = step->start_ns > from ? step->start_ns : from;
			uint64_t end =
				step->end_ns < held->span.end_ns ? step->end_ns : held->span.end_ns;
			uint64_t part_ns;

			if (step->start_ns >= held->span.end_ns)
				break;
			if (end <= begin)
				continue;
			part_ns = end - begin - spans_covered(own, &at, begin, end);
			stats_add(&cost->steps.items[j].held_ns, part_ns);
			stats_add(&sum_ns, part_ns);
		}
		sibling->pauses += sum_ns > 0;
		stats_add(&sibling->held_ns, sum_ns);
		stats_add(&cost->held_ns, sum_ns);
	}
}

int siblings_lay(struct attribution *attribution, const struct charging *charging)
{
	_cleanup_free_ uint32_t *group = NULL;

	if (find_groups(attribution->steps, &group))
		return -ENOMEM;
	for (uint32_t i = 0; i < attribution->tracks.count; i++) {
		_cleanup_(held_release) struct held_list list = {};
		_cleanup_(spans_release) struct spans own = {};

		if (collect(attribution, charging, group, i, &list) ||
			spans_of_track(charging, i, &own))
			return -ENOMEM;
		lay(&attribution->steps->tracks.items[i], &list, &own,
			&attribution->tracks.items[i]);
	}
	return 0;
}
