/* CPython's records: bytes that BPF writes are decoded, all others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpython_event.h"
#include "cpython_wire.h"

static struct gc_pause sample(void)
{
	struct gc_pause wire = {
		.header = {GC_EVENT_PAUSE, GC_PAUSE_SIZE(2), 11, 13, 5000000023},
		.start_ns = 23,
		.interpreter = 0x1000,
		.image = 3,
		.generation = 2,
		.cause = GC_CAUSE_MANUAL,
		.collected = 47,
		.uncollectable = 5,
		.collections = {7, 11, 13},
		.frame_count = 2,
		.frames = {{.code = 17, .lasti = 19}, {.code = 29, .lasti = -1}},
	};

	return wire;
}

static void a_pause_longer_than_32_bits_decodes(void **state)
{
	struct gc_pause wire = sample();
	struct cpython_event event;

	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_PAUSE);
	assert_int_equal(event.head.time_ns - event.pause.start_ns, 5000000000);
	assert_int_equal(event.head.pid, 11);
	assert_int_equal(event.head.tid, 13);
	assert_int_equal(event.pause.collected, 47);
	assert_int_equal(event.pause.collections[2], 13);
	assert_int_equal(event.pause.frame_count, 2);
	assert_int_equal(event.pause.frames[1].code, 29);
	assert_int_equal(event.pause.frames[1].lasti, -1);
}

static void refuse(const struct gc_pause *wire, size_t size)
{
	struct cpython_event event = {.head.pid = 97};

	assert_int_equal(cpython_decode(wire, size, &event), -EBADMSG);
	assert_int_equal(event.head.pid, 97);
}

static struct gc_pause stopping(void)
{
	struct gc_pause wire = sample();

	wire.flags |= GC_PAUSE_STOPS;
	wire.stop_count = 2;
	for (uint32_t i = 0; i < 2; i++)
		wire.stops[i] = (struct gc_stop){wire.start_ns + 100 * i + 11,
			wire.start_ns + 100 * i + 13, wire.start_ns + 100 * i + 17};
	return wire;
}

static void stops_lie_in_their_pause(void **state)
{
	struct gc_pause wire = stopping();
	struct cpython_event event;

	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.stop_count, 2);
	assert_int_equal(event.pause.stops[1].stopped_ns - wire.start_ns, 113);
	wire.stops[1].request_ns = wire.stops[0].end_ns - 1;
	refuse(&wire, wire.header.size);
	wire = stopping();
	wire.stops[0].request_ns = wire.start_ns - 1;
	refuse(&wire, wire.header.size);
	wire = stopping();
	wire.stops[0].stopped_ns = wire.stops[0].end_ns + 1;
	refuse(&wire, wire.header.size);
	wire = stopping();
	wire.stops[1].end_ns = wire.header.time_ns + 1;
	refuse(&wire, wire.header.size);
	for (uint32_t count = 0; count <= 3; count += 3) {
		wire = stopping();
		wire.stop_count = count;
		refuse(&wire, wire.header.size);
		/* Nothing is said of stops: nothing is looked at. */
		wire.flags &= ~(uint32_t)GC_PAUSE_STOPS;
		assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	}
}

static void pauses_that_lie_are_refused(void **state)
{
	struct gc_pause wire;

	for (size_t size = 0; size < GC_PAUSE_SIZE(2); size++) {
		wire = sample();
		refuse(&wire, size); /* shorter than it says */
		wire.header.size = (uint32_t)size;
		refuse(&wire, sizeof(wire)); /* says less than it needs */
	}
	wire = sample();
	wire.frame_count = GC_MAX_FRAMES + 1;
	wire.header.size = sizeof(wire);
	refuse(&wire, sizeof(wire));
	wire = sample();
	wire.header.type = 4711;
	refuse(&wire, sizeof(wire));
	wire = sample();
	wire.image = GC_MAX_IMAGES;
	refuse(&wire, sizeof(wire));
	wire = sample();
	wire.start_ns = wire.header.time_ns + 1;
	refuse(&wire, sizeof(wire));
	wire = sample();
	wire.generation = 3;
	refuse(&wire, sizeof(wire));
	wire = sample();
	wire.cause = 4;
	refuse(&wire, sizeof(wire));
}

