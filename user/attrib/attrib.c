/* Pauses and steps in, the attribution out: reads, charges, and sums up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attrib_priv.h"
#include "device_memory.h"
#include "gpu_cost.h"
#include "stats.h"
#include "cleanup.h"

static void charging_release(struct charging *charging)
{
	vec_free(&charging->intervals);
	free(charging->triggers);
	free(charging->sums);
	vec_free(&charging->explicit);
	u64map_release(&charging->callers);
	u64map_release(&charging->stalled);
	vec_free(&charging->stopped);
	vec_free(&charging->gpu_pauses);
	vec_free(&charging->gpu_full);
}

static void track_cost_release(struct track_cost *cost)
{
	vec_free(&cost->steps);
	vec_free(&cost->siblings);
}

void attrib_release(struct attribution *attribution)
{
	if (!attribution)
		return;
	for (size_t i = 0; i < attribution->tracks.count; i++)
		track_cost_release(&attribution->tracks.items[i]);
	vec_free(&attribution->tracks);
	vec_free(&attribution->charges);
	vec_free(&attribution->classes);
	gpu_charges_release(&attribution->gpu_charges);
	vec_free(&attribution->gpu_memory);
	vec_free(&attribution->triggers);
	vec_free(&attribution->requests);
	vec_free(&attribution->requests_untold);
	vec_free(&attribution->explicit_calls.callers);
	vec_free(&attribution->explicit_calls.sums);
	sums_release(&attribution->figures.durations);
	for (size_t i = 0; i < attribution->figures.facts.count; i++)
		sums_release(&attribution->figures.facts.items[i].values);
	vec_free(&attribution->figures.facts);
	vec_free(&attribution->figures.processes);
	vec_free(&attribution->figures.classes);
	vec_free(&attribution->figures.asked);
}

static int prepare_track(const struct step_track *track, struct track_cost *cost)
{
	size_t count = track->steps.count;

	if (count >= ATTRIB_NONE || vec_reserve((void **)&cost->steps.items, &cost->steps.capacity,
					    count, sizeof(struct step_cost)))
		return -ENOMEM;
	cost->steps.count = count;
	for (size_t i = 0; i < count; i++) {
		cost->steps.items[i] = (struct step_cost){.worst = ATTRIB_NONE};
		stats_add(&cost->time_ns, step_duration(&track->steps.items[i]));
	}
	return 0;
}

static int prepare(struct attribution *attribution, struct charging *charging)
{
	const struct steps *steps = attribution->steps;

	attribution->end_ns = attribution->recording->end_ns;
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct step_track *track = &steps->tracks.items[i];
		struct track_cost *cost = vec_add(&attribution->tracks);

		if (!cost || prepare_track(track, cost))
			return -ENOMEM;
		cost->gpu_device = ATTRIB_NONE;
		if (!attribution->recording->end_ns && track->steps.count &&
			track->steps.items[track->steps.count - 1].end_ns > attribution->end_ns)
			attribution->end_ns = track->steps.items[track->steps.count - 1].end_ns;
	}
	charging->triggers = attrib_triggers(attribution->stacks);
	charging->sums = calloc(attribution->stacks->frame_count + 1, sizeof(*charging->sums));
	return charging->triggers && charging->sums ? 0 : -ENOMEM;
}

static struct step_distribution distribution_of(const uint64_t *values, size_t count)
{
	struct step_distribution found = {
		.p50_ns = stats_quantile(values, count, 0.5),
		.p95_ns = stats_quantile(values, count, 0.95),
		.p99_ns = stats_quantile(values, count, 0.99),
		.max_ns = stats_quantile(values, count, 1),
	};
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	found.mean_ns = count ? stats_whole(sum / (double)count + 0.5) : 0;
	return found;
}

static int set_distributions(const struct step_track *track, struct track_cost *cost)
{
	size_t count = track->steps.count;
	_cleanup_free_ uint64_t *values = calloc(count + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		values[i] = step_duration(&track->steps.items[i]);
	cost->with = distribution_of(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] -= cost->steps.items[i].cost_ns;
	cost->without = distribution_of(values, count);
	return 0;
}

/* What is shown of it. */
static uint64_t known_ns(const struct trigger_cost *trigger)
{
	return trigger->untold ? trigger->pause_ns : trigger->cost_ns;
}

