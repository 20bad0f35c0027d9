/* Busy intervals of a device in; its idle intervals, with the cause that the launches show, out. */
#include <errno.h>

#include "gpu_priv.h"
#include "stats.h"

bool gpu_seen(const struct gpu_device *device, uint64_t *ret_from, uint64_t *ret_to)
{
	size_t count = device->busy.count;
	uint64_t from = device->seen_ns, to = device->until_ns;

	if (count && (!to || device->busy.items[0].start_ns < from))
		from = device->busy.items[0].start_ns;
	if (count && device->busy.items[count - 1].end_ns > to)
		to = device->busy.items[count - 1].end_ns;
	*ret_from = from;
	*ret_to = to;
	return from < to;
}

size_t gpu_busy_from(const struct gpu_device *device, uint64_t time_ns)
{
	return vec_first(&device->busy, start_ns, time_ns);
}

/* A device on its way through the gaps between its busy intervals. */
struct gaps {
	const struct gpu_device *device;
	struct gpu_charges *charges;
	struct gpu_figures *figures;
	uint32_t index;
	size_t unknown; /* the first span that does not end before the gap */
};

/* @next: what was started at its end; NULL: nothing, or it is not known what. @last: the records end there. */
static int add_idle(struct gaps *gaps, uint64_t from, uint64_t to, const struct gpu_busy *next,
	bool last)
{
	struct gpu_figures *figures = gaps->figures;
	bool host = next ? gpu_starved(next, from) : last;
	struct gpu_idle *idle;

	if (to <= from)
		return 0;
	if (to - from < GPU_IDLE_NS) {
		stats_add(&figures->busy_ns, to - from);
		stats_add(&figures->gaps_ns, to - from);
		if (host && next)
			stats_add(&figures->starved_ns, to - from);
		return 0;
	}
	idle = vec_add(&gaps->charges->idles);
	if (!idle)
		return -ENOMEM;
	*idle = (struct gpu_idle){
		.start_ns = from,
		.end_ns = to,
		.device = gaps->index,
		.cause = host ? GPU_CAUSE_HOST : GPU_CAUSE_OTHER,
		.pause = GPU_NO_PAUSE,
	};
	stats_add(&figures->idle_ns, to - from);
	return 0;
}

/* Splits the gap [from, to) at spans whose records are missing. */
static int add_gap(struct gaps *gaps, uint64_t from, uint64_t to, const struct gpu_busy *next)
{
	const struct gpu_device *device = gaps->device;
	int r = 0;

	while (gaps->unknown < device->unknown.count && !r) {
		const struct gpu_span *span = &device->unknown.items[gaps->unknown];
		uint64_t start = span->start_ns > from ? span->start_ns : from;
		uint64_t end = span->end_ns < to ? span->end_ns : to;

		if (span->start_ns >= to)
			break;
		if (end > start) {
			r = add_idle(gaps, from, start, NULL, false);
			stats_add(&gaps->figures->unknown_ns, end - start);
			from = end;
		}
		if (span->end_ns > to)
			break;
		gaps->unknown++;
	}
	return r ? r : add_idle(gaps, from, to, next, !next);
}

int gpu_idle_find(const struct gpu_timeline *timeline, uint32_t index, struct gpu_charges *charges)
{
	const struct gpu_device *device = &timeline->devices.items[index];
	struct gpu_figures *figures = vec_add(&charges->devices);
	struct gaps gaps = {device, charges, figures, index, 0};
	uint64_t at, to;

	if (!figures)
		return -ENOMEM;
	if (!gpu_seen(device, &at, &to))
		return 0;
	for (size_t i = 0; i < device->busy.count; i++) {
		const struct gpu_busy *busy = &device->busy.items[i];

		if (add_gap(&gaps, at, busy->start_ns, busy))
			return -ENOMEM;
		stats_add(&figures->busy_ns, busy->end_ns - busy->start_ns);
		stats_add(&figures->gaps_ns, busy->gaps_ns);
		stats_add(&figures->starved_ns, busy->starved_ns);
		at = busy->end_ns;
	}
	if (add_gap(&gaps, at, to, NULL))
		return -ENOMEM;
	figures->seen_ns = figures->busy_ns;
	stats_add(&figures->seen_ns, figures->idle_ns);
	return 0;
}

size_t gpu_idles_of(const struct gpu_charges *charges, uint32_t index)
{
	return vec_first(&charges->idles, device, index);
}

bool gpu_all_known(const struct gpu_device *device, uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = device->unknown.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (device->unknown.items[middle].end_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == device->unknown.count || device->unknown.items[low].start_ns >= to_ns;
}

/* How much of [@from, @to) lies in [@start, @end). */
static uint64_t common(uint64_t from, uint64_t to, uint64_t start, uint64_t end)
{
	uint64_t first = from > start ? from : start, last = to < end ? to : end;

	return last > first ? last - first : 0;
}

struct gpu_share gpu_idle_within(const struct gpu_timeline *timeline,
	const struct gpu_charges *charges, uint32_t index, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpu_device *device = &timeline->devices.items[index];
	size_t low = gpu_idles_of(charges, index), last = gpu_idles_of(charges, index + 1);
	size_t high = last;
	struct gpu_share share = {};
	uint64_t from, to;

	if (!gpu_seen(device, &from, &to) || start_ns < from || end_ns > to ||
		!gpu_all_known(device, start_ns, end_ns))
		return share;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (charges->idles.items[middle].end_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	share.known = true;
	for (; low < last && charges->idles.items[low].start_ns < end_ns; low++) {
		const struct gpu_idle *idle = &charges->idles.items[low];

		share.idle_ns += common(start_ns, end_ns, idle->start_ns, idle->end_ns);
		/* What is charged is its end. */
		share.pause_ns +=
			common(start_ns, end_ns, idle->end_ns - idle->pause_ns, idle->end_ns);
	}
	return share;
}
