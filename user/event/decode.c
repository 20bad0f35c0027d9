/* Wire bytes → struct event. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "gc_wire.h"

static int decode_process(const void *bytes, size_t size, enum event_type type, struct event *event)
{
	const struct gc_process *wire = bytes;

	if (size < sizeof(*wire))
		return -EBADMSG;
	event->type = type;
	event->process.child = wire->child;
	event->process.start_ns = wire->start_ns;
	snprintf(event->process.comm, sizeof(event->process.comm), "%.16s", wire->comm);
	return 0;
}

static int decode_mark(const void *bytes, size_t size, struct event *event)
{
	const struct gc_mark *wire = bytes;

	if (size < sizeof(*wire) || wire->signal >= GC_MAX_SIGNALS || wire->rss_bytes > INT64_MAX ||
		(wire->flags & GC_MARK_WORK && wire->work_ns > INT64_MAX))
		return -EBADMSG;
	event->type = EVENT_MARK;
	event->mark.signal = wire->signal;
	event->mark.key = wire->key;
	event->mark.number = wire->number;
	event->mark.has_rss = wire->flags & GC_MARK_RSS;
	event->mark.rss_bytes = wire->rss_bytes;
	event->mark.has_work = wire->flags & GC_MARK_WORK;
	event->mark.work_ns = wire->work_ns;
	event->mark.skipped = wire->skipped;
	return 0;
}

static int decode_label(const void *bytes, size_t size, struct event *event)
{
	const struct gc_label *wire = bytes;

	if (size < sizeof(*wire) || wire->signal >= GC_MAX_SIGNALS)
		return -EBADMSG;
	event->type = EVENT_LABEL;
	event->label.signal = wire->signal;
	event->label.key = wire->key;
	event->label.bytes = wire->bytes;
	event->label.cut = wire->length > GC_LABEL_BYTES;
	event->label.length = event->label.cut ? GC_LABEL_BYTES : wire->length;
	return 0;
}

static int decode_gpu(const void *bytes, size_t size, struct event *event)
{
	const struct gc_gpu *wire = bytes;

	if (size < sizeof(*wire) || wire->count > GC_GPU_RECORDS ||
		(size - sizeof(*wire)) / sizeof(wire->records[0]) < wire->count ||
		wire->lost > INT64_MAX)
		return -EBADMSG;
	event->type = EVENT_GPU;
	event->gpu.records = wire->records;
	event->gpu.count = wire->count;
	event->gpu.lost = wire->lost;
	event->gpu.dated = !(wire->flags & GC_GPU_BLIND) && wire->lost_end_ns <= INT64_MAX;
	event->gpu.lost_start_ns = wire->lost_start_ns;
	event->gpu.lost_end_ns = wire->lost_end_ns;
	return 0;
}

static int decode_driver(const void *bytes, size_t size, struct event *event)
{
	const struct gc_driver_call *wire = bytes;

	if (size < sizeof(*wire) || wire->start_ns > wire->header.time_ns ||
		wire->launches > INT64_MAX)
		return -EBADMSG;
	event->type = EVENT_DRIVER;
	event->driver.kind = GC_DRIVER_KIND(wire->cookie);
	event->driver.function = GC_DRIVER_FUNCTION(wire->cookie);
	event->driver.start_ns = wire->start_ns;
	event->driver.launches = wire->launches;
	event->driver.address = wire->address;
	event->driver.bytes = wire->bytes;
	event->driver.failed = wire->result;
	return 0;
}

static int decode_body(const void *bytes, size_t size, uint32_t type, struct event *event)
{
	switch (type) {
	case GC_EVENT_FORK:
		return decode_process(bytes, size, EVENT_FORK, event);
	case GC_EVENT_EXEC:
		return decode_process(bytes, size, EVENT_EXEC, event);
	case GC_EVENT_EXIT:
		return decode_process(bytes, size, EVENT_EXIT, event);
	case GC_EVENT_MAPS:
		return decode_process(bytes, size, EVENT_MAPS, event);
	case GC_EVENT_UNFINISHED:
		return decode_process(bytes, size, EVENT_UNFINISHED, event);
	case GC_EVENT_MARK:
		return decode_mark(bytes, size, event);
	case GC_EVENT_LABEL:
		return decode_label(bytes, size, event);
	case GC_EVENT_GPU:
		return decode_gpu(bytes, size, event);
	case GC_EVENT_DRIVER:
		return decode_driver(bytes, size, event);
	}
	return -EBADMSG;
}

int event_check(const void *bytes, size_t size)
{
	const struct gc_header *header = bytes;

	return size < sizeof(*header) || header->size > size || header->size < sizeof(*header)
		       ? -EBADMSG
		       : 0;
}

int event_read_head(const void *bytes, size_t size, struct event_head *ret, size_t *ret_size,
	uint32_t *ret_type)
{
	const struct gc_header *header = bytes;

	if (event_check(bytes, size))
		return -EBADMSG;
	*ret = (struct event_head){header->pid, header->tid, header->time_ns};
	*ret_size = header->size;
	*ret_type = header->type;
	return 0;
}

int event_decode(const void *bytes, size_t size, struct event *ret)
{
	struct event event;
	uint32_t type;

	if (event_read_head(bytes, size, &event.head, &size, &type) ||
		decode_body(bytes, size, type, &event))
		return -EBADMSG;
	*ret = event;
	return 0;
}
