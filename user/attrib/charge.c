/*
 * Intervals by track and the tracks' steps in; each step's overlap, and each pause's part in its
 * cost, out.
 */
#include <stdlib.h>

#include "attrib_priv.h"
#include "stats.h"

static int by_time(const void *a, const void *b)
{
	const struct interval *one = a, *other = b;

	if (one->track != other->track)
		return one->track < other->track ? -1 : 1;
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->charge > other->charge) - (one->charge < other->charge);
}

/* Pauses come in the order in which they ended: mostly sorted already. */
static void sort_intervals(struct interval *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (by_time(&items[i - 1], &items[i]) > 0) {
			qsort(items, count, sizeof(*items), by_time);
			return;
		}
}

/* The step that holds @time_ns, or ATTRIB_NONE. */
static uint32_t step_at(const struct step_track *track, uint64_t time_ns)
{
	size_t low = 0, high = track->steps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->steps.items[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < track->steps.count && track->steps.items[low].start_ns <= time_ns
		       ? (uint32_t)low
		       : ATTRIB_NONE;
}

/*
 * One track on its way through its intervals; each moment is given to the first interval that holds
 * it.
 */
struct walk {
	const struct step_track *track;
	uint64_t covered_ns; /* all before it has been given away */
	size_t step;	     /* the first that does not end before it */
};

/* How much of [from, to) lies in @step. */
static uint64_t part_in(const struct step *step, uint64_t from, uint64_t to)
{
	uint64_t start = step->start_ns > from ? step->start_ns : from;
	uint64_t end = step->end_ns < to ? step->end_ns : to;

	return end > start ? end - start : 0;
}

/*
 * Takes what of @interval was not given away before: [*ret_from, *ret_to), and moves to the first
 * step that may hold some of it. False: nothing is left.
 */
static bool walk_take(struct walk *walk, const struct interval *interval, uint64_t *ret_from,
	uint64_t *ret_to)
{
	uint64_t from =
		interval->start_ns > walk->covered_ns ? interval->start_ns : walk->covered_ns;

	if (from >= interval->end_ns)
		return false;
	while (walk->step < walk->track->steps.count &&
		walk->track->steps.items[walk->step].end_ns <= from)
		walk->step++;
	*ret_from = from;
	*ret_to = walk->covered_ns = interval->end_ns;
	return true;
}

static void add_pause(struct step_cost *cost, const struct pause_class *class)
{
	cost->pauses++;
	if (class->rank > (cost->class ? cost->class->rank : 0))
		cost->class = class;
}

/*
 * @longest_ns: of the parts of pauses in this step so far; starts again at 0 where another step
 * does.
 */
struct longest {
	size_t step;
	uint64_t ns;
};

static void add_part(struct step_cost *cost, struct longest *longest, size_t step, uint64_t part_ns,
	uint32_t charge)
{
	if (longest->step != step)
		*longest = (struct longest){step, 0};
	stats_add(&cost->overlap_ns, part_ns);
	if (part_ns <= longest->ns && cost->worst != ATTRIB_NONE)
		return;
	longest->ns = part_ns;
	cost->worst = charge;
}

static void add_outside(struct track_cost *cost, const struct step_track *track,
	const struct charge *charge, uint64_t part_ns)
{
	cost->outside++;
	stats_add(&cost->outside_ns, part_ns);
	if (charge->end_ns > track->seen_ns)
		return;
	cost->unseen++;
	stats_add(&cost->unseen_ns, part_ns);
}

/* A pause that others cover, or of no length: it is counted in the step where it began. */
static void add_covered(struct track_cost *cost, const struct step_track *track,
	const struct interval *interval, struct charge *charge, const struct pause_class *class)
{
	charge->step = step_at(track, interval->start_ns);
	if (charge->step == ATTRIB_NONE)
		add_outside(cost, track, charge, 0);
	else
		add_pause(&cost->steps.items[charge->step], class);
}

static void overlap_one(struct attribution *attribution, struct walk *walk,
	const struct interval *interval, struct longest *longest)
{
	struct track_cost *cost = &attribution->tracks.items[interval->track];
	struct charge *charge = &attribution->charges.items[interval->charge];
	const struct pause_class *class = attribution->classes.items[charge->class];
	uint64_t from, to, inside_ns = 0;

	if (!walk_take(walk, interval, &from, &to)) {
		add_covered(cost, walk->track, interval, charge, class);
		return;
	}
	for (size_t i = walk->step; i < walk->track->steps.count; i++) {
		const struct step *step = &walk->track->steps.items[i];
		uint64_t part_ns = part_in(step, from, to);

		if (step->start_ns >= to)
			break;
		if (!part_ns)
			continue;
		if (charge->step == ATTRIB_NONE)
			charge->step = (uint32_t)i;
		add_pause(&cost->steps.items[i], class);
		add_part(&cost->steps.items[i], longest, i, part_ns, interval->charge);
		if (charge->own)
			stats_add(&cost->steps.items[i].own_ns, part_ns);
		inside_ns += part_ns;
	}
	charge->overlap_ns = inside_ns;
	stats_add(&cost->overlap_ns, inside_ns);
	if (inside_ns != to - from)
		add_outside(cost, walk->track, charge, to - from - inside_ns);
}

/* The index behind the last interval of the same track as @from. */
static size_t track_end(const struct charging *charging, size_t from)
{
	size_t to = from;

	while (to < charging->intervals.count &&
		charging->intervals.items[to].track == charging->intervals.items[from].track)
		to++;
	return to;
}

/*
 * Sums up the process's own pauses, counting each moment once; the rest of the union is time it waited for
 * workers.
 */
static void add_union(struct attribution *attribution, const struct charging *charging, size_t from,
	size_t to)
{
	struct track_cost *cost = &attribution->tracks.items[charging->intervals.items[from].track];
	uint64_t covered_ns = 0, all_covered_ns = 0, all_ns = 0, own_ns = 0;

	for (size_t i = from; i < to; i++) {
		const struct interval *interval = &charging->intervals.items[i];
		bool worker = attribution->charges.items[interval->charge].worker;
		uint64_t begin = interval->start_ns;

		if (!worker && interval->end_ns > covered_ns) {
			stats_add(&own_ns,
				interval->end_ns - (begin > covered_ns ? begin : covered_ns));
			covered_ns = interval->end_ns;
		}
		if (interval->end_ns > all_covered_ns) {
			stats_add(&all_ns,
				interval->end_ns -
					(begin > all_covered_ns ? begin : all_covered_ns));
			all_covered_ns = interval->end_ns;
		}
	}
	stats_add(&cost->pause_ns, own_ns);
	cost->worker_waited_ns = all_ns - own_ns;
}

void charge_overlap(struct attribution *attribution, struct charging *charging)
{
	size_t count = charging->intervals.count;

	sort_intervals(charging->intervals.items, count);
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t track = charging->intervals.items[from].track;
		struct walk walk = {.track = &attribution->steps->tracks.items[track]};
		struct longest longest = {SIZE_MAX, 0};

		to = track_end(charging, from);
		for (size_t i = from; i < to; i++)
			overlap_one(attribution, &walk, &charging->intervals.items[i], &longest);
		add_union(attribution, charging, from, to);
	}
}

