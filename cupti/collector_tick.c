/* What the collector says, ten times a second: runs and waits, then what is missing, then up to when that is all. */
#include "collector.h"

#include <string.h>

#define SAY_LAUNCHERS 10 /* ticks */

/* The launch's slot knows what came late; if it was taken since, the block knows what there was. */
static void look_up(const struct collector *collector, struct block *block)
{
	const struct launch *launch = launches_find(&collector->launches, block->correlation);

	if (!launch)
		return;
	block->launch_ns = launch->start_ns;
	block->previous_ns = launch->previous_ns;
	block->tid = launch->tid;
}

/* Another block, behind a short gap: the device starved in it if the work was not there yet when the gap began. */
static void extend_run(struct gc_gpu_record *busy, const struct block *block)
{
	uint64_t gap_ns = block->start_ns - busy->end_ns;

	busy->value += gap_ns;
	if (block->launch_ns >= busy->end_ns)
		busy->starved_ns += gap_ns;
	busy->end_ns = block->end_ns;
}

/*
 * Those of @runs that begin before @limit_ns, before which nothing can come any more: so each gap is said once, as it is. The
 * others go into @later. Returns how many are to be said.
 */
static size_t hold_back(struct collector *collector, struct runs *runs, uint64_t limit_ns,
	struct runs *later)
{
	size_t count;

	runs_settle(runs);
	count = runs->blocks.count;
	while (count && runs->blocks.items[count - 1].start_ns >= limit_ns)
		count--;
	for (size_t i = count; i < runs->blocks.count; i++)
		if (!list_add(&later->blocks, runs->blocks.items[i]))
			collector_lost(collector, 1);
	later->unordered |= count < runs->blocks.count;
	return count;
}

static void say_runs(struct collector *collector, unsigned int index, struct runs *runs,
	uint64_t limit_ns)
{
	struct device *device = &collector->devices[index];
	struct gc_gpu_record busy = {0};
	size_t count = hold_back(collector, runs, limit_ns, &collector->fresh->runs[index]);

	runs->blocks.count = runs->matched = 0;
	if (!count)
		return;
	if (!device->begin_ns) {
		device->begin_ns = runs->blocks.items[0].start_ns;
		collector_put(collector, (struct gc_gpu_record){.kind = GC_GPU_BEGIN,
						 .device = device->id,
						 .start_ns = device->begin_ns});
	}
	for (size_t i = 0; i < count; i++) {
		struct block *block = &runs->blocks.items[i];

		look_up(collector, block);
		if (busy.kind && block->start_ns - busy.end_ns < RUN_GAP_NS) {
			extend_run(&busy, block);
			continue;
		}
		if (busy.kind)
			collector_put(collector, busy);
		busy = (struct gc_gpu_record){
			.kind = GC_GPU_BUSY,
			.device = device->id,
			.start_ns = block->start_ns,
			.end_ns = block->end_ns,
			.launch_ns = block->launch_ns,
			.previous_ns = block->previous_ns,
			.tid = block->tid,
		};
	}
	collector_put(collector, busy);
}

static void say_copies(struct collector *collector, struct generation *generation)
{
	for (size_t i = 0; i < generation->copies.count; i++) {
		const struct copy *copy = &generation->copies.items[i];
		const struct launch *call = launches_find(&collector->launches, copy->correlation);

		if (call && call->end_ns >= copy->end_ns)
			collector_put(collector, (struct gc_gpu_record){.kind = GC_GPU_WAIT,
							 .device = copy->device,
							 .start_ns = call->start_ns,
							 .end_ns = call->end_ns,
							 .tid = call->tid,
							 .value = copy->end_ns});
	}
	generation->copies.count = 0;
}

