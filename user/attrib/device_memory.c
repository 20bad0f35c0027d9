/* Memory of GPUs over time in; what steps had of it, what pauses changed, and what allocators cost steps, out. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "device_memory.h"
#include "gpu_memory.h"
#include "spans.h"
#include "stats.h"

int device_memory_note(const struct attribution *attribution, struct charging *charging,
	const struct pause *pause)
{
	const struct pause_class **added;

	if (!attribution->gpu)
		return 0;
	added = vec_add(&charging->gpu_full);
	if (!added)
		return -ENOMEM;
	*added = pause->class && pause->class->full > 0 && !pause->at_exit ? pause->class : NULL;
	return 0;
}

struct order {
	uint64_t start_ns;
	size_t index;
};

static int latest_first(const void *a, const void *b)
{
	const struct order *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? 1 : -1;
	return (one->index < other->index) - (one->index > other->index);
}

/* When the next pause of each process begins, from the last one on. */
static int set_changes(struct attribution *attribution, const struct charging *charging)
{
	size_t count = charging->gpu_pauses.count;
	_cleanup_free_ struct order *order = calloc(count + 1, sizeof(*order));
	struct u64map next = {};
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++) {
		order[i] = (struct order){charging->gpu_pauses.items[i].start_ns, i};
		if (!vec_add(&attribution->gpu_memory))
			r = -ENOMEM;
	}
	if (!r)
		qsort(order, count, sizeof(*order), latest_first);
	for (size_t i = 0; i < count && !r; i++) {
		const struct gpu_pause *pause = &charging->gpu_pauses.items[order[i].index];
		uint64_t *after = u64map_get(&next, pause->process);

		if (!pause->process || pause->elsewhere)
			continue;
		attribution->gpu_memory.items[order[i].index] =
			gpu_memory_change(attribution->gpu, pause, after ? *after : UINT64_MAX);
		if (after)
			*after = pause->start_ns;
		else
			r = u64map_put(&next, pause->process, pause->start_ns);
	}
	u64map_release(&next);
	return r;
}

/* What full collections freed, of those of which it is known. */
static int sum_full(struct attribution *attribution, const struct charging *charging)
{
	struct memory_returned *returned = &attribution->returned;
	size_t count = charging->gpu_full.count;
	_cleanup_free_ uint64_t *freed = calloc(count + 1, sizeof(*freed));

	if (!freed)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct gpu_memory_change *change = &attribution->gpu_memory.items[i];

		if (!charging->gpu_full.items[i] || !change->known)
			continue;
		returned->class = charging->gpu_full.items[i];
		freed[returned->pauses++] = change->bytes < 0 ? -(uint64_t)change->bytes : 0;
	}
	if (returned->pauses)
		returned->median_bytes = stats_median(freed, returned->pauses);
	return 0;
}

static void lay(const struct step_track *track, const struct spans *calls,
	const struct spans *pauses, struct track_cost *cost)
{
	size_t first = 0, paused = 0;

	for (size_t i = 0; i < track->steps.count; i++) {
		const struct step *step = &track->steps.items[i];

		while (first < calls->count && calls->items[first].end_ns <= step->start_ns)
			first++;
		for (size_t j = first; j < calls->count; j++) {
			const struct span *call = &calls->items[j];
			uint64_t from =
				call->start_ns > step->start_ns ? call->start_ns : step->start_ns;
			uint64_t to = call->end_ns < step->end_ns ? call->end_ns : step->end_ns;

			if (call->start_ns >= step->end_ns)
				break;
			if (to > from)
				stats_add(&cost->steps.items[i].retry_ns,
					to - from - spans_covered(pauses, &paused, from, to));
		}
		stats_add(&cost->retry_ns, cost->steps.items[i].retry_ns);
	}
}

/* Retries of the process, as stalls are laid: what pauses cover is theirs. */
static int lay_retries(struct attribution *attribution, const struct charging *charging,
	uint32_t index)
{
	const struct step_track *track = &attribution->steps->tracks.items[index];
	_cleanup_(spans_release) struct spans calls = {}, pauses = {};
	struct gpu_spans found = {};
	int r = gpu_retries_find(attribution->gpu, track->process, &found);

	for (size_t i = 0; i < found.items.count && !r; i++)
		r = span_add(&calls, found.items.items[i].start_ns, found.items.items[i].end_ns);
	vec_free(&found.items);
	if (r || !calls.count)
		return r;
	spans_unite(&calls);
	r = spans_of_track(charging, index, &pauses);
	if (!r)
		lay(track, &calls, &pauses, &attribution->tracks.items[index]);
	return r;
}

static void look(struct attribution *attribution)
{
	const struct gpu_timeline *gpu = attribution->gpu;

	for (size_t i = 0; i < gpu->devices.count; i++)
		attribution->has_gpu_memory |= gpu->devices.items[i].memory.count > 0;
	for (size_t i = 0; i < gpu->launchers.count; i++)
		attribution->has_gpu_allocations |= gpu->launchers.items[i].allocations.count > 0;
	for (size_t i = 0; i < gpu->drivers.count; i++) {
		const struct gpu_driver *driver = &gpu->drivers.items[i];

		attribution->has_gpu_memory |= driver->memory.count > 0;
		for (size_t j = 0; j < driver->calls.count; j++)
			attribution->has_gpu_allocations |=
				driver->calls.items[j].kind != GPU_DRIVER_WAIT;
	}
}

int device_memory_find(struct attribution *attribution, const struct charging *charging)
{
	int r;

	if (!attribution->gpu)
		return 0;
	look(attribution);
	r = set_changes(attribution, charging);
	if (!r)
		r = sum_full(attribution, charging);
	for (uint32_t i = 0; i < attribution->tracks.count && !r; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];
		struct track_cost *cost = &attribution->tracks.items[i];

		for (size_t j = 0; j < track->steps.count; j++)
			cost->steps.items[j].gpu_bytes_known = gpu_memory_at(attribution->gpu,
				track->process, track->steps.items[j].end_ns,
				&cost->steps.items[j].gpu_bytes);
		r = lay_retries(attribution, charging, i);
	}
	return r;
}
