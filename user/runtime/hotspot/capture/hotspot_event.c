/* Wire bytes of a JVM's safepoints, late threads, stalls and phases → struct hotspot_event. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "event.h"
#include "hotspot_event.h"
#include "hotspot_wire.h"
#include "pause.h"

_Static_assert(sizeof(struct event_java_frame) == sizeof(struct gc_java_frame) &&
		       offsetof(struct event_java_frame, check) ==
			       offsetof(struct gc_java_frame, check) &&
		       offsetof(struct event_java_frame, compile_id) ==
			       offsetof(struct gc_java_frame, compile_id) &&
		       offsetof(struct event_java_frame, at) ==
			       offsetof(struct gc_java_frame, at) &&
		       offsetof(struct event_java_frame, kind) ==
			       offsetof(struct gc_java_frame, kind),
	"frames are used in place");
_Static_assert(EVENT_INTERPRETED == GC_JAVA_INTERPRETED && EVENT_COMPILED == GC_JAVA_COMPILED,
	"kinds of frames are passed through");
_Static_assert(EVENT_STACK_TRUNCATED == GC_STACK_TRUNCATED &&
		       EVENT_STACK_BROKEN == GC_STACK_BROKEN &&
		       EVENT_STACK_VIRTUAL == GC_STACK_VIRTUAL &&
		       EVENT_STACK_STALE == GC_STACK_STALE &&
		       EVENT_SAFEPOINT_STATICS == GC_SAFEPOINT_STATICS &&
		       EVENT_SAFEPOINT_PERF == GC_SAFEPOINT_PERF &&
		       EVENT_SAFEPOINT_ARGUMENTS == GC_SAFEPOINT_ARGUMENTS,
	"flags are passed through");
_Static_assert(EVENT_STALL_EXPLICIT == GC_STALL_EXPLICIT &&
		       EVENT_STALL_ALLOCATION == GC_STALL_ALLOCATION &&
		       EVENT_STALL_PACING == GC_STALL_PACING &&
		       EVENT_STALL_LOCKER == GC_STALL_LOCKER && EVENT_COLLECTORS == GC_COLLECTORS,
	"stalls are passed through");

/* @room: bytes of the record from @frames on. */
static int decode_stack(const struct gc_java_frame *frames, uint32_t count, uint32_t flags,
	size_t room, struct event_java_stack *ret)
{
	if (count > GC_JAVA_FRAMES || count * sizeof(*frames) > room ||
		flags > (GC_STACK_TRUNCATED | GC_STACK_BROKEN | GC_STACK_VIRTUAL | GC_STACK_STALE))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++)
		if (frames[i].kind != GC_JAVA_INTERPRETED && frames[i].kind != GC_JAVA_COMPILED)
			return -EBADMSG;
	ret->frames = (const struct event_java_frame *)frames;
	ret->count = count;
	ret->flags = flags;
	return 0;
}

static void decode_facts(const struct gc_safepoint *wire, struct hotspot_event *event)
{
	event->safepoint.begin_argument = wire->begin_argument;
	event->safepoint.sync_argument = wire->sync_argument;
	event->safepoint.end_argument = wire->end_argument;
	event->safepoint.op_vtable = wire->op_vtable;
	event->safepoint.thread = wire->thread;
	event->safepoint.thread_vtable = wire->thread_vtable;
	event->safepoint.requester_tid = wire->requester_tid;
	event->safepoint.requester_host_tid = wire->requester_host_tid;
	event->safepoint.late_tid = wire->late_tid;
	event->safepoint.flags = wire->flags;
	/* The target's own memory may hold anything: that costs the fact, not the safepoint. */
	event->safepoint.summaries = wire->heap_before <= INT64_MAX && wire->heap_after <= INT64_MAX
					     ? wire->summaries
					     : 0;
	event->safepoint.heap_before = wire->heap_before;
	event->safepoint.heap_after = wire->heap_after;
}

/* The bytes that the record must have: without frames it ends within perf. */
static size_t safepoint_size(const struct gc_safepoint *wire)
{
	return wire->frame_count ? GC_SAFEPOINT_SIZE(0) : GC_SAFEPOINT_SHORT_SIZE(wire->perf_bytes);
}

