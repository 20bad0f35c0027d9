/*
 * Records of the CUPTI shim: what each kind becomes, and that no program, whatever it hands over, makes one that cannot
 * be true.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event.h"
#include "gc_wire.h"

#define NOW    5000000000000ull
#define SECOND 1000000000ull

static union {
	struct gc_gpu head;
	char bytes[sizeof(struct gc_gpu) + GC_GPU_RECORDS * sizeof(struct gc_gpu_record)];
} wire;

/* The event of one record. */
static struct event event_of(struct gc_gpu_record record)
{
	struct event event;

	memset(&wire, 0, sizeof(wire));
	wire.head.header =
		(struct gc_header){GC_EVENT_GPU, sizeof(wire.head) + sizeof(record), 5, 7, NOW};
	wire.head.count = 1;
	wire.head.records[0] = record;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_GPU);
	assert_int_equal(event.gpu.count, 1);
	return event;
}

static int decode(struct gc_gpu_record record, struct event_gpu *ret)
{
	struct event event = event_of(record);

	return event_gpu(&event, 0, ret);
}

static struct gc_gpu_record busy(void)
{
	return (struct gc_gpu_record){
		.kind = GC_GPU_BUSY,
		.device = 3,
		.start_ns = NOW - 1009,
		.end_ns = NOW - 13,
		.launch_ns = NOW - 2003,
		.previous_ns = NOW - 3001,
		.tid = 4711,
		.value = 101,
		.starved_ns = 97,
		.count = 89,
	};
}

static void busy_times_decode(void **state)
{
	struct gc_gpu_record record = busy();
	struct event_gpu out;

	assert_int_equal(decode(record, &out), 0);
	assert_int_equal(out.kind, EVENT_GPU_BUSY);
	assert_int_equal(out.device, 3);
	assert_int_equal(out.start_ns, NOW - 1009);
	assert_int_equal(out.end_ns, NOW - 13);
	assert_int_equal(out.launch_ns, NOW - 2003);
	assert_int_equal(out.previous_ns, NOW - 3001);
	assert_int_equal(out.tid, 4711);
	assert_int_equal(out.gaps_ns, 101);
	assert_int_equal(out.starved_ns, 97);
	assert_int_equal(out.unsure_ns, 89);
	/* Clocks differ: nothing is launched after it began, nor was something before after that. */
	record.launch_ns = NOW;
	record.previous_ns = NOW + 1;
	assert_int_equal(decode(record, &out), 0);
	assert_int_equal(out.launch_ns, out.start_ns);
	assert_int_equal(out.previous_ns, 0);
	record.end_ns = NOW + SECOND;
	assert_int_equal(decode(record, &out), 0);
}

static void busy_times_that_cannot_be_are_refused(void **state)
{
	static const struct {
		uint64_t start_ns, end_ns, gaps_ns, starved_ns;
	} wrong[] = {
		{NOW - 5, NOW - 6, 0, 0},
		{NOW - 5, NOW + SECOND + 1, 0, 0},
		{0, NOW, 0, 0},
		{UINT64_MAX - 1, UINT64_MAX, 0, 0},
		{NOW - 100, NOW, 101, 0},
		{NOW - 100, NOW, 50, 51},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct gc_gpu_record record = busy();
		struct event_gpu out = {.device = 97};

		record.start_ns = wrong[i].start_ns;
		record.end_ns = wrong[i].end_ns;
		record.value = wrong[i].gaps_ns;
		record.starved_ns = wrong[i].starved_ns;
		assert_int_equal(decode(record, &out), -EBADMSG);
		assert_int_equal(out.device, 97);
	}
}