static int costliest_first(const void *a, const void *b)
{
	const struct trigger_cost *one = a, *other = b;

	if (known_ns(one) != known_ns(other))
		return known_ns(one) < known_ns(other) ? 1 : -1;
	if (one->pause_ns != other->pause_ns)
		return one->pause_ns < other->pause_ns ? 1 : -1;
	return (one->frame > other->frame) - (one->frame < other->frame);
}

static int sum_triggers(struct attribution *attribution, struct charging *charging)
{
	const struct stack_table *stacks = attribution->stacks;

	for (size_t i = 0; i < attribution->charges.count; i++) {
		const struct charge *charge = &attribution->charges.items[i];
		uint32_t frame =
			charge->stack < stacks->node_count ? charging->triggers[charge->stack] : 0;

		stats_add(&charging->sums[frame].cost_ns, charge->cost_ns);
		charging->sums[frame].untold |=
			charge->track != ATTRIB_NONE &&
			!attrib_told(&attribution->tracks.items[charge->track]);
	}
	for (uint32_t i = 0; i < stacks->frame_count || !i; i++) {
		struct trigger_cost *added;

		if (!charging->sums[i].pauses)
			continue;
		added = vec_add(&attribution->triggers);
		if (!added)
			return -ENOMEM;
		*added = charging->sums[i];
	}
	if (attribution->triggers.count)
		qsort(attribution->triggers.items, attribution->triggers.count,
			sizeof(struct trigger_cost), costliest_first);
	return 0;
}

/* What can be said once all pauses are there. */
static int conclude(struct attribution *attribution, struct charging *charging)
{
	int r;

	charge_overlap(attribution, charging);
	r = stalls_lay(attribution, charging);
	if (!r)
		r = siblings_lay(attribution, charging);
	if (!r)
		r = gpu_cost_find(attribution, charging);
	if (!r)
		r = device_memory_find(attribution, charging);
	for (size_t i = 0; i < attribution->tracks.count && !r; i++)
		r = lost_find(&attribution->steps->tracks.items[i], &attribution->tracks.items[i]);
	if (r)
		return r;
	charge_cost(attribution, charging);
	gpu_cost_apply(attribution, charging);
	for (size_t i = 0; i < attribution->tracks.count && !r; i++) {
		struct track_cost *cost = &attribution->tracks.items[i];

		r = set_distributions(&attribution->steps->tracks.items[i], cost);
		if (!r && step_track_confident(&attribution->steps->tracks.items[i]))
			r = pattern_find(attribution, i, &cost->slow);
	}
	if (!r)
		r = explicit_sum(attribution, charging);
	return r ? r : sum_triggers(attribution, charging);
}

int attrib_build(const struct recording *recording, const struct stack_table *stacks,
	const struct steps *steps, const struct gpu_timeline *gpu, attrib_next_fn next,
	void *source, struct attribution *ret, struct err *err)
{
	struct attribution built = {
		.recording = recording, .stacks = stacks, .steps = steps, .gpu = gpu};
	_cleanup_(charging_release) struct charging charging = {};
	int read = 0, r = prepare(&built, &charging);

	if (!r)
		read = charge_read(&built, &charging, next, source, err);
	if (!r && read != -ENOMEM)
		r = conclude(&built, &charging);
	if (r || read == -ENOMEM) {
		attrib_release(&built);
		return r ? err_set(err, ENOMEM, "out of memory while charging pauses to steps")
			 : read;
	}
	*ret = built;
	return read;
}

