/*
 * Records of a CUPTI shim → facts. Times in which a device had work are put together as they come, so that a recording
 * grows with the gaps between them and not with the kernels.
 */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "gc_wire.h"
#include "gpu_watch.h"
#include "log.h"

/* More than any machine has: what a program claims beyond is not believed. */
#define MOST_DEVICES 64
#define MOST_THREADS 4096

/* What is kept in a session: 400 MB of a recording. */
#define MOST_FACTS 8000000

static void tell(struct gpu_watch *watch, const struct gpu_fact *fact)
{
	watch->facts++;
	feed_gpu(watch->feed, fact);
}

static struct gpu_fact fact_of(const struct gpu_process *process, enum gpu_fact_kind kind,
	uint32_t device)
{
	return (struct gpu_fact){.kind = kind, .process = process->process, .device = device};
}

static void tell_unknown(struct gpu_watch *watch, const struct gpu_process *process,
	uint32_t device, struct gpu_span span, uint64_t records, enum gpu_unknown why)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_UNKNOWN, device);

	fact.unknown.span = span;
	fact.unknown.records = records;
	fact.unknown.why = why;
	tell(watch, &fact);
}

void gpu_lose(struct gpu_watch *watch, struct gpu_process *process, uint64_t records, bool dated,
	struct gpu_span span)
{
	watch->lost += records;
	if (!dated)
		process->undated += records;
	else if (records && span.start_ns < span.end_ns) /* else none that says what a device did */
		tell_unknown(watch, process, GPU_DEVICE_NONE, span, records, GPU_UNKNOWN_LOST);
}

static void tell_busy(struct gpu_watch *watch, const struct gpu_process *process, uint32_t device,
	const struct gpu_busy *busy)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_BUSY, device);

	fact.busy = *busy;
	tell(watch, &fact);
}

/* NULL: no more are believed, or memory is out. A new one is told at once: its other facts refer to it. */
static struct gpu_use *use_of(struct gpu_watch *watch, struct gpu_process *process, uint32_t device)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_DEVICE, device);
	struct gpu_use *use;

	for (size_t i = 0; i < process->uses.count; i++)
		if (process->uses.items[i].device == device)
			return &process->uses.items[i];
	use = process->uses.count < MOST_DEVICES && device != GPU_DEVICE_NONE
		      ? vec_add(&process->uses)
		      : NULL;
	if (!use)
		return NULL;
	use->device = device;
	use->changed = true;
	tell(watch, &fact);
	return use;
}

static struct gpu_thread *thread_of(struct gpu_process *process, uint32_t tid)
{
	struct gpu_thread *thread;

	for (size_t i = 0; i < process->threads.count; i++)
		if (process->threads.items[i].tid == tid)
			return &process->threads.items[i];
	thread = process->threads.count < MOST_THREADS ? vec_add(&process->threads) : NULL;
	if (thread)
		thread->tid = tid;
	return thread;
}

/* Puts @busy to what is open, or tells the earlier of the two. */
static void put_busy(struct gpu_watch *watch, const struct gpu_process *process,
	struct gpu_use *use, struct gpu_busy busy)
{
	struct gpu_busy open = use->open;

	if (!open.end_ns) {
		use->open = busy;
		return;
	}
	if (busy.start_ns < open.start_ns) {
		use->open = busy;
		busy = open;
	}
	if (gpu_busy_join(&use->open, &busy))
		return;
	tell_busy(watch, process, use->device, &use->open);
	use->open = busy;
}

static bool take_busy(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	struct gpu_use *use = use_of(watch, process, record->device);
	struct gpu_busy busy = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.launch_ns = record->launch_ns,
		.previous_ns = record->previous_ns,
		.gaps_ns = record->gaps_ns,
		.starved_ns = record->starved_ns,
		.unsure_ns = record->unsure_ns,
		.tid = gpu_tid(watch, process, record->tid),
	};

	if (!use)
		return false;
	if (busy.end_ns <= process->attached_ns)
		return true;
	if (busy.start_ns < process->attached_ns) { /* another tracer was first */
		busy.start_ns = process->attached_ns;
		busy.gaps_ns = busy.starved_ns = 0; /* they may have been before */
	}
	put_busy(watch, process, use, busy);
	return true;
}