static int decode_safepoint(const void *bytes, size_t size, struct hotspot_event *event)
{
	const struct gc_safepoint *wire = bytes;

	if (size < GC_SAFEPOINT_SHORT_SIZE(0) || size < safepoint_size(wire) ||
		wire->begin_ns > wire->header.time_ns ||
		(wire->sync_ns &&
			(wire->sync_ns < wire->begin_ns || wire->sync_ns > wire->header.time_ns)) ||
		wire->statics_bytes > GC_STATICS_BYTES || wire->perf_bytes > GC_PERF_BYTES ||
		wire->name_bytes > GC_VM_NAME_BYTES ||
		wire->flags > (GC_SAFEPOINT_STATICS | GC_SAFEPOINT_PERF | GC_SAFEPOINT_ARGUMENTS) ||
		decode_stack(wire->frames, wire->frame_count, wire->stack_flags,
			wire->frame_count ? size - GC_SAFEPOINT_SIZE(0) : 0,
			&event->safepoint.stack))
		return -EBADMSG;
	event->type = EVENT_SAFEPOINT;
	event->safepoint.begin_ns = wire->begin_ns;
	event->safepoint.sync_ns = wire->sync_ns;
	event->safepoint.name = wire->name;
	event->safepoint.name_bytes = wire->name_bytes;
	event->safepoint.statics = wire->statics;
	event->safepoint.statics_bytes =
		wire->flags & GC_SAFEPOINT_STATICS ? wire->statics_bytes : 0;
	event->safepoint.perf = wire->perf;
	event->safepoint.perf_bytes = wire->flags & GC_SAFEPOINT_PERF ? wire->perf_bytes : 0;
	decode_facts(wire, event);
	return 0;
}

static int decode_late(const void *bytes, size_t size, struct hotspot_event *event)
{
	const struct gc_late *wire = bytes;

	if (size < GC_LATE_SIZE(0) || wire->begin_ns > wire->arrived_ns ||
		wire->arrived_ns > wire->header.time_ns ||
		(wire->ran_ns != GC_RAN_UNKNOWN &&
			wire->ran_ns > wire->arrived_ns - wire->begin_ns) ||
		decode_stack(wire->frames, wire->frame_count, wire->stack_flags,
			size - GC_LATE_SIZE(0), &event->late.stack))
		return -EBADMSG;
	event->type = EVENT_LATE;
	event->late.begin_ns = wire->begin_ns;
	event->late.arrived_ns = wire->arrived_ns;
	event->late.ran_ns = wire->ran_ns == GC_RAN_UNKNOWN ? UNKNOWN : (int64_t)wire->ran_ns;
	event->late.tid = wire->late_tid;
	return 0;
}

static int decode_stall(const void *bytes, size_t size, struct hotspot_event *event)
{
	const struct gc_stall *wire = bytes;

	if (size < GC_STALL_SIZE(0) || wire->start_ns > wire->header.time_ns ||
		wire->kind < GC_STALL_EXPLICIT || wire->kind > GC_STALL_LOCKER ||
		wire->collectors > GC_COLLECTORS ||
		decode_stack(wire->frames, wire->frame_count, wire->stack_flags,
			size - GC_STALL_SIZE(0), &event->stall.stack))
		return -EBADMSG;
	event->type = EVENT_STALL;
	event->stall.start_ns = wire->start_ns;
	event->stall.thread = wire->thread;
	event->stall.unloaded = wire->unloaded;
	event->stall.kind = wire->kind;
	event->stall.collectors = wire->collectors;
	memcpy(event->stall.collections_start, wire->collections_start,
		sizeof(event->stall.collections_start));
	memcpy(event->stall.collections_end, wire->collections_end,
		sizeof(event->stall.collections_end));
	return 0;
}

static int decode_phase(const void *bytes, size_t size, struct hotspot_event *event)
{
	const struct gc_phase *wire = bytes;

	if (size < sizeof(*wire) || wire->begins > 1 || wire->name_bytes > GC_VM_NAME_BYTES)
		return -EBADMSG;
	event->type = EVENT_PHASE;
	event->phase.begins = wire->begins;
	event->phase.name = wire->name;
	event->phase.name_bytes = wire->begins ? wire->name_bytes : 0;
	return 0;
}

static int decode_killed(const void *bytes, size_t size, struct hotspot_event *event)
{
	const struct gc_killed *wire = bytes;

	if (size < sizeof(*wire))
		return -EBADMSG;
	event->type = EVENT_KILLED;
	event->killed.start_ns = wire->start_ns;
	return 0;
}

static int decode_body(const void *bytes, size_t size, uint32_t type, struct hotspot_event *event)
{
	switch (type) {
	case GC_EVENT_SAFEPOINT:
		return decode_safepoint(bytes, size, event);
	case GC_EVENT_LATE:
		return decode_late(bytes, size, event);
	case GC_EVENT_STALL:
		return decode_stall(bytes, size, event);
	case GC_EVENT_PHASE:
		return decode_phase(bytes, size, event);
	case GC_EVENT_KILLED:
		return decode_killed(bytes, size, event);
	}
	return -EBADMSG;
}

int hotspot_decode(const void *bytes, size_t size, struct hotspot_event *ret)
{
	struct hotspot_event event;
	uint32_t type;

	if (event_read_head(bytes, size, &event.head, &size, &type) ||
		decode_body(bytes, size, type, &event))
		return -EBADMSG;
	*ret = event;
	return 0;
}
