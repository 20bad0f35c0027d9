/* What GPUs did while pauses stopped steps in; what each pause cost, and by that each step, out. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gpu_cost.h"
#include "stats.h"

/* One at the runtime's exit is nobody's: training is over, and what a device then does not do is no loss. */
int gpu_cost_note(const struct attribution *attribution, struct charging *charging,
	const struct process *process, const struct pause *pause, bool stops_all)
{
	struct gpu_pause *added;

	if (!attribution->gpu)
		return 0;
	added = vec_add(&charging->gpu_pauses);
	if (!added)
		return -ENOMEM;
	*added = (struct gpu_pause){
		.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.process = process && !pause->at_exit ? process->id : 0,
		.tid = pause->tid,
		.stops_all = stops_all,
	};
	return 0;
}

void gpu_cost_note_worker(const struct attribution *attribution, struct charging *charging,
	uint32_t track, uint64_t waited_ns)
{
	struct gpu_pause *noted;

	if (!attribution->gpu)
		return;
	noted = &charging->gpu_pauses.items[charging->gpu_pauses.count - 1];
	noted->start_ns = noted->end_ns - waited_ns;
	noted->process = attribution->steps->tracks.items[track].process;
	noted->tid = attribution->steps->tracks.items[track].tid;
	noted->stops_all = true; /* the thread that launches is the one that waits */
	noted->elsewhere = true;
}

struct order {
	uint64_t start_ns;
	size_t index;
};

static int by_start(const void *a, const void *b)
{
	const struct order *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->index > other->index) - (one->index < other->index);
}

/* Charges the pauses in the order of their starts, and puts the answers in the order in which they were read. */
static int charge_sorted(struct attribution *attribution, const struct charging *charging,
	struct order *order, struct gpu_pause *sorted)
{
	size_t count = charging->gpu_pauses.count;
	struct gpu_charges *charges = &attribution->gpu_charges;
	struct gpu_cost *costs;
	int r;

	for (size_t i = 0; i < count; i++)
		order[i] = (struct order){charging->gpu_pauses.items[i].start_ns, i};
	qsort(order, count, sizeof(*order), by_start);
	for (size_t i = 0; i < count; i++)
		sorted[i] = charging->gpu_pauses.items[order[i].index];
	r = gpu_charge(attribution->gpu, sorted, count, charges);
	if (r)
		return r;
	costs = calloc(count + 1, sizeof(*costs));
	if (!costs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		costs[order[i].index] = charges->pauses.items[i];
	free(charges->pauses.items);
	charges->pauses.items = costs;
	charges->pauses.capacity = count + 1;
	for (size_t i = 0; i < charges->idles.count; i++)
		if (charges->idles.items[i].pause != GPU_NO_PAUSE)
			charges->idles.items[i].pause = order[charges->idles.items[i].pause].index;
	return 0;
}

/* The device of @process that worked most, or ATTRIB_NONE. */
static uint32_t busiest(const struct attribution *attribution, uint32_t process)
{
	const struct gpu_charges *charges = &attribution->gpu_charges;
	uint32_t found = ATTRIB_NONE;
	uint64_t most_ns = 0;

	for (size_t i = 0; i < attribution->gpu->devices.count; i++) {
		const struct gpu_figures *figures = &charges->devices.items[i];

		if (attribution->gpu->devices.items[i].process != process ||
			figures->busy_ns <= most_ns)
			continue;
		most_ns = figures->busy_ns;
		found = (uint32_t)i;
	}
	return found;
}

static void set_steps(const struct attribution *attribution, const struct step_track *track,
	struct track_cost *cost)
{
	cost->gpu_device = busiest(attribution, track->process);
	for (size_t i = 0; i < track->steps.count && cost->gpu_device != ATTRIB_NONE; i++) {
		struct gpu_share share = gpu_idle_within(attribution->gpu,
			&attribution->gpu_charges, cost->gpu_device, track->steps.items[i].start_ns,
			track->steps.items[i].end_ns);

		cost->steps.items[i].gpu_known = share.known;
		cost->steps.items[i].gpu_idle_ns = share.idle_ns;
		cost->steps.items[i].gpu_pause_ns = share.pause_ns;
	}
}

int gpu_cost_find(struct attribution *attribution, struct charging *charging)
{
	size_t count = charging->gpu_pauses.count;
	_cleanup_free_ struct gpu_pause *sorted = NULL;
	_cleanup_free_ struct order *order = NULL;

	if (!attribution->gpu)
		return 0;
	order = calloc(count + 1, sizeof(*order));
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!order || !sorted || charge_sorted(attribution, charging, order, sorted))
		return -ENOMEM;
	for (size_t i = 0; i < attribution->charges.count; i++) {
		const struct gpu_cost *cost = &attribution->gpu_charges.pauses.items[i];

		attribution->charges.items[i].gpu_known = cost->known;
		attribution->charges.items[i].gpu_idle_ns = cost->exposed_ns + cost->recovery_ns;
	}
	for (size_t i = 0; i < attribution->tracks.count; i++)
		set_steps(attribution, &attribution->steps->tracks.items[i],
			&attribution->tracks.items[i]);
	return 0;
}

