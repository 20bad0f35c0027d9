#include "collector.h"

#include <cupti.h>
#include <errno.h>
#include <string.h>

#define SAY_MEMORY    1000	 /* sums of a device in a tick; of more than that … */
#define SAY_MEMORY_NS 1000000	 /* … one a millisecond */
#define MATCH_AGAIN   1024	 /* blocks */
#define NO_MEMORY     2		 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
#define NO_DEVICE     UINT32_MAX /* a call's record does not say which one it is about */
#define LIST_MAX                                                                                   \
	1000000 /* what waits for a tick; no program makes as many runs or waits in 0.1 s */

static uint32_t u32_at(const void *record, uint16_t place)
{
	uint32_t value;

	memcpy(&value, (const char *)record + place, sizeof(value));
	return value;
}

static uint64_t u64_at(const void *record, uint16_t place)
{
	uint64_t value;

	memcpy(&value, (const char *)record + place, sizeof(value));
	return value;
}

int collector_init(struct collector *collector, const struct layout *layout, bool same_clock)
{
	*collector = (struct collector){.layout = layout, .clock.same = same_clock};
	collector->fresh = &collector->generations[0];
	collector->ready = &collector->generations[1];
	collector->checked_ns = collector->canary_ns = clock_now();
	return launches_init(&collector->launches);
}

static void release_generation(struct generation *generation)
{
	for (unsigned int i = 0; i < COLLECTOR_DEVICES; i++)
		list_free(&generation->runs[i].blocks);
	list_free(&generation->copies);
}

void collector_release(struct collector *collector)
{
	release_generation(&collector->generations[0]);
	release_generation(&collector->generations[1]);
	list_free(&collector->out);
	launches_release(&collector->launches);
	*collector = (struct collector){0};
}

void collector_lost(struct collector *collector, uint64_t count)
{
	struct generation *fresh = collector->fresh;

	if (!fresh->lost)
		fresh->lost_ns = collector->checked_ns;
	fresh->lost += count;
	fresh->lost_until_ns = clock_now();
}

void collector_late(struct collector *collector, uint64_t requested_ns)
{
	collector_lost(collector, 1);
	if (requested_ns < collector->fresh->lost_ns)
		collector->fresh->lost_ns = requested_ns;
}

bool collector_alive(const struct collector *collector, uint64_t late_ns)
{
	return clock_now() < collector->canary_ns + late_ns;
}

void collector_checked(struct collector *collector, const struct check *check)
{
	if (check->missing)
		collector_lost(collector, check->missing);
	if (check->missing && check->since_ns < collector->fresh->lost_ns)
		collector->fresh->lost_ns = check->since_ns;
	collector->checked_ns = check->before_ns;
}

void collector_put(struct collector *collector, struct gc_gpu_record record)
{
	if (collector->out.count >= LIST_MAX || !list_add(&collector->out, record))
		collector_lost(collector, 1);
}

/* The place of device @id in .devices; COLLECTOR_DEVICES: there are too many. */
static unsigned int device_of(struct collector *collector, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < collector->device_count; i++)
		if (collector->devices[i].id == id)
			return i;
	if (i < COLLECTOR_DEVICES)
		collector->devices[collector->device_count++] = (struct device){.id = id};
	return i;
}

static void note_skew(struct collector *collector, uint64_t skew_ns)
{
	if (skew_ns > collector->clock.error_ns)
		collector->clock.error_ns = skew_ns;
}

/* Whether all activities of @device so far, and one on @stream, are of one. */
static bool on_one_stream(struct device *device, uint32_t stream)
{
	if (!device->stream)
		device->stream = stream;
	device->streams |= device->stream != stream;
	return !device->streams;
}

