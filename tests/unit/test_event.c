/* event: bytes that BPF writes are decoded, all others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event.h"
#include "gc_wire.h"

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
	struct event event;

	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_PAUSE);
	assert_int_equal(event.time_ns - event.pause.start_ns, 5000000000);
	assert_int_equal(event.pid, 11);
	assert_int_equal(event.tid, 13);
	assert_int_equal(event.pause.collected, 47);
	assert_int_equal(event.pause.collections[2], 13);
	assert_int_equal(event.pause.frame_count, 2);
	assert_int_equal(event.pause.frames[1].code, 29);
	assert_int_equal(event.pause.frames[1].lasti, -1);
}

static void refuse(const struct gc_pause *wire, size_t size)
{
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(wire, size, &event), -EBADMSG);
	assert_int_equal(event.pid, 97);
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
	struct event event;

	wire.flags = GC_PAUSE_SLEPT | GC_PAUSE_HEAP | GC_PAUSE_RSS | GC_PAUSE_WAITED;
	wire.heap_objects = 1009;
	wire.heap_pending = 307;
	wire.rss_start = 8192;
	wire.rss_end = 4096;
	wire.waited_ns = 5000000000;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, wire.flags);
	assert_int_equal(event.pause.heap_objects, 1009);
	assert_int_equal(event.pause.heap_pending, 307);
	assert_int_equal(event.pause.rss_start, 8192);
	assert_int_equal(event.pause.rss_end, 4096);
	assert_int_equal(event.pause.waited_ns, 5000000000);
	/* The target's own memory may hold anything: that costs the fact, not the pause. */
	wire.heap_pending = -1ull;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.pause.flags, wire.flags & ~GC_PAUSE_HEAP);
	/* Without its flag a field is whatever the record before it left there. */
	wire.flags = 0;
	wire.rss_end = wire.waited_ns = -1ull;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
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
	struct event event;

	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.code.name.characters, GC_NAME_BYTES / 2);
	assert_int_equal(event.code.name.cut, 65536 - GC_NAME_BYTES / 2);
	assert_int_equal(event.code.file.cut, 0);
	wire.name.kind = 3;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.name.kind = 1;
	assert_true(event.code.has_table);
	wire.table_bytes = GC_NO_TABLE;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.code.has_table);
	wire.table_bytes = GC_MAX_TABLES * GC_TABLE_BYTES + 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void processes_and_tables_decode(void **state)
{
	struct gc_process fork = {.header = {GC_EVENT_FORK, sizeof(fork), 5, 7, 9}, .child = 11};
	struct gc_table table = {
		.header = {GC_EVENT_TABLE, sizeof(table), 5, 7, 9}, .offset = 1024, .length = 3};
	struct event event;

	assert_int_equal(event_decode(&fork, sizeof(fork), &event), 0);
	assert_int_equal(event.process.child, 11);
	fork.header.type = GC_EVENT_EXEC;
	memset(fork.comm, 'x', sizeof(fork.comm)); /* without an end */
	assert_int_equal(event_decode(&fork, sizeof(fork), &event), 0);
	assert_string_equal(event.process.comm, "xxxxxxxxxxxxxxxx");
	assert_int_equal(event_decode(&table, sizeof(table), &event), 0);
	assert_int_equal(event.table.offset, 1024);
	table.length = GC_TABLE_BYTES + 1;
	assert_int_equal(event_decode(&table, sizeof(table), &event), -EBADMSG);
	table.length = 3;
	table.offset = GC_MAX_TABLES * GC_TABLE_BYTES;
	assert_int_equal(event_decode(&table, sizeof(table), &event), -EBADMSG);
}

static struct gc_mark sample_mark(void)
{
	return (struct gc_mark){
		.header = {GC_EVENT_MARK, sizeof(struct gc_mark), 5, 7, 9},
		.signal = 3,
		.flags = GC_MARK_RSS,
		.key = 0x8000000000000011,
		.number = 460,
		.rss_bytes = 4096 * 23ull,
	};
}

