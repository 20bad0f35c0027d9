/* Pauses, gaps and waits of one process in; all of them in the order of time out. */
#include <errno.h>
#include <stdlib.h>

#include "gpu_priv.h"

uint64_t gpu_dry_from(const struct gpu_device *device, size_t index)
{
	uint64_t from, to;

	if (index)
		return device->busy.items[index - 1].end_ns;
	return gpu_seen(device, &from, &to) ? from : 0;
}

bool gpu_queue_fills(const struct gpu_subject *subject)
{
	const struct gpu_timeline *timeline = subject->timeline;

	for (size_t i = 0; i < timeline->launchers.count; i++) {
		const struct gpu_launcher *launcher = &timeline->launchers.items[i];

		for (size_t j = 0;
			launcher->process == subject->process && j < launcher->waits.count; j++)
			if (launcher->waits.items[j].queue)
				return true;
	}
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct gpu_event *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return (one->index > other->index) - (one->index < other->index);
}

static int add_event(struct gpu_events *events, uint64_t time_ns, enum gpu_event_kind kind,
	size_t owner, size_t index)
{
	struct gpu_event *event = vec_add(&events->all);

	if (!event)
		return -ENOMEM;
	*event = (struct gpu_event){time_ns, kind, (uint32_t)owner, index};
	return 0;
}

static int add_lane(struct gpu_events *events, const struct gpu_device *device, size_t lane)
{
	int r = 0;

	for (size_t i = 0; i < device->busy.count && !r; i++) {
		uint64_t launch_ns = device->busy.items[i].launch_ns;
		uint64_t dry_ns = gpu_dry_from(device, i);

		r = add_event(events, launch_ns > dry_ns ? launch_ns : dry_ns, EVENT_GAP, lane, i);
	}
	for (size_t i = 0; i < device->unknown.count && !r; i++) {
		r = add_event(events, device->unknown.items[i].start_ns, EVENT_UNKNOWN, lane, i);
		if (!r)
			r = add_event(events, device->unknown.items[i].end_ns, EVENT_UNKNOWN, lane,
				i);
	}
	return r;
}

int gpu_events_make(const struct gpu_subject *subject, struct gpu_events *ret)
{
	const struct gpu_timeline *timeline = subject->timeline;
	int r = 0;

	for (size_t i = 0; i < subject->devices.count && !r; i++)
		r = add_lane(ret, &timeline->devices.items[subject->devices.items[i]], i);
	for (size_t i = 0; i < subject->own.count && !r; i++)
		r = add_event(ret, subject->pauses[subject->own.items[i]].start_ns, EVENT_PAUSE, 0,
			i);
	for (size_t i = 0; i < timeline->launchers.count && !r; i++) {
		const struct gpu_launcher *launcher = &timeline->launchers.items[i];

		for (size_t j = 0;
			launcher->process == subject->process && j < launcher->waits.count && !r;
			j++)
			if (launcher->waits.items[j].end_ns >= launcher->waits.items[j].start_ns)
				r = add_event(ret, launcher->waits.items[j].end_ns, EVENT_WAIT, i,
					j);
	}
	if (!r && ret->all.count)
		qsort(ret->all.items, ret->all.count, sizeof(struct gpu_event), by_time);
	return r;
}