static void take_activity(struct collector *collector, const void *record,
	const struct activity_place *place, bool copies)
{
	uint64_t start_ns = u64_at(record, place->start), end_ns = u64_at(record, place->end);
	uint32_t correlation = u32_at(record, place->correlation);
	unsigned int device = device_of(collector, u32_at(record, place->device));
	const struct launch *launch = launches_find(&collector->launches, correlation);

	/* A forced flush also returns what has not ended, or whose times have not come from the device. */
	if (!start_ns || !end_ns || end_ns < start_ns || device == COLLECTOR_DEVICES) {
		collector_lost(collector, 1);
		if (launch && launch->start_ns < collector->fresh->lost_ns)
			collector->fresh->lost_ns = launch->start_ns;
		return;
	}
	start_ns = clock_ours(&collector->clock, start_ns);
	end_ns = clock_ours(&collector->clock, end_ns);
	if (collector->fresh->runs[device].blocks.count >= LIST_MAX ||
		runs_add(&collector->fresh->runs[device], start_ns, end_ns, correlation,
			on_one_stream(&collector->devices[device], u32_at(record, place->stream))))
		collector_lost(collector, 1);
	if (copies && !list_add(&collector->fresh->copies,
			      ((struct copy){end_ns, correlation, collector->devices[device].id})))
		collector_lost(collector, 1);
}

/*
 * The canary with these times, of which those before may be late or lost: the one during which the call was made, however
 * long that took to begin, or, where clocks differ, the nearest. NULL: there are none.
 */
static struct canary *canary_of(struct collector *collector, uint64_t start_ns, uint64_t end_ns)
{
	struct canary *best = NULL;
	uint64_t nearest = UINT64_MAX;

	for (unsigned int i = 0; i < collector->canary_count; i++) {
		struct canary *canary = &collector->canaries[i];
		uint64_t far = start_ns > canary->before_ns ? start_ns - canary->before_ns
							    : canary->before_ns - start_ns;

		if (canary->before_ns <= start_ns && end_ns <= canary->after_ns)
			return canary;
		if (far < nearest) {
			nearest = far;
			best = canary;
		}
	}
	return best;
}

static void take_own(struct collector *collector, uint64_t start_ns, uint64_t end_ns,
	uint64_t buffer)
{
	struct canary *best = canary_of(collector, start_ns, end_ns);

	if (!best)
		return;
	best->buffer = buffer;
	if (best->before_ns > collector->canary_ns)
		collector->canary_ns = best->before_ns;
	if (start_ns < best->before_ns)
		note_skew(collector, best->before_ns - start_ns);
	if (end_ns > best->after_ns)
		note_skew(collector, end_ns - best->after_ns);
}

static void take_call(struct collector *collector, const void *record, const struct call *calls,
	size_t count, uint64_t buffer)
{
	const struct layout *layout = collector->layout;
	uint32_t does = layout_call(calls, count, u32_at(record, layout->api.call));
	uint32_t tid = u32_at(record, layout->api.thread);
	uint32_t result = u32_at(record, layout->api.result);
	struct gc_gpu_record known = {.device = NO_DEVICE, .tid = tid};

	if (!does)
		return;
	known.start_ns = clock_ours(&collector->clock, u64_at(record, layout->api.start));
	known.end_ns = clock_ours(&collector->clock, u64_at(record, layout->api.end));
	if (does & CALL_OWN && tid == collector->own_tid)
		take_own(collector, known.start_ns, known.end_ns, buffer);
	if (does & (CALL_LAUNCHES | CALL_COPIES) && !result)
		launches_add(&collector->launches, u32_at(record, layout->api.correlation), tid,
			known.start_ns, known.end_ns);
	known.kind = does & CALL_WAITS ? GC_GPU_WAIT : GC_GPU_ALLOCATE;
	if (does & CALL_FREES)
		known.flags |= GC_GPU_FREES;
	if (does & CALL_ALLOCATES && result == NO_MEMORY)
		known.flags |= GC_GPU_FAILED;
	if (does & (CALL_WAITS | CALL_ALLOCATES))
		collector_put(collector, known);
}