static void marks_decode(void **state)
{
	struct gc_mark wire = sample_mark();
	struct event event = {};

	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_MARK);
	assert_int_equal(event.tid, 7);
	assert_int_equal(event.time_ns, 9);
	assert_int_equal(event.mark.signal, 3);
	assert_true(event.mark.key == 0x8000000000000011);
	assert_int_equal(event.mark.number, 460);
	assert_true(event.mark.has_rss);
	assert_int_equal(event.mark.rss_bytes, 4096 * 23);
	wire.flags = 0;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.mark.has_rss);
}

static void marks_that_lie_are_refused(void **state)
{
	struct gc_mark wire = sample_mark();
	struct event event = {.pid = 97};

	wire.header.size--;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire = sample_mark();
	assert_int_equal(event_decode(&wire, sizeof(wire) - 1, &event), -EBADMSG);
	wire.signal = GC_MAX_SIGNALS;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire = sample_mark();
	wire.rss_bytes = 1ull << 63;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	assert_int_equal(event.pid, 97);
}

static void labels_decode_and_say_when_they_are_cut(void **state)
{
	struct gc_label wire = {.header = {GC_EVENT_LABEL, sizeof(wire), 5, 7, 9}, .signal = 1,
		.length = 11, .key = 13, .bytes = "Optimizer.s"};
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_LABEL);
	assert_int_equal(event.label.key, 13);
	assert_int_equal(event.label.length, 11);
	assert_memory_equal(event.label.bytes, "Optimizer.s", 11);
	assert_false(event.label.cut);
	wire.length = GC_LABEL_BYTES;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.label.length, GC_LABEL_BYTES);
	assert_false(event.label.cut);
	wire.length = 0xffffffff;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.label.length, GC_LABEL_BYTES);
	assert_true(event.label.cut);
	wire.signal = GC_MAX_SIGNALS;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.signal = 1;
	wire.header.size = sizeof(wire) - 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static struct gc_safepoint sample_safepoint(void)
{
	return (struct gc_safepoint){
		.header = {GC_EVENT_SAFEPOINT, GC_SAFEPOINT_SIZE(2), 11, 13, 5000000029},
		.begin_ns = 23,
		.sync_ns = 29,
		.begin_argument = 7,
		.sync_argument = 11,
		.end_argument = 13,
		.op_vtable = 0x1000,
		.thread = 0x2000,
		.thread_vtable = 0x3000,
		.heap_before = 1 << 20,
		.heap_after = 1 << 10,
		.requester_tid = 17,
		.requester_host_tid = 19,
		.late_tid = 31,
		.summaries = 2,
		.flags = GC_SAFEPOINT_STATICS | GC_SAFEPOINT_PERF,
		.stack_flags = GC_STACK_VIRTUAL,
		.frame_count = 2,
		.statics_bytes = 5,
		.perf_bytes = 3,
		.name_bytes = 7,
		.name = "Cleanup",
		.statics = "stati",
		.perf = "per",
		.frames = {{.code = 41, .check = 43, .at = 3, .kind = GC_JAVA_INTERPRETED},
			{.code = 47, .check = 53, .compile_id = 59, .at = -1,
				.kind = GC_JAVA_COMPILED}},
	};
}

static void safepoints_decode(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct event event = {};

	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_SAFEPOINT);
	assert_int_equal(event.time_ns - event.safepoint.sync_ns, 5000000000);
	assert_int_equal(event.safepoint.begin_ns, 23);
	assert_int_equal(event.safepoint.begin_argument, 7);
	assert_int_equal(event.safepoint.sync_argument, 11);
	assert_int_equal(event.safepoint.end_argument, 13);
	assert_int_equal(event.safepoint.op_vtable, 0x1000);
	assert_int_equal(event.safepoint.thread, 0x2000);
	assert_int_equal(event.safepoint.thread_vtable, 0x3000);
	assert_int_equal(event.safepoint.heap_before, 1 << 20);
	assert_int_equal(event.safepoint.heap_after, 1 << 10);
	assert_int_equal(event.safepoint.summaries, 2);
	assert_int_equal(event.safepoint.requester_tid, 17);
	assert_int_equal(event.safepoint.requester_host_tid, 19);
	assert_int_equal(event.safepoint.late_tid, 31);
	assert_int_equal(event.safepoint.flags, EVENT_SAFEPOINT_STATICS | EVENT_SAFEPOINT_PERF);
	assert_int_equal(event.safepoint.name_bytes, 7);
	assert_memory_equal(event.safepoint.name, "Cleanup", 7);
	assert_int_equal(event.safepoint.statics_bytes, 5);
	assert_memory_equal(event.safepoint.statics, "stati", 5);
	assert_int_equal(event.safepoint.perf_bytes, 3);
	assert_memory_equal(event.safepoint.perf, "per", 3);
	assert_int_equal(event.safepoint.stack.flags, EVENT_STACK_VIRTUAL);
	assert_int_equal(event.safepoint.stack.count, 2);
	assert_int_equal(event.safepoint.stack.frames[0].kind, EVENT_INTERPRETED);
	assert_int_equal(event.safepoint.stack.frames[1].check, 53);
	assert_int_equal(event.safepoint.stack.frames[1].compile_id, 59);
	assert_int_equal(event.safepoint.stack.frames[1].at, -1);
	wire.sync_ns = 0; /* it is not probed everywhere */
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.sync_ns, 0);
}

