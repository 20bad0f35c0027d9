/* Records of the CUPTI shim → struct event_gpu. What is in them is the traced program's word. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "gc_wire.h"

/* Within which what has been launched will have run. */
#define AWAITED_NS 1000000000000ull

/* By which what is over may seem to end after it was handed over: clocks of devices are corrected now and then. */
#define AHEAD_NS 1000000000ull

/* A time that has begun, and ended by @now. */
static bool is_past(const struct gc_gpu_record *wire, uint64_t now)
{
	return wire->start_ns && wire->start_ns <= wire->end_ns && wire->end_ns <= now + AHEAD_NS;
}

static int decode_busy(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	uint64_t length = wire->end_ns - wire->start_ns;

	if (!is_past(wire, now) || wire->value > length || wire->starved_ns > wire->value)
		return -EBADMSG;
	ret->kind = EVENT_GPU_BUSY;
	/* Nothing is launched after it began, but that clocks differ. */
	ret->launch_ns = wire->launch_ns < wire->start_ns ? wire->launch_ns : wire->start_ns;
	ret->previous_ns = wire->previous_ns < ret->launch_ns ? wire->previous_ns : 0;
	ret->gaps_ns = wire->value;
	ret->starved_ns = wire->starved_ns;
	ret->unsure_ns = wire->count;
	return 0;
}

static int decode_call(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	bool waits = wire->kind == GC_GPU_WAIT;

	if (!is_past(wire, now) || (waits && wire->value > now + AHEAD_NS))
		return -EBADMSG;
	ret->kind = waits ? EVENT_GPU_WAIT : EVENT_GPU_ALLOCATE;
	ret->done_ns = waits ? wire->value : 0;
	ret->flags =
		wire->flags & (waits ? GC_GPU_COPY | GC_GPU_QUEUE : GC_GPU_FREES | GC_GPU_FAILED);
	return 0;
}

static int decode_launcher(const struct gc_gpu_record *wire, struct event_gpu *ret)
{
	if (wire->value > INT64_MAX)
		return -EBADMSG;
	ret->kind = EVENT_GPU_LAUNCHER;
	ret->count = wire->count;
	ret->gap_ns = wire->value;
	return 0;
}

static int decode_lost(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	if ((wire->start_ns || wire->end_ns) && !is_past(wire, now + AWAITED_NS))
		return -EBADMSG;
	ret->kind = EVENT_GPU_LOST;
	ret->count = wire->count;
	return 0;
}

static int decode_bytes(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	if (!wire->start_ns || wire->start_ns > now + AHEAD_NS)
		return -EBADMSG;
	ret->kind = EVENT_GPU_MEMORY;
	ret->more_bytes = (int64_t)wire->value;
	return 0;
}

static int decode_device(const struct gc_gpu_record *wire, struct event_gpu *ret)
{
	if (wire->value > INT64_MAX)
		return -EBADMSG;
	*ret = (struct event_gpu){
		.kind = EVENT_GPU_DEVICE, .device = wire->device, .bytes = wire->value};
	snprintf(ret->name, sizeof(ret->name), "%.*s", GC_GPU_NAME_BYTES, wire->name);
	return 0;
}

/* CLOCK, ASIDE, REFUSED, BEGIN. */
static int decode_state(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	switch (wire->kind) {
	case GC_GPU_CLOCK:
		ret->kind = EVENT_GPU_CLOCK;
		ret->error_ns = wire->value;
		return wire->value > INT64_MAX ? -EBADMSG : 0;
	case GC_GPU_ASIDE:
		ret->kind = EVENT_GPU_ASIDE;
		return !wire->start_ns || wire->start_ns > now + AHEAD_NS ? -EBADMSG : 0;
	case GC_GPU_REFUSED:
		ret->kind = EVENT_GPU_REFUSED;
		ret->why = wire->value;
		return 0;
	case GC_GPU_BEGIN:
		ret->kind = EVENT_GPU_BEGIN;
		return !wire->start_ns || wire->start_ns > now + AHEAD_NS ||
				       (wire->end_ns && !is_past(wire, now))
			       ? -EBADMSG
			       : 0;
	}
	return -EBADMSG;
}

static int decode(const struct gc_gpu_record *wire, uint64_t now, struct event_gpu *ret)
{
	switch (wire->kind) {
	case GC_GPU_BUSY:
		return decode_busy(wire, now, ret);
	case GC_GPU_WAIT:
	case GC_GPU_ALLOCATE:
		return decode_call(wire, now, ret);
	case GC_GPU_LAUNCHER:
		return decode_launcher(wire, ret);
	case GC_GPU_MEMORY:
		return decode_bytes(wire, now, ret);
	case GC_GPU_LOST:
		return decode_lost(wire, now, ret);
	case GC_GPU_DEVICE:
		return decode_device(wire, ret);
	}
	return decode_state(wire, now, ret);
}

int event_gpu(const struct event *event, size_t i, struct event_gpu *ret)
{
	const struct gc_gpu_record *wire = (const struct gc_gpu_record *)event->gpu.records + i;
	struct event_gpu record = {
		.device = wire->device,
		.tid = wire->tid,
		.start_ns = wire->start_ns,
		.end_ns = wire->end_ns,
	};

	if (i >= event->gpu.count || decode(wire, event->head.time_ns, &record))
		return -EBADMSG;
	*ret = record;
	return 0;
}