static void other_kinds_decode(void **state)
{
	struct event_gpu out;
	struct gc_gpu_record device = {.kind = GC_GPU_DEVICE, .device = 5, .value = 1 << 20};

	memset(device.name, 'n', sizeof(device.name)); /* without an end */
	assert_int_equal(decode(device, &out), 0);
	assert_int_equal(out.kind, EVENT_GPU_DEVICE);
	assert_int_equal(strlen(out.name), GC_GPU_NAME_BYTES);
	assert_int_equal(out.bytes, 1 << 20);
	assert_int_equal(out.start_ns, 0);
	assert_int_equal(decode((struct gc_gpu_record){.kind = GC_GPU_WAIT,
					.start_ns = NOW - 7,
					.end_ns = NOW,
					.value = NOW - 3,
					.flags = UINT16_MAX,
					.device = UINT32_MAX},
				 &out),
		0);
	assert_int_equal(out.kind, EVENT_GPU_WAIT);
	assert_int_equal(out.done_ns, NOW - 3);
	assert_int_equal(out.flags, GC_GPU_COPY | GC_GPU_QUEUE);
	assert_int_equal(decode((struct gc_gpu_record){.kind = GC_GPU_ALLOCATE,
					.start_ns = NOW - 7,
					.end_ns = NOW,
					.flags = UINT16_MAX,
					.value = UINT64_MAX},
				 &out),
		0);
	assert_int_equal(out.kind, EVENT_GPU_ALLOCATE);
	assert_int_equal(out.done_ns, 0);
	assert_int_equal(out.flags, GC_GPU_FREES | GC_GPU_FAILED);
	assert_int_equal(decode((struct gc_gpu_record){.kind = GC_GPU_LAUNCHER,
					.tid = 7,
					.count = 1013,
					.value = 6007},
				 &out),
		0);
	assert_int_equal(out.count, 1013);
	assert_int_equal(out.gap_ns, 6007);
	assert_int_equal(decode((struct gc_gpu_record){.kind = GC_GPU_MEMORY,
					.start_ns = NOW,
					.value = (uint64_t)-4099},
				 &out),
		0);
	assert_int_equal(out.more_bytes, -4099);
}

static void states_decode(void **state)
{
	static const struct {
		struct gc_gpu_record record;
		int r;
		enum event_gpu_kind kind;
	} cases[] = {
		{{.kind = GC_GPU_LOST, .count = 11}, 0, EVENT_GPU_LOST},
		/* What was launched may be due only in a while. */
		{{.kind = GC_GPU_LOST, .start_ns = 7, .end_ns = NOW + 60 * SECOND}, 0,
			EVENT_GPU_LOST},
		{{.kind = GC_GPU_LOST, .start_ns = 7, .end_ns = 5}, -EBADMSG, 0},
		{{.kind = GC_GPU_LOST, .start_ns = 7, .end_ns = UINT64_MAX}, -EBADMSG, 0},
		{{.kind = GC_GPU_CLOCK, .value = 31}, 0, EVENT_GPU_CLOCK},
		{{.kind = GC_GPU_CLOCK, .value = UINT64_MAX}, -EBADMSG, 0},
		{{.kind = GC_GPU_ASIDE, .start_ns = NOW}, 0, EVENT_GPU_ASIDE},
		{{.kind = GC_GPU_ASIDE}, -EBADMSG, 0},
		{{.kind = GC_GPU_BEGIN, .start_ns = 5}, 0, EVENT_GPU_BEGIN},
		{{.kind = GC_GPU_BEGIN, .start_ns = 5, .end_ns = NOW}, 0, EVENT_GPU_BEGIN},
		{{.kind = GC_GPU_BEGIN, .start_ns = 5, .end_ns = 4}, -EBADMSG, 0},
		{{.kind = GC_GPU_BEGIN, .start_ns = NOW + 2 * SECOND}, -EBADMSG, 0},
		{{.kind = GC_GPU_BEGIN}, -EBADMSG, 0},
		{{.kind = GC_GPU_REFUSED, .value = GC_GPU_NO_DRIVER}, 0, EVENT_GPU_REFUSED},
		{{.kind = GC_GPU_MEMORY}, -EBADMSG, 0},
		{{.kind = GC_GPU_WAIT, .start_ns = 9, .end_ns = 8}, -EBADMSG, 0},
		{{.kind = GC_GPU_LAUNCHER, .value = UINT64_MAX}, -EBADMSG, 0},
		{{.kind = GC_GPU_DEVICE, .value = UINT64_MAX}, -EBADMSG, 0},
		{{.kind = 0}, -EBADMSG, 0},
		{{.kind = 12}, -EBADMSG, 0},
		{{.kind = UINT16_MAX}, -EBADMSG, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct event_gpu out;
		int r = decode(cases[i].record, &out);

		assert_int_equal(r, cases[i].r);
		if (!r)
			assert_int_equal(out.kind, cases[i].kind);
	}
}

static void events_hold_what_they_say(void **state)
{
	struct event event = event_of(busy());
	struct event_gpu out;

	assert_int_equal(event_gpu(&event, 1, &out), -EBADMSG);
	wire.head.header.size = sizeof(wire);
	wire.head.count = GC_GPU_RECORDS;
	wire.head.lost = 101;
	wire.head.lost_start_ns = 7;
	wire.head.lost_end_ns = 11;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.gpu.count, GC_GPU_RECORDS);
	assert_int_equal(event.gpu.lost, 101);
	assert_true(event.gpu.dated);
	wire.head.flags = GC_GPU_BLIND;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.gpu.dated);
	wire.head.flags = 0;
	wire.head.lost_end_ns = UINT64_MAX;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.gpu.dated);
	wire.head.count = GC_GPU_RECORDS + 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.head.count = GC_GPU_RECORDS;
	wire.head.header.size--;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.head.count = 0;
	wire.head.header.size = sizeof(wire.head) - 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.head.header.size++;
	wire.head.lost = UINT64_MAX;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