/*
 * The share of a step's cost due to @part_ns of its pauses, after @given_ns of them: a difference of running
 * totals, so that the shares add up to the cost exactly.
 */
static uint64_t cost_part(const struct step_cost *cost, uint64_t given_ns, uint64_t part_ns)
{
	unsigned __int128 whole = cost->cost_ns;

	if (!cost->overlap_ns)
		return 0;
	return (uint64_t)(whole * (given_ns + part_ns) / cost->overlap_ns -
			  whole * given_ns / cost->overlap_ns);
}

static void cost_one(struct attribution *attribution, struct walk *walk,
	const struct interval *interval, struct longest *given)
{
	struct track_cost *cost = &attribution->tracks.items[interval->track];
	uint64_t from, to, sum_ns = 0;

	if (!walk_take(walk, interval, &from, &to))
		return;
	for (size_t i = walk->step; i < walk->track->steps.count; i++) {
		const struct step *step = &walk->track->steps.items[i];
		uint64_t part_ns = part_in(step, from, to);

		if (step->start_ns >= to)
			break;
		if (given->step != i)
			*given = (struct longest){i, 0};
		sum_ns += cost_part(&cost->steps.items[i], given->ns, part_ns);
		given->ns += part_ns;
	}
	attribution->charges.items[interval->charge].cost_ns = sum_ns;
}

void charge_cost(struct attribution *attribution, struct charging *charging)
{
	size_t count = charging->intervals.count;

	for (size_t from = 0, to; from < count; from = to) {
		uint32_t track = charging->intervals.items[from].track;
		struct walk walk = {.track = &attribution->steps->tracks.items[track]};
		struct longest given = {SIZE_MAX, 0};

		to = track_end(charging, from);
		for (size_t i = from; i < to; i++)
			cost_one(attribution, &walk, &charging->intervals.items[i], &given);
	}
}