static void bytes_of_a_safepoint_that_were_not_read_are_none(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct event event = {};

	wire.flags = GC_SAFEPOINT_ARGUMENTS;
	wire.heap_after = -1ull; /* the target's own memory may hold anything */
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.flags, EVENT_SAFEPOINT_ARGUMENTS);
	assert_int_equal(event.safepoint.statics_bytes, 0);
	assert_int_equal(event.safepoint.perf_bytes, 0);
	assert_int_equal(event.safepoint.summaries, 0);
}

static void safepoints_without_frames_end_after_their_counters(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct event event = {};

	wire.frame_count = 0;
	wire.header.size = GC_SAFEPOINT_SHORT_SIZE(3);
	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.perf_bytes, 3);
	assert_int_equal(event.safepoint.stack.count, 0);
	wire.perf_bytes = 4;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.perf_bytes = 0xffffffff;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.perf_bytes = 0;
	wire.header.size = GC_SAFEPOINT_SHORT_SIZE(0) - 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void refuse_safepoint(const struct gc_safepoint *wire)
{
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(wire, sizeof(*wire), &event), -EBADMSG);
	assert_int_equal(event.pid, 97);
}

#define REFUSE_SAFEPOINT(change)                                                                   \
	do {                                                                                       \
		struct gc_safepoint wire = sample_safepoint();                                     \
		wire.change;                                                                       \
		refuse_safepoint(&wire);                                                           \
	} while (0)

static void safepoints_that_lie_are_refused(void **state)
{
	for (uint32_t size = 0; size < GC_SAFEPOINT_SIZE(2); size++)
		REFUSE_SAFEPOINT(header.size = size);
	REFUSE_SAFEPOINT(begin_ns = wire.header.time_ns + 1);
	REFUSE_SAFEPOINT(sync_ns = wire.begin_ns - 1);
	REFUSE_SAFEPOINT(sync_ns = wire.header.time_ns + 1);
	REFUSE_SAFEPOINT(statics_bytes = GC_STATICS_BYTES + 1);
	REFUSE_SAFEPOINT(perf_bytes = GC_PERF_BYTES + 1);
	REFUSE_SAFEPOINT(name_bytes = GC_VM_NAME_BYTES + 1);
	REFUSE_SAFEPOINT(flags = 8);
	REFUSE_SAFEPOINT(stack_flags = 16);
	REFUSE_SAFEPOINT(frame_count = 3); /* than the record has bytes for */
	REFUSE_SAFEPOINT(frame_count = 0xffffffff);
	REFUSE_SAFEPOINT(frames[1].kind = 0);
	REFUSE_SAFEPOINT(frames[0].kind = 3);
	REFUSE_SAFEPOINT(frame_count = GC_JAVA_FRAMES + 1; wire.header.size = sizeof(wire));
}

