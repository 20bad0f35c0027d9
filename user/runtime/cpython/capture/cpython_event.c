/* Wire bytes of CPython's programs → struct cpython_event. */
#include <errno.h>
#include <string.h>

#include "cpython_event.h"
#include "cpython_wire.h"
#include "event.h"

_Static_assert(sizeof(struct event_frame) == sizeof(struct gc_frame), "frames are used in place");
_Static_assert(offsetof(struct event_frame, lasti) == offsetof(struct gc_frame, lasti),
	"frames are used in place");
_Static_assert(EVENT_BROKEN_STACK == GC_PAUSE_BROKEN_STACK && EVENT_NO_BOOKS == GC_PAUSE_NO_BOOKS &&
		       EVENT_TRUNCATED == GC_PAUSE_TRUNCATED && EVENT_NESTED == GC_PAUSE_NESTED &&
		       EVENT_SLEPT == GC_PAUSE_SLEPT && EVENT_HEAP == GC_PAUSE_HEAP &&
		       EVENT_RSS == GC_PAUSE_RSS && EVENT_WAITED == GC_PAUSE_WAITED &&
		       EVENT_LEFT == GC_PAUSE_UNFINISHED &&
		       EVENT_THRESHOLDS == GC_PAUSE_THRESHOLDS && EVENT_STOPS == GC_PAUSE_STOPS &&
		       EVENT_GIL == GC_PAUSE_GIL && EVENT_STOPS_MOST == GC_MAX_STOPS,
	"flags are passed through");

/* What the kernel measured must make sense; of what the target wrote, only what does is kept. */
static int decode_facts(const struct gc_pause *wire, struct cpython_event *event)
{
	uint64_t duration_ns = wire->header.time_ns - wire->start_ns;

	if (wire->flags & GC_PAUSE_RSS &&
		(wire->rss_start > INT64_MAX || wire->rss_end > INT64_MAX))
		return -EBADMSG;
	if (wire->flags & GC_PAUSE_WAITED && wire->waited_ns > duration_ns)
		return -EBADMSG;
	event->pause.flags = wire->flags;
	if (wire->heap_objects > INT64_MAX || wire->heap_pending > INT64_MAX)
		event->pause.flags &= ~(uint32_t)GC_PAUSE_HEAP;
	event->pause.heap_objects = wire->heap_objects;
	event->pause.heap_pending = wire->heap_pending;
	event->pause.rss_start = wire->rss_start;
	event->pause.rss_end = wire->rss_end;
	event->pause.waited_ns = wire->waited_ns;
	for (int i = 0; i < 3; i++) {
		if (wire->thresholds[i] < 0)
			event->pause.flags &= ~(uint32_t)GC_PAUSE_THRESHOLDS;
		event->pause.thresholds[i] = wire->thresholds[i];
	}
	return 0;
}

/* All of it is the kernel's own clock. */
static int decode_stops(const struct gc_pause *wire, struct cpython_event *event)
{
	uint64_t last_ns = wire->start_ns;

	if (!(wire->flags & GC_PAUSE_STOPS))
		return 0;
	if (!wire->stop_count || wire->stop_count > GC_MAX_STOPS)
		return -EBADMSG;
	for (uint32_t i = 0; i < wire->stop_count; i++) {
		const struct gc_stop *stop = &wire->stops[i];

		if (stop->request_ns < last_ns || stop->stopped_ns < stop->request_ns ||
			stop->end_ns < stop->stopped_ns || stop->end_ns > wire->header.time_ns)
			return -EBADMSG;
		last_ns = stop->end_ns;
		event->pause.stops[i] =
			(struct event_stop){stop->request_ns, stop->stopped_ns, stop->end_ns};
	}
	event->pause.stop_count = wire->stop_count;
	return 0;
}

static int decode_pause(const void *bytes, size_t size, struct cpython_event *event)
{
	const struct gc_pause *wire = bytes;

	if (size < GC_PAUSE_SIZE(0) || wire->frame_count > GC_MAX_FRAMES ||
		size < GC_PAUSE_SIZE(wire->frame_count) || wire->image >= GC_MAX_IMAGES ||
		wire->start_ns > wire->header.time_ns || wire->generation < -1 ||
		wire->generation > 2 || wire->cause > GC_CAUSE_SHUTDOWN ||
		decode_facts(wire, event) || decode_stops(wire, event))
		return -EBADMSG;
	event->type = EVENT_PAUSE;
	event->pause.start_ns = wire->start_ns;
	event->pause.interpreter = wire->interpreter;
	event->pause.number = wire->number < 0 ? -1 : wire->number;
	event->pause.image = wire->image;
	event->pause.cause = wire->cause;
	event->pause.generation = wire->generation;
	event->pause.collected = wire->collected;
	event->pause.uncollectable = wire->uncollectable;
	memcpy(event->pause.collections, wire->collections, sizeof(event->pause.collections));
	event->pause.frames = (const struct event_frame *)wire->frames;
	event->pause.frame_count = wire->frame_count;
	return 0;
}

static int decode_text(const struct gc_text *wire, struct event_text *ret)
{
	size_t most;

	if (wire->kind > 4 || wire->kind == 3)
		return -EBADMSG;
	most = wire->kind ? GC_NAME_BYTES / wire->kind : 0;
	ret->bytes = wire->bytes;
	ret->kind = wire->kind;
	ret->characters = wire->length < most ? wire->length : most;
	ret->cut = wire->kind ? wire->length - ret->characters : 0;
	return 0;
}

static int decode_code(const void *bytes, size_t size, struct cpython_event *event)
{
	const struct gc_code *wire = bytes;

	if (size < sizeof(*wire) || wire->image >= GC_MAX_IMAGES ||
		(wire->table_bytes > GC_MAX_TABLES * GC_TABLE_BYTES &&
			wire->table_bytes != GC_NO_TABLE) ||
		decode_text(&wire->name, &event->code.name) ||
		decode_text(&wire->file, &event->code.file))
		return -EBADMSG;
	event->type = EVENT_CODE;
	event->code.id = wire->id;
	event->code.image = wire->image;
	event->code.first_line = wire->first_line;
	event->code.has_table = wire->table_bytes != GC_NO_TABLE;
	event->code.table_bytes = event->code.has_table ? wire->table_bytes : 0;
	return 0;
}

static int decode_table(const void *bytes, size_t size, struct cpython_event *event)
{
	const struct gc_table *wire = bytes;

	if (size < sizeof(*wire) || wire->length > GC_TABLE_BYTES ||
		wire->offset > (GC_MAX_TABLES - 1) * GC_TABLE_BYTES)
		return -EBADMSG;
	event->type = EVENT_TABLE;
	event->table.id = wire->id;
	event->table.offset = wire->offset;
	event->table.length = wire->length;
	event->table.bytes = wire->bytes;
	return 0;
}

static int decode_body(const void *bytes, size_t size, uint32_t type, struct cpython_event *event)
{
	switch (type) {
	case GC_EVENT_PAUSE:
		return decode_pause(bytes, size, event);
	case GC_EVENT_CODE:
		return decode_code(bytes, size, event);
	case GC_EVENT_TABLE:
		return decode_table(bytes, size, event);
	}
	return -EBADMSG;
}

int cpython_decode(const void *bytes, size_t size, struct cpython_event *ret)
{
	struct cpython_event event;
	uint32_t type;

	if (event_read_head(bytes, size, &event.head, &size, &type) ||
		decode_body(bytes, size, type, &event))
		return -EBADMSG;
	*ret = event;
	return 0;
}
