/* When memory of devices was allocated and freed in; how much it is at a time, and what a pause changed, out. */
#include "gpu_memory.h"

/* Levels over time: of a device, or of all that a process got by calls of the driver. */
struct levels {
	const struct gpu_bytes *items;
	size_t count;
	bool total;		    /* there is none before the first */
	uint64_t from_ns, until_ns; /* in which they are known */
};

/* Sums that began with the records are wrong once some are missing. */
static struct levels of_device(const struct gpu_device *device)
{
	struct levels levels = {device->memory.items, device->memory.count, device->memory_total,
		device->seen_ns, device->until_ns};

	if (!levels.count)
		return levels;
	if (levels.total) {
		levels.from_ns = levels.items[0].time_ns;
		levels.until_ns = UINT64_MAX;
	} else if (device->unknown.count && device->unknown.items[0].start_ns < levels.until_ns) {
		levels.until_ns = device->unknown.items[0].start_ns;
	}
	return levels;
}

static struct levels of_driver(const struct gpu_driver *driver)
{
	return (struct levels){driver->memory.items, driver->memory.count, false,
		driver->attached_ns, driver->memory_until_ns};
}

static bool is_known(const struct levels *levels, uint64_t time_ns)
{
	return time_ns >= levels->from_ns && time_ns <= levels->until_ns;
}

/* The change that comes first after @time_ns: its index, or the count. */
static size_t change_after(const struct levels *levels, uint64_t time_ns)
{
	return vec_first(levels, time_ns, time_ns + 1);
}

/* What there is from the change before @after on. */
static int64_t bytes_before(const struct levels *levels, size_t after)
{
	return after ? levels->items[after - 1].bytes : 0;
}

/* The next of the levels of @process from *@at on; false: there is none. Empty ones are left out. */
static bool next_levels(const struct gpu_timeline *timeline, uint32_t process, size_t *at,
	struct levels *ret)
{
	for (; *at < timeline->devices.count + timeline->drivers.count; ++*at) {
		bool device = *at < timeline->devices.count;
		size_t driver = *at - timeline->devices.count;

		if ((device ? timeline->devices.items[*at].process
			    : timeline->drivers.items[driver].process) != process)
			continue;
		*ret = device ? of_device(&timeline->devices.items[*at])
			      : of_driver(&timeline->drivers.items[driver]);
		if (!ret->count)
			continue;
		++*at;
		return true;
	}
	return false;
}

bool gpu_memory_at(const struct gpu_timeline *timeline, uint32_t process, uint64_t time_ns,
	int64_t *ret_bytes)
{
	struct levels levels;
	int64_t bytes = 0;
	bool any = false;

	for (size_t at = 0; next_levels(timeline, process, &at, &levels); any = true)
		if (!is_known(&levels, time_ns) ||
			__builtin_add_overflow(bytes,
				bytes_before(&levels, change_after(&levels, time_ns)), &bytes))
			return false;
	if (any)
		*ret_bytes = bytes;
	return any;
}

static bool change_of(const struct levels *levels, uint64_t start_ns, uint64_t end_ns,
	uint64_t until_ns, int64_t *bytes)
{
	size_t from = change_after(levels, start_ns), to = change_after(levels, end_ns);
	int64_t change;

	while (to < levels->count && levels->items[to].time_ns < until_ns &&
		levels->items[to].bytes <= bytes_before(levels, to))
		to++;
	return is_known(levels, start_ns) && is_known(levels, end_ns) &&
	       !__builtin_sub_overflow(bytes_before(levels, to), bytes_before(levels, from),
		       &change) &&
	       !__builtin_add_overflow(*bytes, change, bytes);
}

struct gpu_memory_change gpu_memory_change(const struct gpu_timeline *timeline,
	const struct gpu_pause *pause, uint64_t next_ns)
{
	struct gpu_memory_change change = {};
	uint64_t until_ns = pause->end_ns + GPU_FREED_NS;
	struct levels levels;

	if (next_ns < until_ns)
		until_ns = next_ns;
	for (size_t at = 0; next_levels(timeline, pause->process, &at, &levels);) {
		change.known =
			change_of(&levels, pause->start_ns, pause->end_ns, until_ns, &change.bytes);
		if (!change.known)
			return (struct gpu_memory_change){};
	}
	return change;
}

bool gpu_memory_most(const struct gpu_device *device, int64_t *ret_bytes)
{
	struct levels levels = of_device(device);
	int64_t most = levels.total ? INT64_MIN : 0;

	for (size_t i = 0; i < levels.count && levels.items[i].time_ns <= levels.until_ns; i++)
		if (levels.items[i].bytes > most)
			most = levels.items[i].bytes;
	*ret_bytes = most;
	return levels.count > 0 && most != INT64_MIN;
}