static void late_threads_decode(void **state)
{
	struct gc_late wire = {
		.header = {GC_EVENT_LATE, GC_LATE_SIZE(1), 11, 13, 37},
		.begin_ns = 23,
		.arrived_ns = 31,
		.late_tid = 17,
		.stack_flags = GC_STACK_BROKEN,
		.frame_count = 1,
		.frames = {{.code = 41, .kind = GC_JAVA_COMPILED}},
	};
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_LATE);
	assert_int_equal(event.late.begin_ns, 23);
	assert_int_equal(event.late.arrived_ns, 31);
	assert_int_equal(event.late.tid, 17);
	assert_int_equal(event.late.stack.flags, EVENT_STACK_BROKEN);
	assert_int_equal(event.late.stack.frames[0].code, 41);
	wire.arrived_ns = 38;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.arrived_ns = 22;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.arrived_ns = 31;
	wire.header.size--;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.header.size = GC_LATE_SIZE(0) - 1;
	wire.frame_count = 0;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.header.size++;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.late.stack.count, 0);
}

static void stalls_decode(void **state)
{
	struct gc_stall wire = {
		.header = {GC_EVENT_STALL, GC_STALL_SIZE(1), 11, 13, 5000000023},
		.start_ns = 23,
		.thread = 0x2000,
		.collections_start = {2, 3, 5, 7},
		.collections_end = {2, 4, 5, 7},
		.unloaded = 101,
		.kind = GC_STALL_LOCKER,
		.collectors = 4,
		.frame_count = 1,
		.frames = {{.code = 41, .kind = GC_JAVA_INTERPRETED}},
	};
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_STALL);
	assert_int_equal(event.time_ns - event.stall.start_ns, 5000000000);
	assert_int_equal(event.tid, 13);
	assert_int_equal(event.stall.thread, 0x2000);
	assert_int_equal(event.stall.unloaded, 101);
	assert_int_equal(event.stall.kind, EVENT_STALL_LOCKER);
	assert_int_equal(event.stall.collectors, 4);
	assert_int_equal(event.stall.collections_start[3], 7);
	assert_int_equal(event.stall.collections_end[1], 4);
	assert_int_equal(event.stall.stack.count, 1);
	for (uint32_t kind = 0; kind <= 5; kind += 5) {
		wire.kind = kind;
		assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	}
	wire.kind = GC_STALL_EXPLICIT;
	wire.collectors = GC_COLLECTORS + 1;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.collectors = 0;
	wire.start_ns = wire.header.time_ns + 1;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.start_ns = 0;
	wire.frame_count = 2;
	assert_int_equal(event_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.header.size = GC_STALL_SIZE(0) - 1;
	wire.frame_count = 0;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void phases_decode(void **state)
{
	struct gc_phase wire = {.header = {GC_EVENT_PHASE, sizeof(wire), 5, 7, 9}, .begins = 1,
		.name_bytes = 15, .name = "Concurrent Mark"};
	struct event event = {.pid = 97};

	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_PHASE);
	assert_true(event.phase.begins);
	assert_int_equal(event.phase.name_bytes, 15);
	assert_memory_equal(event.phase.name, "Concurrent Mark", 15);
	wire.begins = 0;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.phase.begins);
	assert_int_equal(event.phase.name_bytes, 0);
	wire.begins = 2;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.begins = 1;
	wire.name_bytes = GC_VM_NAME_BYTES + 1;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.name_bytes = GC_VM_NAME_BYTES;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	wire.header.size--;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_longer_than_32_bits_decodes),
		cmocka_unit_test(pauses_that_lie_are_refused),
		cmocka_unit_test(facts_of_a_pause_pass_where_they_make_sense),
		cmocka_unit_test(long_names_are_cut_and_counted),
		cmocka_unit_test(processes_and_tables_decode),
		cmocka_unit_test(marks_decode),
		cmocka_unit_test(marks_that_lie_are_refused),
		cmocka_unit_test(labels_decode_and_say_when_they_are_cut),
		cmocka_unit_test(safepoints_decode),
		cmocka_unit_test(bytes_of_a_safepoint_that_were_not_read_are_none),
		cmocka_unit_test(safepoints_without_frames_end_after_their_counters),
		cmocka_unit_test(safepoints_that_lie_are_refused),
		cmocka_unit_test(late_threads_decode),
		cmocka_unit_test(stalls_decode),
		cmocka_unit_test(phases_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
