/* What was seen of devices in, in any order; a timeline of them, sorted and joined, out. */
#include <stdlib.h>

#include "gpu_priv.h"
#include "stats.h"

struct gpu_device *gpu_device(struct gpu_timeline *timeline, uint32_t process, uint32_t device)
{
	struct gpu_device *made;

	for (size_t i = 0; i < timeline->devices.count; i++) {
		struct gpu_device *known = &timeline->devices.items[i];

		if (known->process == process && known->device == device)
			return known;
	}
	made = vec_add(&timeline->devices);
	if (made) {
		made->process = process;
		made->device = device;
	}
	return made;
}

struct gpu_launcher *gpu_launcher(struct gpu_timeline *timeline, uint32_t process, uint32_t tid)
{
	struct gpu_launcher *made;

	for (size_t i = 0; i < timeline->launchers.count; i++) {
		struct gpu_launcher *known = &timeline->launchers.items[i];

		if (known->process == process && known->tid == tid)
			return known;
	}
	made = vec_add(&timeline->launchers);
	if (made) {
		made->process = process;
		made->tid = tid;
	}
	return made;
}

struct gpu_driver *gpu_driver(struct gpu_timeline *timeline, uint32_t process)
{
	struct gpu_driver *made;

	for (size_t i = 0; i < timeline->drivers.count; i++)
		if (timeline->drivers.items[i].process == process)
			return &timeline->drivers.items[i];
	made = vec_add(&timeline->drivers);
	if (made)
		made->process = process;
	return made;
}

/* By start; of those that start together the first launched is first, those without a known launch last. */
static int busy_order(const void *a, const void *b)
{
	const struct gpu_busy *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	if (one->launch_ns != other->launch_ns)
		return one->launch_ns - 1 < other->launch_ns - 1 ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	return (one->tid > other->tid) - (one->tid < other->tid);
}

int gpu_span_order(const void *a, const void *b)
{
	const struct gpu_span *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns > other->end_ns) - (one->end_ns < other->end_ns);
}

/* Mostly sorted already. */
static void sort(void *items, size_t count, size_t size, int (*order)(const void *, const void *))
{
	for (size_t i = 1; i < count; i++)
		if (order((char *)items + (i - 1) * size, (char *)items + i * size) > 0) {
			qsort(items, count, size, order);
			return;
		}
}

static int bytes_order(const void *a, const void *b)
{
	const struct gpu_bytes *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static int allocation_order(const void *a, const void *b)
{
	const struct gpu_allocation *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns > other->end_ns) - (one->end_ns < other->end_ns);
}

static int wait_order(const void *a, const void *b)
{
	const struct gpu_wait *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns > other->end_ns) - (one->end_ns < other->end_ns);
}

static int driver_call_order(const void *a, const void *b)
{
	const struct gpu_driver_call *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->tid > other->tid) - (one->tid < other->tid);
}

/* Whether nothing delayed @busy but its launch: its stream had nothing else to do. */
static bool is_prompt(const struct gpu_busy *busy)
{
	return busy->launch_ns && busy->start_ns - busy->launch_ns <= GPU_LAUNCH_NS;
}

/*
 * How long a stream may have starved while others worked: both work, or @next was late and its stream may have waited
 * for it as long as the others have worked. Where times are rounded, what follows on one stream may seem to begin a bit
 * before the end.
 */
static uint64_t unsure(const struct gpu_busy *joined, const struct gpu_busy *next)
{
	uint64_t end_ns = next->end_ns < joined->end_ns ? next->end_ns : joined->end_ns;
	uint64_t beside_ns;

	if (end_ns <= next->start_ns + GPU_GAP_NS)
		return 0;
	beside_ns = end_ns - next->start_ns;
	if (is_prompt(next))
		stats_add(&beside_ns, next->start_ns - joined->start_ns);
	return beside_ns;
}

bool gpu_busy_join(struct gpu_busy *joined, const struct gpu_busy *next)
{
	if (next->start_ns > joined->end_ns) {
		uint64_t gap_ns = next->start_ns - joined->end_ns;
		bool starved = next->launch_ns >= joined->end_ns;

		if (gap_ns >= (starved ? GPU_GAP_NS : GPU_IDLE_NS))
			return false;
		stats_add(&joined->gaps_ns, gap_ns);
		if (starved)
			stats_add(&joined->starved_ns, gap_ns);
		else if (is_prompt(next))
			stats_add(&joined->unsure_ns, gap_ns);
	}
	stats_add(&joined->unsure_ns, next->unsure_ns);
	stats_add(&joined->unsure_ns, unsure(joined, next));
	stats_add(&joined->gaps_ns, next->gaps_ns);
	stats_add(&joined->starved_ns, next->starved_ns);
	if (next->end_ns > joined->end_ns)
		joined->end_ns = next->end_ns;
	return true;
}

