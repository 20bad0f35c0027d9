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

/* What is said of a device as one record, and for how long one of its streams may have starved unseen. */
struct run {
	struct gc_gpu_record busy;
	uint64_t unsure_ns;
};

static bool is_prompt(const struct block *block)
{
	return block->launch_ns && block->start_ns - block->launch_ns <= RUN_PROMPT_NS;
}

/* As gpu_busy_join() in user/gpu/gpu.c does it. */
static void add_beside(struct device *device, struct run *run, const struct block *block)
{
	uint64_t end_ns = block->end_ns < device->run_end_ns ? block->end_ns : device->run_end_ns;

	if (end_ns <= block->start_ns + RUN_APART_NS)
		return;
	run->unsure_ns += end_ns - block->start_ns;
	if (is_prompt(block))
		run->unsure_ns += block->start_ns - device->run_ns;
}

/* Whether the device had nothing to do before @block, rather than something that had not begun yet. */
static bool starved(const struct device *device, const struct block *block)
{
	return block->start_ns > device->run_end_ns && block->launch_ns >= device->run_end_ns;
}

/* Behind a short gap in all that the device did. */
static void add_gap(const struct device *device, struct run *run, const struct block *block)
{
	uint64_t gap_ns = block->start_ns - device->run_end_ns;

	run->busy.value += gap_ns;
	if (starved(device, block))
		run->busy.starved_ns += gap_ns;
	else if (is_prompt(block))
		run->unsure_ns += gap_ns;
}

/* From @block on one stream may starve beside others: all had nothing to do before, for longer than their times are rounded. */
static void begin_anew(struct device *device, const struct block *block)
{
	uint64_t gap_ns = starved(device, block) ? RUN_APART_NS : RUN_GAP_NS;

	if (block->start_ns >= device->run_end_ns + gap_ns)
		device->run_ns = block->start_ns;
}

/* Another block, that overlaps what is there, or lies behind a short gap. What was said before may last longer than @run. */
static void extend_run(struct device *device, struct run *run, const struct block *block)
{
	if (block->start_ns > device->run_end_ns)
		add_gap(device, run, block);
	else
		add_beside(device, run, block);
	begin_anew(device, block);
	if (block->end_ns > run->busy.end_ns)
		run->busy.end_ns = block->end_ns;
	if (block->end_ns > device->run_end_ns)
		device->run_end_ns = block->end_ns;
}

/* What was said before may go on in it. */
static struct run begin_run(struct device *device, const struct block *block)
{
	begin_anew(device, block);
	if (block->start_ns < device->run_ns)
		device->run_ns = block->start_ns;
	if (block->end_ns > device->run_end_ns)
		device->run_end_ns = block->end_ns;
	return (struct run){
		.busy =
			{
				.kind = GC_GPU_BUSY,
				.device = device->id,
				.start_ns = block->start_ns,
				.end_ns = block->end_ns,
				.launch_ns = block->launch_ns,
				.previous_ns = block->previous_ns,
				.tid = block->tid,
			},
	};
}

static void say_run(struct collector *collector, struct run *run)
{
	run->busy.count = run->unsure_ns < UINT32_MAX ? (uint32_t)run->unsure_ns : UINT32_MAX;
	collector_put(collector, run->busy);
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
	struct run run = {0};
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
		if (i && block->start_ns < run.busy.end_ns + RUN_GAP_NS) {
			extend_run(device, &run, block);
			continue;
		}
		if (i)
			say_run(collector, &run);
		run = begin_run(device, block);
	}
	say_run(collector, &run);
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
							 .flags = GC_GPU_COPY,
							 .value = copy->end_ns});
	}
	generation->copies.count = 0;
}

/*
 * A call's own time says when it was made, not when its work would have run: as late as anything has, at most. What was
 * launched about then has come by now, if any has.
 */
static void say_lost(struct collector *collector, struct generation *generation)
{
	struct gc_gpu_record lost = {
		.kind = GC_GPU_LOST,
		.start_ns = generation->lost_ns,
		.end_ns = generation->lost_until_ns + collector->delay_ns,
		.count = generation->lost > UINT32_MAX ? UINT32_MAX : (uint32_t)generation->lost,
	};
	unsigned int i = 0;

	if (!generation->lost)
		return;
	generation->lost = 0;
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

		device->memory_said = 0;
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
	say_lost(collector, generation);
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