static void take_memory(struct collector *collector, const void *record)
{
	const struct layout *layout = collector->layout;
	uint32_t operation = u32_at(record, layout->memory.operation);
	uint32_t kind = u32_at(record, layout->memory.kind);
	unsigned int index = device_of(collector, u32_at(record, layout->memory.device));
	int64_t bytes = (int64_t)u64_at(record, layout->memory.bytes);
	uint64_t time_ns = clock_ours(&collector->clock, u64_at(record, layout->memory.time));
	struct device *device = &collector->devices[index];

	if (index == COLLECTOR_DEVICES || (kind != CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
						  kind != CUPTI_ACTIVITY_MEMORY_KIND_ARRAY))
		return;
	if (operation != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
		operation != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
		return;
	/* What has lasted for a millisecond is said as it was. */
	if (device->memory.kind && time_ns >= device->memory.start_ns + SAY_MEMORY_NS) {
		collector_put(collector, device->memory);
		device->memory_ns = device->memory.start_ns;
	}
	device->allocated +=
		operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION ? bytes : -bytes;
	device->memory = (struct gc_gpu_record){.kind = GC_GPU_MEMORY,
		.device = device->id,
		.start_ns = time_ns,
		.value = (uint64_t)device->allocated};
	if (device->memory_said >= SAY_MEMORY && time_ns < device->memory_ns + SAY_MEMORY_NS)
		return;
	device->memory_said++;
	collector_put(collector, device->memory);
	device->memory_ns = time_ns;
	device->memory.kind = 0;
}

static void take_device(struct collector *collector, const void *record)
{
	const struct layout *layout = collector->layout;
	struct gc_gpu_record known = {
		.kind = GC_GPU_DEVICE,
		.device = u32_at(record, layout->device.id),
		.value = u64_at(record, layout->device.memory),
	};
	const char *name = (const char *)(uintptr_t)u64_at(record, layout->device.name);

	if (name)
		strncpy(known.name, name, sizeof(known.name));
	collector_put(collector, known);
}

void collector_record(struct collector *collector, const void *record, uint64_t buffer)
{
	const struct layout *layout = collector->layout;

	switch (((const CUpti_Activity *)record)->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		take_activity(collector, record, &layout->kernel, false);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		take_activity(collector, record, &layout->copy, true);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		take_activity(collector, record, &layout->peer_copy, true);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		take_activity(collector, record, &layout->set, false);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		take_activity(collector, record, &layout->graph, false);
		break;
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		take_call(collector, record, layout->runtime, layout->runtime_count, buffer);
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
		take_call(collector, record, layout->driver, layout->driver_count, buffer);
		break;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		take_memory(collector, record);
		break;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		take_device(collector, record);
		break;
	default:
		break;
	}
}

/* The launch of @block has come: what is known of it by now stays, though others may take its slot. */
static void match(struct collector *collector, struct block *block)
{
	const struct launch *launch = launches_find(&collector->launches, block->correlation);

	if (!launch)
		return;
	block->launch_ns = launch->start_ns;
	block->previous_ns = launch->previous_ns;
	block->tid = launch->tid;
	if (block->start_ns < launch->start_ns)
		note_skew(collector, launch->start_ns - block->start_ns);
	else if (block->start_ns - launch->start_ns > collector->delay_ns)
		collector->delay_ns = block->start_ns - launch->start_ns;
}

/* A call's record may come in the buffer after that of the kernel: the last ones are looked for again. */
static void match_runs(struct collector *collector, struct runs *runs)
{
	size_t from = runs->matched > MATCH_AGAIN ? runs->matched - MATCH_AGAIN : 0;

	for (size_t i = from; i < runs->blocks.count; i++)
		if (!runs->blocks.items[i].launch_ns)
			match(collector, &runs->blocks.items[i]);
	runs->matched = runs->blocks.count;
}

void collector_match(struct collector *collector)
{
	for (unsigned int i = 0; i < collector->device_count; i++) {
		match_runs(collector, &collector->ready->runs[i]);
		match_runs(collector, &collector->fresh->runs[i]);
	}
}

void collector_canary(struct collector *collector, uint64_t before_ns)
{
	struct canary *canaries = collector->canaries;

	if (collector->canary_count == COLLECTOR_CANARIES)
		memmove(canaries, canaries + 1, sizeof(*canaries) * --collector->canary_count);
	canaries[collector->canary_count++] = (struct canary){before_ns, UINT64_MAX, 0};
}

void collector_canary_done(struct collector *collector, uint64_t after_ns)
{
	if (collector->canary_count)
		collector->canaries[collector->canary_count - 1].after_ns = after_ns;
}