static bool take_call(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record, enum gpu_call_kind kind)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_CALL, record->device);

	fact.call.kind = kind;
	fact.call.tid = gpu_tid(watch, process, record->tid);
	fact.call.wait = (struct gpu_wait){record->start_ns, record->end_ns, record->done_ns,
		record->device, record->flags & GC_GPU_QUEUE, record->flags & GC_GPU_COPY};
	fact.call.frees = record->flags & GC_GPU_FREES;
	fact.call.failed = record->flags & GC_GPU_FAILED;
	if (fact.call.tid && record->end_ns > process->attached_ns)
		tell(watch, &fact);
	return true;
}

static bool take_launcher(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	uint32_t tid = gpu_tid(watch, process, record->tid);
	struct gpu_thread *thread = tid ? thread_of(process, tid) : NULL;

	if (thread) {
		thread->changed = true;
		thread->launches = record->count;
		thread->gap_ns = record->gap_ns;
	}
	return true;
}

static bool take_memory(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_MEMORY, record->device);

	if (!use_of(watch, process, record->device))
		return false;
	fact.memory = (struct gpu_bytes){record->start_ns, record->more_bytes};
	tell(watch, &fact);
	return true;
}

static bool take_device(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	struct gpu_use *use = use_of(watch, process, record->device);

	if (!use)
		return false;
	use->changed = true;
	use->memory_bytes = record->bytes;
	snprintf(use->name, sizeof(use->name), "%s", record->name);
	return true;
}

/* All that the device did up to the end of it is known. */
static bool take_begin(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	struct gpu_use *use = use_of(watch, process, record->device);
	uint64_t from_ns = record->start_ns;

	if (!use)
		return false;
	if (from_ns < process->attached_ns)
		from_ns = process->attached_ns;
	if (!use->seen_ns)
		use->seen_ns = use->until_ns = from_ns;
	else if (record->start_ns != use->begin_ns && from_ns > use->until_ns)
		tell_unknown(watch, process, record->device,
			(struct gpu_span){use->until_ns, from_ns}, 0, GPU_UNKNOWN_OFF);
	use->begin_ns = record->start_ns;
	if (record->end_ns > use->until_ns) {
		use->until_ns = record->end_ns;
		use->changed = true;
	}
	return true;
}

/* Nothing is known from there on, until it begins again. */
static void take_aside(struct gpu_watch *watch, const struct gpu_process *process,
	const struct event_gpu *record)
{
	tell_unknown(watch, process, GPU_DEVICE_NONE,
		(struct gpu_span){record->start_ns, record->start_ns}, 0, GPU_UNKNOWN_ASIDE);
	log_info(
		"another user of CUPTI is active in process %d: what its GPUs do meanwhile is not known",
		process->pid);
}

static bool take_refused(struct gpu_watch *watch, const struct gpu_process *process,
	const struct event_gpu *record)
{
	static const enum gpu_unknown reasons[] = {
		[GC_GPU_NO_CUPTI] = GPU_UNKNOWN_NO_CUPTI,
		[GC_GPU_NO_VERSION] = GPU_UNKNOWN_NO_VERSION,
		[GC_GPU_NO_DRIVER] = GPU_UNKNOWN_NO_DRIVER,
		[GC_GPU_NO_ENABLE] = GPU_UNKNOWN_NO_ENABLE,
		[GC_GPU_NO_ANSWER] = GPU_UNKNOWN_NO_ANSWER,
	};
	struct gpu_span span = {record->start_ns, record->start_ns};

	if (record->why >= ARRAY_SIZE(reasons) || !reasons[record->why])
		return false;
	tell_unknown(watch, process, GPU_DEVICE_NONE, span, 0, reasons[record->why]);
	log_warning("what the GPUs of process %d do is not known: %s", process->pid,
		gpu_refusal(reasons[record->why]));
	return true;
}