/* A call of CUDA's driver: what it is, and nothing that cannot be. */
static void a_call_of_the_driver(void **state)
{
	struct gc_driver_call call = {
		.header = {GC_EVENT_DRIVER, sizeof(call), 5, 7, NOW},
		.start_ns = NOW - 1009,
		.launches = 97,
		.address = 0x10007,
		.bytes = 5003,
		.cookie = (__u32)GC_DRIVER_COOKIE(10, GC_DRIVER_ALLOCATE, 1, 2),
	};
	struct event event;

	assert_int_equal(GC_DRIVER_ADDRESS(call.cookie), 1);
	assert_int_equal(GC_DRIVER_BYTES(call.cookie), 2);
	assert_int_equal(event_decode(&call, sizeof(call), &event), 0);
	assert_int_equal(event.type, EVENT_DRIVER);
	assert_int_equal(event.head.tid, 7);
	assert_int_equal(event.driver.kind, GC_DRIVER_ALLOCATE);
	assert_int_equal(event.driver.function, 10);
	assert_int_equal(event.driver.start_ns, NOW - 1009);
	assert_int_equal(event.driver.launches, 97);
	assert_int_equal(event.driver.bytes, 5003);
	assert_false(event.driver.failed);
	call.result = 2;
	assert_int_equal(event_decode(&call, sizeof(call), &event), 0);
	assert_true(event.driver.failed);
	call.start_ns = NOW + 1;
	assert_int_equal(event_decode(&call, sizeof(call), &event), -EBADMSG);
	call.start_ns = NOW;
	call.launches = 1ull << 63;
	assert_int_equal(event_decode(&call, sizeof(call), &event), -EBADMSG);
	call.launches = 0;
	call.header.size = sizeof(call) - 1;
	assert_int_equal(event_decode(&call, sizeof(call) - 1, &event), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_times_decode),
		cmocka_unit_test(busy_times_that_cannot_be_are_refused),
		cmocka_unit_test(other_kinds_decode),
		cmocka_unit_test(states_decode),
		cmocka_unit_test(events_hold_what_they_say),
		cmocka_unit_test(a_call_of_the_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
