/* HotSpot's records: bytes that BPF writes are decoded, all others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hotspot_event.h"
#include "hotspot_wire.h"
#include "pause.h"

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
			{.code = 47,
				.check = 53,
				.compile_id = 59,
				.at = -1,
				.kind = GC_JAVA_COMPILED}},
	};
}

static void safepoints_decode(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct hotspot_event event = {};

	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_SAFEPOINT);
	assert_int_equal(event.head.time_ns - event.safepoint.sync_ns, 5000000000);
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
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.sync_ns, 0);
}

static void bytes_of_a_safepoint_that_were_not_read_are_none(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct hotspot_event event = {};

	wire.flags = GC_SAFEPOINT_ARGUMENTS;
	wire.heap_after = -1ull; /* the target's own memory may hold anything */
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.flags, EVENT_SAFEPOINT_ARGUMENTS);
	assert_int_equal(event.safepoint.statics_bytes, 0);
	assert_int_equal(event.safepoint.perf_bytes, 0);
	assert_int_equal(event.safepoint.summaries, 0);
}

static void safepoints_without_frames_end_after_their_counters(void **state)
{
	struct gc_safepoint wire = sample_safepoint();
	struct hotspot_event event = {};

	wire.frame_count = 0;
	wire.header.size = GC_SAFEPOINT_SHORT_SIZE(3);
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.safepoint.perf_bytes, 3);
	assert_int_equal(event.safepoint.stack.count, 0);
	wire.perf_bytes = 4;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.perf_bytes = 0xffffffff;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.perf_bytes = 0;
	wire.header.size = GC_SAFEPOINT_SHORT_SIZE(0) - 1;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void refuse_safepoint(const struct gc_safepoint *wire)
{
	struct hotspot_event event = {.head.pid = 97};

	assert_int_equal(hotspot_decode(wire, sizeof(*wire), &event), -EBADMSG);
	assert_int_equal(event.head.pid, 97);
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
		.ran_ns = 8,
		.late_tid = 17,
		.stack_flags = GC_STACK_BROKEN,
		.frame_count = 1,
		.frames = {{.code = 41, .kind = GC_JAVA_COMPILED}},
	};
	struct hotspot_event event = {.head.pid = 97};

	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_LATE);
	assert_int_equal(event.late.begin_ns, 23);
	assert_int_equal(event.late.arrived_ns, 31);
	assert_int_equal(event.late.ran_ns, 8);
	assert_int_equal(event.late.tid, 17);
	assert_int_equal(event.late.stack.flags, EVENT_STACK_BROKEN);
	assert_int_equal(event.late.stack.frames[0].code, 41);
	wire.ran_ns = 9;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.ran_ns = GC_RAN_UNKNOWN;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.late.ran_ns, UNKNOWN);
	wire.arrived_ns = 38;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.arrived_ns = 22;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.arrived_ns = 31;
	wire.header.size--;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.header.size = GC_LATE_SIZE(0) - 1;
	wire.frame_count = 0;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.header.size++;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), 0);
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
	struct hotspot_event event = {.head.pid = 97};

	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), 0);
	assert_int_equal(event.type, EVENT_STALL);
	assert_int_equal(event.head.time_ns - event.stall.start_ns, 5000000000);
	assert_int_equal(event.head.tid, 13);
	assert_int_equal(event.stall.thread, 0x2000);
	assert_int_equal(event.stall.unloaded, 101);
	assert_int_equal(event.stall.kind, EVENT_STALL_LOCKER);
	assert_int_equal(event.stall.collectors, 4);
	assert_int_equal(event.stall.collections_start[3], 7);
	assert_int_equal(event.stall.collections_end[1], 4);
	assert_int_equal(event.stall.stack.count, 1);
	for (uint32_t kind = 0; kind <= 5; kind += 5) {
		wire.kind = kind;
		assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	}
	wire.kind = GC_STALL_EXPLICIT;
	wire.collectors = GC_COLLECTORS + 1;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.collectors = 0;
	wire.start_ns = wire.header.time_ns + 1;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.start_ns = 0;
	wire.frame_count = 2;
	assert_int_equal(hotspot_decode(&wire, wire.header.size, &event), -EBADMSG);
	wire.header.size = GC_STALL_SIZE(0) - 1;
	wire.frame_count = 0;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void phases_decode(void **state)
{
	struct gc_phase wire = {.header = {GC_EVENT_PHASE, sizeof(wire), 5, 7, 9},
		.begins = 1,
		.name_bytes = 15,
		.name = "Concurrent Mark"};
	struct hotspot_event event = {.head.pid = 97};

	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_PHASE);
	assert_true(event.phase.begins);
	assert_int_equal(event.phase.name_bytes, 15);
	assert_memory_equal(event.phase.name, "Concurrent Mark", 15);
	wire.begins = 0;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.phase.begins);
	assert_int_equal(event.phase.name_bytes, 0);
	wire.begins = 2;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.begins = 1;
	wire.name_bytes = GC_VM_NAME_BYTES + 1;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire.name_bytes = GC_VM_NAME_BYTES;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), 0);
	wire.header.size--;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

static void killed_jvms_decode(void **state)
{
	struct gc_killed wire = {.header = {GC_EVENT_KILLED, sizeof(wire), 5, 7, 9}, .start_ns = 3};
	struct hotspot_event event = {.head.pid = 97};

	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_KILLED);
	assert_int_equal(event.killed.start_ns, 3);
	wire.header.size--;
	assert_int_equal(hotspot_decode(&wire, sizeof(wire), &event), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safepoints_decode),
		cmocka_unit_test(bytes_of_a_safepoint_that_were_not_read_are_none),
		cmocka_unit_test(safepoints_without_frames_end_after_their_counters),
		cmocka_unit_test(safepoints_that_lie_are_refused),
		cmocka_unit_test(late_threads_decode),
		cmocka_unit_test(stalls_decode),
		cmocka_unit_test(phases_decode),
		cmocka_unit_test(killed_jvms_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