static void take_clock(struct gpu_process *process, const struct event_gpu *record)
{
	if (record->error_ns <= process->clock_error_ns)
		return;
	process->clock_error_ns = record->error_ns;
	for (size_t i = 0; i < process->uses.count; i++)
		process->uses.items[i].changed = true;
}

static void take_lost(struct gpu_watch *watch, const struct gpu_process *process,
	const struct event_gpu *record)
{
	watch->dropped += record->count;
	tell_unknown(watch, process, record->device,
		(struct gpu_span){record->start_ns, record->end_ns}, record->count,
		GPU_UNKNOWN_DROPPED);
}

/* False: it cannot be true. */
static bool take(struct gpu_watch *watch, struct gpu_process *process,
	const struct event_gpu *record)
{
	switch (record->kind) {
	case EVENT_GPU_BUSY:
		return take_busy(watch, process, record);
	case EVENT_GPU_WAIT:
		return take_call(watch, process, record, GPU_CALL_WAIT);
	case EVENT_GPU_ALLOCATE:
		return take_call(watch, process, record, GPU_CALL_ALLOCATE);
	case EVENT_GPU_LAUNCHER:
		return take_launcher(watch, process, record);
	case EVENT_GPU_MEMORY:
		return take_memory(watch, process, record);
	case EVENT_GPU_DEVICE:
		return take_device(watch, process, record);
	case EVENT_GPU_BEGIN:
		return take_begin(watch, process, record);
	case EVENT_GPU_REFUSED:
		return take_refused(watch, process, record);
	case EVENT_GPU_LOST:
		take_lost(watch, process, record);
		break;
	case EVENT_GPU_CLOCK:
		take_clock(process, record);
		break;
	case EVENT_GPU_ASIDE:
		take_aside(watch, process, record);
		break;
	}
	return true;
}

void gpu_take(struct gpu_watch *watch, struct gpu_process *process, const struct event *event)
{
	gpu_lose(watch, process, event->gpu.lost, event->gpu.dated,
		(struct gpu_span){event->gpu.lost_start_ns, event->gpu.lost_end_ns});
	for (size_t i = 0; i < event->gpu.count; i++) {
		struct event_gpu record;

		if (!event_gpu(event, i, &record) && take(watch, process, &record))
			continue;
		watch->bad++; /* what it should have said is not known */
		process->undated++;
	}
}

bool gpu_facts_full(const struct gpu_watch *watch)
{
	return watch->facts >= MOST_FACTS;
}

static void tell_use(struct gpu_watch *watch, const struct gpu_process *process,
	struct gpu_use *use)
{
	struct gpu_fact fact = fact_of(process, GPU_FACT_DEVICE, use->device);

	if (use->open.end_ns)
		tell_busy(watch, process, use->device, &use->open);
	use->open = (struct gpu_busy){};
	if (!use->changed)
		return;
	use->changed = false;
	fact.described.name = use->name;
	fact.described.memory_bytes = use->memory_bytes;
	fact.described.seen_ns = use->seen_ns;
	fact.described.until_ns = use->until_ns;
	fact.described.clock_error_ns = process->clock_error_ns;
	tell(watch, &fact);
}

void gpu_tell(struct gpu_watch *watch, struct gpu_process *process)
{
	for (size_t i = 0; i < process->uses.count; i++)
		tell_use(watch, process, &process->uses.items[i]);
	if (process->undated)
		tell_unknown(watch, process, GPU_DEVICE_NONE, (struct gpu_span){}, process->undated,
			GPU_UNKNOWN_LOST);
	process->undated = 0;
	for (size_t i = 0; i < process->threads.count; i++) {
		struct gpu_thread *thread = &process->threads.items[i];
		struct gpu_fact fact = fact_of(process, GPU_FACT_LAUNCHER, GPU_DEVICE_NONE);

		if (!thread->changed)
			continue;
		thread->changed = false;
		fact.launcher.tid = thread->tid;
		fact.launcher.launches = thread->launches;
		fact.launcher.gap_ns = thread->gap_ns;
		tell(watch, &fact);
	}
}