static void facts_of_a_pause_pass_where_they_make_sense(void **state)
{
	struct gc_pause wire = sample();
	struct cpython_event event;

	wire.flags = GC_PAUSE_SLEPT | GC_PAUSE_HEAP | GC_PAUSE_RSS | GC_PAUSE_WAITED |
		     GC_PAUSE_THRESHOLDS;
	wire.thresholds[0] = 701;
	wire.thresholds[1] = 0;
	wire.thresholds[2] = 13;
	wire.heap_objects = 1009;
	wire.heap_pending = 307;
	wire.rss_start = 8192;
	wire.rss_end = 4096;
	wire.waited_ns = 5000000000;
	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, wire.flags);
	assert_int_equal(event.pause.heap_objects, 1009);
	assert_int_equal(event.pause.heap_pending, 307);
	assert_int_equal(event.pause.rss_start, 8192);
	assert_int_equal(event.pause.rss_end, 4096);
	assert_int_equal(event.pause.waited_ns, 5000000000);
	assert_int_equal(event.pause.thresholds[0], 701);
	assert_int_equal(event.pause.thresholds[1], 0);
	assert_int_equal(event.pause.thresholds[2], 13);
	/* The target's own memory may hold anything: that costs the fact, not the pause. */
	wire.heap_pending = -1ull;
	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, wire.flags & ~GC_PAUSE_HEAP);
	wire.heap_pending = 307;
	wire.thresholds[2] = -1;
	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, wire.flags & ~GC_PAUSE_THRESHOLDS);
	/* Without its flag a field is whatever the record before it left there. */
	wire.flags = 0;
	wire.rss_end = wire.waited_ns = -1ull;
	assert_int_equal(cpython_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, 0);
	wire.flags = GC_PAUSE_RSS;
	refuse(&wire, wire.header.size);
	wire.rss_end = 4096;
	wire.flags = GC_PAUSE_WAITED;
	wire.waited_ns = 5000000001;
	refuse(&wire, wire.header.size);
}

static void long_names_are_cut_and_counted(void **state)
{
	struct gc_code wire = {
		.header = {GC_EVENT_CODE, sizeof(wire), 1, 1, 1},
		.id = 31,
		.name = {.length = 65536, .kind = 2},
		.file = {.length = 4, .kind = 1, .bytes = "a.py"},
	};
	struct cpython_event event;

	assert_int_equal(cpython_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.code.name.characters, GC_NAME_BYTES / 2);
	assert_int_equal(event.code.name.cut, 65536 - GC_NAME_BYTES / 2);
	assert_int_equal(event.code.file.cut, 0);
	wire.name.kind = 3;
	assert_int_equal(cpython_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.name.kind = 1;
	assert_true(event.code.has_table);
	wire.table_bytes = GC_NO_TABLE;
	assert_int_equal(cpython_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.code.has_table);
	wire.table_bytes = GC_MAX_TABLES * GC_TABLE_BYTES + 1;
	assert_int_equal(cpython_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void tables_decode(void **state)
{
	struct gc_table table = {
		.header = {GC_EVENT_TABLE, sizeof(table), 5, 7, 9}, .offset = 1024, .length = 3};
	struct cpython_event event;

	assert_int_equal(cpython_decode(&table, sizeof(table), &event), 0);
	assert_int_equal(event.table.offset, 1024);
	table.length = GC_TABLE_BYTES + 1;
	assert_int_equal(cpython_decode(&table, sizeof(table), &event), -EBADMSG);
	table.length = 3;
	table.offset = GC_MAX_TABLES * GC_TABLE_BYTES;
	assert_int_equal(cpython_decode(&table, sizeof(table), &event), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_longer_than_32_bits_decodes),
		cmocka_unit_test(stops_lie_in_their_pause),
		cmocka_unit_test(pauses_that_lie_are_refused),
		cmocka_unit_test(facts_of_a_pause_pass_where_they_make_sense),
		cmocka_unit_test(long_names_are_cut_and_counted),
		cmocka_unit_test(tables_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