/* A call's own time says when it was made, not when its work would have run: as late as anything has, at most. */
static void say_lost(struct collector *collector)
{
	struct gc_gpu_record lost = {
		.kind = GC_GPU_LOST,
		.start_ns = collector->lost_ns,
		.end_ns = clock_now() + collector->delay_ns,
		.count = collector->lost > UINT32_MAX ? UINT32_MAX : (uint32_t)collector->lost,
	};
	unsigned int i = 0;

	if (!collector->lost)
		return;
	collector->lost = 0;
	do {
		lost.device = collector->devices[i].id;
		collector_put(collector, lost);
		lost.count = 0; /* once */
	} while (++i < collector->device_count);
}

static void say_launchers(struct collector *collector)
{
	for (size_t i = 0; i < collector->launches.launchers.count; i++) {
		struct launcher *launcher = collector->launches.launchers.items[i];

		if (launcher->said == launcher->launches)
			continue;
		launcher->said = launcher->launches;
		collector_put(collector, (struct gc_gpu_record){.kind = GC_GPU_LAUNCHER,
						 .tid = launcher->tid,
						 .count = (uint32_t)launcher->launches,
						 .value = launcher_gap_ns(launcher)});
	}
}

static void say_memory(struct collector *collector)
{
	for (unsigned int i = 0; i < collector->device_count; i++) {
		struct device *device = &collector->devices[i];

		if (!device->memory.kind)
			continue;
		collector_put(collector, device->memory);
		device->memory_ns = device->memory.start_ns;
		device->memory.kind = 0;
	}
}

/* The first time, and when it has grown by a tenth. */
static void say_clock(struct collector *collector)
{
	uint64_t error_ns = collector->clock.error_ns;

	if (collector->clock_said_ns &&
		error_ns + 1 <= collector->clock_said_ns + collector->clock_said_ns / 10)
		return;
	collector->clock_said_ns = error_ns + 1;
	collector_put(collector, (struct gc_gpu_record){.kind = GC_GPU_CLOCK, .value = error_ns});
}

static void say_complete(struct collector *collector, uint64_t complete_ns)
{
	for (unsigned int i = 0; i < collector->device_count; i++) {
		struct device *device = &collector->devices[i];

		if (!device->begin_ns || complete_ns <= device->begin_ns ||
			complete_ns <= device->until_ns)
			continue;
		device->until_ns = complete_ns;
		collector_put(collector, (struct gc_gpu_record){.kind = GC_GPU_BEGIN,
						 .device = device->id,
						 .start_ns = device->begin_ns,
						 .end_ns = complete_ns});
	}
}

/* The latest canary that has come with all buffers before its own: what had begun before it has come, too. */
static void complete(struct collector *collector, uint64_t oldest)
{
	struct canary *canaries = collector->canaries;
	unsigned int done = 0;

	for (unsigned int i = 0; i < collector->canary_count; i++)
		if (canaries[i].buffer && canaries[i].buffer < oldest)
			done = i + 1;
	if (!done)
		return;
	collector->complete_ns = canaries[done - 1].before_ns;
	collector->canary_count -= done;
	memmove(canaries, canaries + done, sizeof(*canaries) * collector->canary_count);
}

static void say_generation(struct collector *collector, struct generation *generation, bool last)
{
	for (unsigned int i = 0; i < collector->device_count; i++)
		say_runs(collector, i, &generation->runs[i],
			last ? UINT64_MAX : generation->complete_ns);
	say_copies(collector, generation);
	say_lost(collector);
	say_complete(collector, generation->complete_ns);
}

void collector_tick(struct collector *collector, uint64_t oldest, bool last)
{
	struct generation *ready = collector->ready;

	complete(collector, oldest);
	collector->fresh->complete_ns = collector->complete_ns;
	say_memory(collector);
	if (last || collector->ticks++ % SAY_LAUNCHERS == 0)
		say_launchers(collector);
	say_generation(collector, ready, false);
	if (last)
		say_generation(collector, collector->fresh, true);
	say_clock(collector);
	collector->ready = collector->fresh;
	collector->fresh = ready;
}
