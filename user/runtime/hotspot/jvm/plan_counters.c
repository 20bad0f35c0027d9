/*
 * Which of a JVM's hsperf counters are copied at each safepoint. In: the block of counters. Out: a
 * few windows over it, and where in their copy each counter lies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "perfdata.h"
#include "plan_priv.h"

#define BLOCK_MAX (2u << 20) /* HotSpot's own limit of PerfDataMemorySize */
#define TEXT_MAX  96	     /* of a text that is copied; HotSpot's have 81 */

DEFINE_CLEANUP(struct perfdata *, perfdata_free);

/* In the order in which they are given up where there is no room for all, the last one first. */
static const struct {
	const char *name;
	char type;
} counters[JVM_COUNTERS] = {
	[JVM_SAFEPOINTS] = {"sun.rt.safepoints", 'J'},
	[JVM_SAFEPOINT_TIME] = {"sun.rt.safepointTime", 'J'},
	[JVM_SYNC_TIME] = {"sun.rt.safepointSyncTime", 'J'},
	[JVM_CAUSE] = {"sun.gc.cause", 'B'},
	[JVM_LAST_CAUSE] = {"sun.gc.lastCause", 'B'},
	[JVM_COLLECTOR_0] = {"sun.gc.collector.0.invocations", 'J'},
	[JVM_COLLECTOR_1] = {"sun.gc.collector.1.invocations", 'J'},
	[JVM_COLLECTOR_2] = {"sun.gc.collector.2.invocations", 'J'},
	[JVM_COLLECTOR_3] = {"sun.gc.collector.3.invocations", 'J'},
	[JVM_UNLOADED] = {"java.cls.unloadedClasses", 'J'},
	[JVM_SHARED_UNLOADED] = {"java.cls.sharedUnloadedClasses", 'J'},
};

/* A stretch of the block that is copied; counters lie in it. */
struct window {
	uint32_t start, end;
};

/* Windows in the order of their addresses. */
struct windows {
	struct window items[JVM_COUNTERS];
	size_t count;
};

static size_t bytes_of(const struct windows *windows)
{
	size_t bytes = 0;

	for (size_t i = 0; i < windows->count; i++)
		bytes += (windows->items[i].end - windows->items[i].start + 7) & ~7u;
	return bytes;
}

static void insert(struct windows *windows, struct window window)
{
	size_t i = windows->count++;

	for (; i && windows->items[i - 1].start > window.start; i--)
		windows->items[i] = windows->items[i - 1];
	windows->items[i] = window;
}

/* Joins the two neighbours with the smallest gap, as fewer and larger reads cost less, if there is
 * room. */
static bool join(struct windows *windows)
{
	size_t best = 0, gap = SIZE_MAX;
	struct windows joined;

	for (size_t i = 0; i + 1 < windows->count; i++) {
		uint32_t end = windows->items[i].end, start = windows->items[i + 1].start;
		size_t between = start > end ? start - end : 0;

		if (between >= gap)
			continue;
		best = i;
		gap = between;
	}
	if (gap == SIZE_MAX)
		return false;
	joined = *windows;
	if (joined.items[best].end < joined.items[best + 1].end)
		joined.items[best].end = joined.items[best + 1].end;
	joined.count--;
	memmove(&joined.items[best + 1], &joined.items[best + 2],
		(joined.count - best - 1) * sizeof(*joined.items));
	if (bytes_of(&joined) > GC_PERF_BYTES)
		return false;
	*windows = joined;
	return true;
}

static void cover(const struct perfdata_entry *const entries[JVM_COUNTERS], size_t wanted,
	struct windows *ret)
{
	*ret = (struct windows){0};
	for (size_t i = 0; i < wanted; i++)
		if (entries[i])
			insert(ret,
				(struct window){entries[i]->offset & ~7u,
					entries[i]->offset + (entries[i]->bytes > TEXT_MAX
									     ? TEXT_MAX
									     : entries[i]->bytes)});
	while (join(ret))
		;
}

static bool holds(const struct window *window, const struct perfdata_entry *entry)
{
	return entry && entry->offset >= window->start && entry->offset < window->end;
}

/* A window with the books of safepoints goes first: it is all that is sent of a short one. */
static bool books_first(const struct perfdata_entry *const entries[JVM_COUNTERS],
	struct windows *windows)
{
	for (size_t w = 0; w < windows->count; w++) {
		const struct window window = windows->items[w];

		if (!holds(&window, entries[JVM_SAFEPOINTS]) ||
			!holds(&window, entries[JVM_SAFEPOINT_TIME]) ||
			!holds(&window, entries[JVM_SYNC_TIME]))
			continue;
		memmove(&windows->items[1], windows->items, w * sizeof(window));
		windows->items[0] = window;
		return true;
	}
	return false;
}