int attrib_overlaps(const struct recording *recording, const struct steps *steps,
	attrib_next_fn next, void *source, struct attribution *ret, struct err *err)
{
	static const struct stack_table no_stacks;
	struct attribution built = {.recording = recording, .stacks = &no_stacks, .steps = steps};
	_cleanup_(charging_release) struct charging charging = {};
	int r = prepare(&built, &charging);

	if (r)
		err_set(err, ENOMEM, "out of memory while charging pauses to steps");
	else
		r = charge_read(&built, &charging, next, source, err);
	if (r) {
		attrib_release(&built);
		return r;
	}
	charge_overlap(&built, &charging);
	*ret = built;
	return 0;
}

bool attrib_harmless(const struct track_cost *cost)
{
	double limit_ns = ATTRIB_HARMLESS * (double)cost->time_ns;
	uint64_t ns = cost->overlap_ns;

	stats_add(&ns, cost->stall_alone_ns);
	stats_add(&ns, cost->held_ns);
	if (!cost->slow.steps && (!ns || (double)ns < limit_ns))
		return true;
	return attrib_told(cost) && (cost->overlap_ns || cost->held_ns) &&
	       (double)cost->cost.high_ns + (double)cost->stall_alone_ns < limit_ns;
}

bool attrib_elsewhere_harmless(const struct attribution *attribution)
{
	return (double)attribution->elsewhere_ns <
	       ATTRIB_OUTSIDE * (double)(attribution->end_ns - attribution->recording->start_ns);
}

/* Of @process, whose track has @cost: pauses outside its steps, but not at its exit. */
static uint64_t outside_ns(const struct attribution *attribution, uint32_t process,
	const struct track_cost *cost)
{
	uint64_t within_ns =
		cost->pause_ns > cost->outside_ns ? cost->pause_ns - cost->outside_ns : 0;

	for (size_t i = 0; i < attribution->figures.processes.count; i++) {
		const struct process_pauses *one = &attribution->figures.processes.items[i];

		if (one->process == process)
			return one->pause_ns > within_ns ? one->pause_ns - within_ns : 0;
	}
	return 0;
}

bool attrib_speaks(const struct attribution *attribution, size_t index)
{
	const struct step_track *track = &attribution->steps->tracks.items[index];
	const struct track_cost *cost = &attribution->tracks.items[index];
	double traced_ns = (double)attrib_traced(attribution, track->process);
	uint64_t outside = outside_ns(attribution, track->process, cost);

	return step_track_confident(track) && (double)cost->time_ns >= ATTRIB_COVERS * traced_ns &&
	       (outside <= cost->overlap_ns || (double)outside < ATTRIB_OUTSIDE * traced_ns);
}

uint32_t attrib_speaker(const struct attribution *attribution, uint32_t process)
{
	for (uint32_t i = 0; i < attribution->tracks.count; i++)
		if (attribution->steps->tracks.items[i].process == process &&
			attrib_speaks(attribution, i))
			return i;
	return ATTRIB_NONE;
}

uint64_t attrib_traced(const struct attribution *attribution, uint32_t id)
{
	const struct process *process = recording_process(attribution->recording, id);
	uint64_t from = process ? recording_traced_from(attribution->recording, process)
				: attribution->recording->start_ns;
	uint64_t to = attribution->end_ns;

	if (process && process->exit_ns && process->exit_ns < to)
		to = process->exit_ns;
	return to > from ? to - from : 0;
}

const struct fact_figures *attrib_fact(const struct attribution *attribution, const char *key)
{
	for (size_t i = 0; i < attribution->figures.facts.count; i++)
		if (!strcmp(attribution->figures.facts.items[i].key, key))
			return &attribution->figures.facts.items[i];
	return NULL;
}

double attrib_pause_share(const struct attribution *attribution, uint32_t *ret_process)
{
	const struct pause_figures *figures = &attribution->figures;
	double most = 0;

	*ret_process = 0;
	for (size_t i = 0; i < figures->processes.count; i++) {
		const struct process_pauses *one = &figures->processes.items[i];
		uint64_t traced_ns = attrib_traced(attribution, one->process);
		double share = traced_ns ? (double)one->pause_ns / (double)traced_ns : 0;

		if (share < most && *ret_process)
			continue;
		most = share;
		*ret_process = one->process;
	}
	return most;
}
