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

static void processes_decode(void **state)
{
	struct gc_process fork = {.header = {GC_EVENT_FORK, sizeof(fork), 5, 7, 9}, .child = 11};
	struct event event;

	assert_int_equal(event_decode(&fork, sizeof(fork), &event), 0);
	assert_int_equal(event.process.child, 11);
	fork.header.type = GC_EVENT_EXEC;
	memset(fork.comm, 'x', sizeof(fork.comm)); /* without an end */
	assert_int_equal(event_decode(&fork, sizeof(fork), &event), 0);
	assert_string_equal(event.process.comm, "xxxxxxxxxxxxxxxx");
}

static void records_that_are_cut_or_of_no_known_type_are_refused(void **state)
{
	struct gc_process fork = {.header = {GC_EVENT_FORK, sizeof(fork), 5, 7, 9}, .child = 11};
	struct event event = {.head.pid = 97};

	for (size_t size = 0; size < sizeof(fork); size++) {
		assert_int_equal(event_check(&fork, size), -EBADMSG);
		assert_int_equal(event_decode(&fork, size, &event), -EBADMSG);
	}
	assert_int_equal(event_check(&fork, sizeof(fork)), 0);
	fork.header.size = sizeof(fork.header) - 1;
	assert_int_equal(event_check(&fork, sizeof(fork)), -EBADMSG);
	fork.header.size = sizeof(fork) - 1;
	assert_int_equal(event_decode(&fork, sizeof(fork), &event), -EBADMSG);
	fork.header.size = sizeof(fork);
	fork.header.type = 4711;
	assert_int_equal(event_check(&fork, sizeof(fork)), 0); /* it may be some runtime's */
	assert_int_equal(event_decode(&fork, sizeof(fork), &event), -EBADMSG);
	assert_int_equal(event.head.pid, 97);
}

static struct gc_mark sample_mark(void)
{
	return (struct gc_mark){
		.header = {GC_EVENT_MARK, sizeof(struct gc_mark), 5, 7, 9},
		.signal = 3,
		.flags = GC_MARK_RSS | GC_MARK_WORK,
		.key = 0x8000000000000011,
		.number = 460,
		.rss_bytes = 4096 * 23ull,
		.work_ns = 31,
		.skipped = 29,
	};
}

static void marks_decode(void **state)
{
	struct gc_mark wire = sample_mark();
	struct event event = {};

	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_int_equal(event.type, EVENT_MARK);
	assert_int_equal(event.head.tid, 7);
	assert_int_equal(event.head.time_ns, 9);
	assert_int_equal(event.mark.signal, 3);
	assert_true(event.mark.key == 0x8000000000000011);
	assert_int_equal(event.mark.number, 460);
	assert_true(event.mark.has_rss);
	assert_int_equal(event.mark.rss_bytes, 4096 * 23);
	assert_int_equal(event.mark.skipped, 29);
	assert_true(event.mark.has_work);
	assert_int_equal(event.mark.work_ns, 31);
	wire.flags = GC_MARK_WORK;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.mark.has_rss);
	assert_true(event.mark.has_work);
	wire.flags = 0;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), 0);
	assert_false(event.mark.has_work);
}

static void marks_that_lie_are_refused(void **state)
{
	struct gc_mark wire = sample_mark();
	struct event event = {.head.pid = 97};

	wire.header.size--;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire = sample_mark();
	assert_int_equal(event_decode(&wire, sizeof(wire) - 1, &event), -EBADMSG);
	wire.signal = GC_MAX_SIGNALS;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire = sample_mark();
	wire.rss_bytes = 1ull << 63;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	wire = sample_mark();
	wire.work_ns = 1ull << 63;
	assert_int_equal(event_decode(&wire, sizeof(wire), &event), -EBADMSG);
	assert_int_equal(event.head.pid, 97);
}

static void labels_decode_and_say_when_they_are_cut(void **state)
{
	struct gc_label wire = {.header = {GC_EVENT_LABEL, sizeof(wire), 5, 7, 9},
		.signal = 1,
		.length = 11,
		.key = 13,
		.bytes = "Optimizer.s"};
	struct event event = {.head.pid = 97};

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_decode),
		cmocka_unit_test(records_that_are_cut_or_of_no_known_type_are_refused),
		cmocka_unit_test(marks_decode),
		cmocka_unit_test(marks_that_lie_are_refused),
		cmocka_unit_test(labels_decode_and_say_when_they_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
