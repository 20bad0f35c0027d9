/*
 * Ring-buffer bytes → events → code objects and stacks: whatever comes, no read outside, no crash.
 * The input is a run of records, each preceded by its length in two bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "hotspot_event.h"
#include "python_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

/* Reads all that a decoded event points to: the sanitizer checks that it is the record's. */
static void touch(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink ^= ((const uint8_t *)bytes)[i];
}

static void touch_stack(const struct event_java_stack *stack)
{
	touch(stack->frames, stack->count * sizeof(*stack->frames));
}

static void touch_jvm(const struct hotspot_event *event)
{
	switch (event->type) {
	case EVENT_SAFEPOINT:
		touch(event->safepoint.name, event->safepoint.name_bytes);
		touch(event->safepoint.statics, event->safepoint.statics_bytes);
		touch(event->safepoint.perf, event->safepoint.perf_bytes);
		touch_stack(&event->safepoint.stack);
		break;
	case EVENT_LATE:
		touch_stack(&event->late.stack);
		break;
	case EVENT_STALL:
		touch_stack(&event->stall.stack);
		break;
	case EVENT_PHASE:
		touch(event->phase.name, event->phase.name_bytes);
		break;
	case EVENT_KILLED:
		break;
	}
}

/* What event.h promises of times: they are in order, and none is a number with a sign. */
static void touch_gpu(const struct event *event)
{
	for (size_t i = 0; i < event->gpu.count; i++) {
		struct event_gpu record;

		if (event_gpu(event, i, &record) || record.kind != EVENT_GPU_BUSY)
			continue;
		if (record.end_ns < record.start_ns || record.launch_ns > record.start_ns ||
			record.gaps_ns > record.end_ns - record.start_ns)
			abort();
	}
}

static void take(const void *record, size_t length, struct python_codes *codes,
	struct stack_table *stacks)
{
	struct cpython_event cpython;
	struct hotspot_event hotspot;
	struct event event;

	if (!event_decode(record, length, &event) && event.type == EVENT_LABEL)
		touch(event.label.bytes, event.label.length);
	if (!event_decode(record, length, &event) && event.type == EVENT_GPU)
		touch_gpu(&event);
	if (!hotspot_decode(record, length, &hotspot))
		touch_jvm(&hotspot);
	if (cpython_decode(record, length, &cpython))
		return;
	if (cpython.type == EVENT_PAUSE)
		python_stack(codes, &cpython, stacks);
	else
		python_codes_add(codes, &cpython, (int)(cpython.head.pid % 8) + 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_codes *codes = python_codes_new();
	struct stack_table stacks;

	if (!codes || stack_table_init(&stacks))
		abort();
	for (int minor = 8; size >= 8 && minor <= 15; minor++)
		python_line(minor, 1, data, size, (int32_t)(data[0] | data[1] << 8));
	while (size >= 2) {
		size_t length = data[0] | (size_t)data[1] << 8;
		uint64_t *record;

		data += 2;
		size -= 2;
		if (length > size)
			length = size;
		record = malloc(length +
				1); /* exactly as long as said: the sanitizer sees an overrun */
		memcpy(record, data, length);
		take(record, length, codes, &stacks);
		free(record);
		data += length;
		size -= length;
	}
	python_codes_free(codes);
	stack_table_release(&stacks);
	return 0;
}