/* The part of @ns that is due to @part_ns of @whole_ns, after @given_ns of it: so that parts add up to it exactly. */
static uint64_t part_of(uint64_t ns, uint64_t given_ns, uint64_t part_ns, uint64_t whole_ns)
{
	unsigned __int128 all = ns;

	return whole_ns ? (uint64_t)(all * (given_ns + part_ns) / whole_ns -
				     all * given_ns / whole_ns)
			: 0;
}

/* The intervals [from, to) of one track. */
struct range {
	size_t from, to;
};

static struct range range_of(const struct charging *charging, uint32_t track)
{
	struct range range = {0, charging->intervals.count};

	while (range.from < range.to && charging->intervals.items[range.from].track != track)
		range.from++;
	for (size_t i = range.from; i < range.to; i++)
		if (charging->intervals.items[i].track != track)
			range.to = i;
	return range;
}

/*
 * Whether GPU records say what the track lost: what each of its pauses that stopped a step did, and no siblings' pauses
 * held it up, which would show as work of a collective.
 */
static bool is_told(const struct attribution *attribution, const struct charging *charging,
	struct range range, const struct track_cost *cost)
{
	if (!attribution->gpu || attribution->gpu->inferred || cost->gpu_device == ATTRIB_NONE ||
		!cost->overlap_ns || cost->held_ns)
		return false;
	for (size_t i = range.from; i < range.to; i++) {
		uint32_t charge = charging->intervals.items[i].charge;

		if (attribution->charges.items[charge].overlap_ns &&
			!attribution->gpu_charges.pauses.items[charge].known)
			return false;
	}
	return true;
}

static uint64_t part_in(const struct step *step, uint64_t from, uint64_t to)
{
	uint64_t start = step->start_ns > from ? step->start_ns : from;
	uint64_t end = step->end_ns < to ? step->end_ns : to;

	return end > start ? end - start : 0;
}

/* Gives the steps from *@at on their parts of what @interval lost. Each moment is the first interval's that holds it. */
static void apply_one(const struct step_track *track, const struct interval *interval,
	uint64_t from, uint64_t lost_ns, size_t *at, struct track_cost *cost, struct charge *charge)
{
	uint64_t given_ns = 0;

	while (*at < track->steps.count && track->steps.items[*at].end_ns <= from)
		++*at;
	for (size_t i = *at; i < track->steps.count; i++) {
		uint64_t part_ns = part_in(&track->steps.items[i], from, interval->end_ns);
		uint64_t cost_ns;

		if (track->steps.items[i].start_ns >= interval->end_ns)
			break;
		cost_ns = part_of(lost_ns, given_ns, part_ns, charge->overlap_ns);
		given_ns += part_ns;
		cost->steps.items[i].cost_ns += cost_ns;
		charge->cost_ns += cost_ns;
	}
}

static int64_t signed_of(uint64_t ns)
{
	return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static void apply(struct attribution *attribution, const struct charging *charging,
	struct range range, uint32_t index)
{
	const struct step_track *track = &attribution->steps->tracks.items[index];
	struct track_cost *cost = &attribution->tracks.items[index];
	uint64_t covered_ns = 0, sum_ns = 0, low_ns = 0, high_ns = 0;
	size_t at = 0;

	for (size_t i = 0; i < cost->steps.count; i++)
		cost->steps.items[i].cost_ns = 0;
	for (size_t i = range.from; i < range.to; i++) {
		const struct interval *interval = &charging->intervals.items[i];
		struct charge *charge = &attribution->charges.items[interval->charge];
		const struct gpu_cost *lost =
			&attribution->gpu_charges.pauses.items[interval->charge];
		uint64_t from = interval->start_ns > covered_ns ? interval->start_ns : covered_ns;
		uint64_t whole_ns = interval->end_ns > from ? interval->end_ns - from : 0;

		charge->cost_ns = 0;
		if (!whole_ns)
			continue;
		covered_ns = interval->end_ns;
		/* What of it fell into no step cost no step. */
		apply_one(track, interval, from,
			part_of(lost->lost_ns, 0, charge->overlap_ns, whole_ns), &at, cost, charge);
		stats_add(&sum_ns, charge->cost_ns);
		stats_add(&low_ns, part_of(lost->lost_low_ns, 0, charge->overlap_ns, whole_ns));
		stats_add(&high_ns, part_of(lost->lost_high_ns, 0, charge->overlap_ns, whole_ns));
	}
	cost->source = COST_MEASURED;
	cost->by_gpu = true;
	cost->untold = NULL;
	cost->cost =
		(struct cost_estimate){signed_of(sum_ns), signed_of(low_ns), signed_of(high_ns)};
}

void gpu_cost_apply(struct attribution *attribution, const struct charging *charging)
{
	for (uint32_t i = 0; i < attribution->tracks.count; i++) {
		struct range range = range_of(charging, i);

		if (step_track_confident(&attribution->steps->tracks.items[i]) &&
			is_told(attribution, charging, range, &attribution->tracks.items[i]))
			apply(attribution, charging, range, i);
	}
}