/* Writes the windows and the counters' places in their copy into the plan. */
static void place(const struct perfdata_entry *const entries[JVM_COUNTERS], size_t wanted,
	const struct windows *windows, struct jvm_plan *plan)
{
	uint32_t offset = 0;

	for (size_t w = 0; w < windows->count; w++) {
		const struct window *window = &windows->items[w];

		plan->wire.windows[w] = (struct gc_jvm_window){
			plan->perf_address + window->start, window->end - window->start, offset};
		for (size_t i = 0; i < wanted; i++) {
			const struct perfdata_entry *entry = entries[i];

			if (!holds(window, entry))
				continue;
			plan->counters[i].offset =
				(uint16_t)(offset + entry->offset - window->start);
			plan->counters[i].bytes =
				(uint16_t)(entry->bytes > TEXT_MAX ? TEXT_MAX : entry->bytes);
		}
		offset += (window->end - window->start + 7) & ~7u;
	}
	plan->wire.window_count = (uint32_t)windows->count;
}

static void plan_entries(const struct jvm *jvm, const struct perfdata *perf, struct jvm_plan *plan)
{
	const struct perfdata_entry *entries[JVM_COUNTERS], *entry;
	uint64_t *const addresses[] = {[JVM_SAFEPOINTS] = &plan->safepoints_address,
		[JVM_SAFEPOINT_TIME] = &plan->safepoint_time_address,
		[JVM_SYNC_TIME] = &plan->sync_time_address};
	size_t wanted = JVM_COUNTERS;
	struct windows windows;

	for (size_t i = 0; i < JVM_COUNTERS; i++) {
		entries[i] = perfdata_find(perf, counters[i].name);
		if (entries[i] && entries[i]->type != counters[i].type)
			entries[i] = NULL;
	}
	do
		cover(entries, wanted, &windows);
	while ((windows.count > GC_PERF_WINDOWS || bytes_of(&windows) > GC_PERF_BYTES) && wanted--);
	plan->wire.short_windows = books_first(entries, &windows) ? 1 : 0;
	place(entries, wanted, &windows, plan);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		if (entries[i])
			*addresses[i] = plan->perf_address + entries[i]->offset;
	for (size_t i = 0; i < GC_COLLECTORS; i++)
		if (entries[JVM_COLLECTOR_0 + i])
			plan->wire.collections[i] =
				plan->perf_address + entries[JVM_COLLECTOR_0 + i]->offset;
	for (size_t i = 0; i < ARRAY_SIZE(plan->wire.unloaded); i++)
		if (entries[JVM_UNLOADED + i])
			plan->wire.unloaded[i] =
				plan->perf_address + entries[JVM_UNLOADED + i]->offset;
	entry = perfdata_find(perf, "sun.os.hrt.frequency");
	if (entry && entry->type == 'J')
		plan->ticks_per_second =
			jvm_read_u64(jvm, plan->perf_address + entry->offset, NULL);
}

int plan_counters(const struct jvm *jvm, struct jvm_plan *plan)
{
	_cleanup_(cleanup_perfdata_free) struct perfdata *perf = NULL;
	_cleanup_free_ void *bytes = NULL;
	uint64_t start_at, end_at, start, end;
	bool failed = false, kept = true;
	int r;

	if (jvm_static(jvm, "PerfMemory", "_start", &start_at) ||
		jvm_static(jvm, "PerfMemory", "_end", &end_at)) {
		plan_lacks(plan, "hsperf counters (not where they are expected)");
		return 0;
	}
	(void)jvm_flag(jvm, "UsePerfData", &kept);
	if (!kept) {
		plan_lacks(plan, "hsperf counters (it runs with -XX:-UsePerfData)");
		return 0;
	}
	start = jvm_read_u64(jvm, start_at, &failed);
	end = jvm_read_u64(jvm, end_at, &failed);
	if (failed || !start || !end)
		return -EAGAIN;
	if (end < start || end - start > BLOCK_MAX) {
		plan_lacks(plan, "hsperf counters (they make no sense)");
		return 0;
	}
	bytes = malloc(end - start + 1);
	if (!bytes)
		return -ENOMEM;
	if (jvm_read(jvm, start, bytes, end - start))
		return -EAGAIN;
	r = perfdata_parse(bytes, end - start, &perf, NULL);
	if (r == -EBADMSG) {
		plan_lacks(plan, "hsperf counters (they make no sense)");
		return 0;
	}
	if (r)
		return r;
	plan->perf_address = start;
	plan_entries(jvm, perf, plan);
	/* 26 and 27 call the block accessible before its last counters are in it. */
	return plan->ticks_per_second && plan->safepoints_address ? 0 : -EAGAIN;
}