/* As gpu_busy_join(), but never across records that are missing. */
static bool join(const struct gpu_device *device, struct gpu_busy *joined,
	const struct gpu_busy *next)
{
	return (next->start_ns <= joined->end_ns ||
		       gpu_all_known(device, joined->end_ns, next->start_ns)) &&
	       gpu_busy_join(joined, next);
}

static void settle_busy(struct gpu_device *device)
{
	struct gpu_busy *items = device->busy.items;
	size_t kept = 0;

	sort(items, device->busy.count, sizeof(*items), busy_order);
	for (size_t i = 0; i < device->busy.count; i++)
		if (items[i].end_ns > items[i].start_ns &&
			(!kept || !join(device, &items[kept - 1], &items[i])))
			items[kept++] = items[i];
	device->busy.count = kept;
}

static void settle_unknown(struct gpu_device *device)
{
	struct gpu_span *items = device->unknown.items;
	size_t kept = 0;

	sort(items, device->unknown.count, sizeof(*items), gpu_span_order);
	for (size_t i = 0; i < device->unknown.count; i++) {
		struct gpu_span *last = kept ? &items[kept - 1] : NULL;

		if (items[i].end_ns <= items[i].start_ns)
			continue;
		if (last && (items[i].start_ns <= last->end_ns ||
				    items[i].start_ns - last->end_ns < GPU_IDLE_NS)) {
			if (items[i].end_ns > last->end_ns)
				last->end_ns = items[i].end_ns;
			continue;
		}
		items[kept++] = items[i];
	}
	device->unknown.count = kept;
}

/* Adds up what @driver's calls, in order, allocated and freed. Memory that is out ends it, as a size that is not known. */
static void settle_driver(struct gpu_driver *driver)
{
	int64_t bytes = 0;

	driver->memory.count = 0;
	driver->memory_until_ns = UINT64_MAX;
	for (size_t i = 0; i < driver->calls.count; i++) {
		const struct gpu_driver_call *call = &driver->calls.items[i];
		int64_t change = (int64_t)call->bytes;
		struct gpu_bytes *added;

		if (call->kind == GPU_DRIVER_WAIT)
			continue;
		added = call->bytes && call->bytes <= INT64_MAX ? vec_add(&driver->memory) : NULL;
		if (!added || __builtin_add_overflow(bytes,
				      call->kind == GPU_DRIVER_FREE ? -change : change, &bytes)) {
			driver->memory.count -= added != NULL;
			driver->memory_until_ns = call->start_ns;
			break;
		}
		*added = (struct gpu_bytes){call->end_ns, bytes};
	}
	if (!driver->memory.count)
		driver->memory_until_ns = 0;
	/* Calls of several threads may end in another order than they began. */
	for (size_t i = 1; i < driver->memory.count; i++)
		if (driver->memory.items[i].time_ns < driver->memory.items[i - 1].time_ns)
			driver->memory.items[i].time_ns = driver->memory.items[i - 1].time_ns;
}

void gpu_settle(struct gpu_timeline *timeline)
{
	for (size_t i = 0; i < timeline->devices.count; i++) {
		struct gpu_device *device = &timeline->devices.items[i];

		settle_unknown(device);
		settle_busy(device);
		sort(device->memory.items, device->memory.count, sizeof(struct gpu_bytes),
			bytes_order);
	}
	for (size_t i = 0; i < timeline->launchers.count; i++) {
		struct gpu_launcher *launcher = &timeline->launchers.items[i];

		sort(launcher->waits.items, launcher->waits.count, sizeof(struct gpu_wait),
			wait_order);
		sort(launcher->allocations.items, launcher->allocations.count,
			sizeof(struct gpu_allocation), allocation_order);
	}
	for (size_t i = 0; i < timeline->drivers.count; i++) {
		sort(timeline->drivers.items[i].calls.items, timeline->drivers.items[i].calls.count,
			sizeof(struct gpu_driver_call), driver_call_order);
		settle_driver(&timeline->drivers.items[i]);
	}
}

void gpu_release(struct gpu_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->devices.count; i++) {
		vec_free(&timeline->devices.items[i].busy);
		vec_free(&timeline->devices.items[i].unknown);
		vec_free(&timeline->devices.items[i].memory);
	}
	for (size_t i = 0; i < timeline->launchers.count; i++) {
		vec_free(&timeline->launchers.items[i].waits);
		vec_free(&timeline->launchers.items[i].allocations);
	}
	for (size_t i = 0; i < timeline->drivers.count; i++) {
		vec_free(&timeline->drivers.items[i].calls);
		vec_free(&timeline->drivers.items[i].memory);
	}
	vec_free(&timeline->devices);
	vec_free(&timeline->launchers);
	vec_free(&timeline->drivers);
}
