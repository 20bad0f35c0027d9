/* The shim's arithmetic against brute force: activities in any order → blocks, calls in any order → launches, clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "collector.h"
#include "launches.h"
#include "runs.h"

#define ROUNDS 307

static uint32_t seed = 1;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % sides;
}

#define SPAN 2003 /* ns that the activities of a round cover; each ns is looked at */

struct activity {
	uint64_t start_ns, end_ns;
	uint32_t correlation;
};

/* By start, and together what was busy. */
static void check_blocks(const struct runs *runs, const bool *busy)
{
	bool covered[SPAN + 100] = {false};

	for (size_t i = 0; i < runs->blocks.count; i++) {
		const struct block *block = &runs->blocks.items[i];

		memset(covered + block->start_ns, true, block->end_ns - block->start_ns);
		if (i)
			assert_true(block->start_ns >= block[-1].start_ns);
	}
	assert_memory_equal(covered, busy, sizeof(covered));
}

static void test_blocks(void **state)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct activity activities[101];
		bool busy[SPAN + 100] = {false};
		uint32_t count = 1 + dice(101);
		struct runs runs = {0};

		for (uint32_t i = 0; i < count; i++) {
			uint64_t start_ns = dice(SPAN);

			activities[i] = (struct activity){
				start_ns, start_ns + 1 + dice(round % 3 ? 7 : 90), i};
			memset(busy + start_ns, true, activities[i].end_ns - start_ns);
		}
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(runs_add(&runs, activities[i].start_ns,
						 activities[i].end_ns, i, round % 2),
				0);
		runs_settle(&runs);
		check_blocks(&runs, busy);
		for (size_t i = 0; i < runs.blocks.count; i++) {
			const struct block *block = &runs.blocks.items[i];

			assert_int_equal(block->start_ns, activities[block->correlation].start_ns);
		}
		list_free(&runs.blocks);
	}
}

/* In order and with gaps, as a stream has them, nothing is sorted. */
static void test_blocks_in_order(void **state)
{
	struct runs runs = {0};

	for (uint32_t i = 0; i < 1009; i++)
		assert_int_equal(runs_add(&runs, i * 10ULL, i * 10ULL + (i % 2 ? 9 : 10), i, true),
			0);
	assert_false(runs.unordered);
	runs_settle(&runs);
	assert_int_equal(runs.blocks.count, 505);
	list_free(&runs.blocks);
}

/* Of several streams, each activity keeps its place. */
static void test_blocks_of_streams(void **state)
{
	struct runs runs = {0};

	for (uint32_t i = 0; i < 1009; i++)
		assert_int_equal(runs_add(&runs, i * 10ULL, i * 10ULL + 25, i, false), 0);
	assert_false(runs.unordered);
	runs_settle(&runs);
	assert_int_equal(runs.blocks.count, 1009);
	list_free(&runs.blocks);
}

#define CALLS 1009

struct call_made {
	uint64_t start_ns, inner_ns;
	uint32_t tid;
};

/* The launch before @at of the same thread. */
static uint64_t previous_of(const struct call_made *calls, uint32_t at)
{
	for (uint32_t i = at; i-- > 0;)
		if (calls[i].tid == calls[at].tid)
			return calls[i].start_ns;
	return 0;
}

/* Records of calls come late by up to @late others, and inner calls before the outer ones. */
static void check_launches(uint32_t late, uint32_t first)
{
	static struct call_made calls[CALLS];
	uint32_t order[CALLS];
	struct launches launches;
	uint64_t counted = 0;

	assert_int_equal(launches_init(&launches), 0);
	for (uint32_t i = 0; i < CALLS; i++) {
		calls[i] = (struct call_made){1000 + i * 100ULL + dice(50), 0, 1 + dice(5)};
		calls[i].inner_ns = dice(3) ? 0 : calls[i].start_ns + 7;
		order[i] = i;
	}
	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t with = i + dice(late + 1), at = order[i];

		if (with < CALLS) {
			order[i] = order[with];
			order[with] = at;
		}
	}
	for (uint32_t i = 0; i < CALLS; i++) {
		const struct call_made *call = &calls[order[i]];
		uint32_t correlation = first + order[i] * 3;

		if (call->inner_ns)
			launches_add(&launches, correlation, call->tid, call->inner_ns,
				call->inner_ns + 5);
		launches_add(&launches, correlation, call->tid, call->start_ns,
			call->start_ns + 20);
	}
	for (uint32_t i = 0; i < CALLS; i++) {
		const struct launch *launch = launches_find(&launches, first + i * 3);

		assert_non_null(launch);
		assert_int_equal(launch->start_ns, calls[i].start_ns);
		assert_int_equal(launch->end_ns, calls[i].start_ns + 20);
		assert_int_equal(launch->previous_ns, previous_of(calls, i));
	}
	for (size_t i = 0; i < launches.launchers.count; i++)
		counted += launches.launchers.items[i]->launches;
	assert_int_equal(counted, CALLS);
	assert_null(launches_find(&launches, first + 1));
	launches_release(&launches);
}

static void test_launches(void **state)
{
	for (int round = 0; round < 53; round++) {
		check_launches(0, dice(1 << 20));
		check_launches(round, dice(1 << 20));
		check_launches(CALLS, UINT32_MAX - dice(1000)); /* numbers begin again at 0 */
	}
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void test_gap(void **state)
{
	for (int round = 0; round < 53; round++) {
		static uint64_t gaps[2003];
		uint64_t now = 1000, said, exact;
		uint32_t count = 1 + dice(2003);
		struct launches launches;

		assert_int_equal(launches_init(&launches), 0);
		launches_add(&launches, 1, 7, now, now + 1);
		assert_int_equal(launcher_gap_ns(launches.launchers.items[0]), 0);
		for (uint32_t i = 0; i < count; i++) {
			gaps[i] = 1 + dice(1 << (1 + dice(23)));
			now += gaps[i];
			launches_add(&launches, 2 + i, 7, now, now + 1);
		}
		qsort(gaps, count, sizeof(*gaps), by_value);
		exact = gaps[count - 1 - count / 100];
		said = launcher_gap_ns(launches.launchers.items[0]);
		assert_true(said > exact && said <= exact + exact / 16 + 1);
		launches_release(&launches);
	}
}

/* A clock that is off and drifts, read ten times a second: what is converted is no farther off than is said. */
static void test_clock(void **state)
{
	for (int drift = -500; drift <= 500; drift += 100) { /* ns a ms */
		struct clock clock = {0};

		for (uint64_t ms = 0; ms < 10000; ms += 100)
			clock_add(&clock, (struct clock_point){
						  .ours_ns = 1000000000 + ms * 1000000,
						  .theirs_ns = 77000000000 + ms * (1000000 + drift),
						  .width_ns = 40,
					  });
		for (uint64_t ms = 0; ms < 10000; ms += 7) {
			uint64_t ours = clock_ours(&clock, 77000000000 + ms * (1000000 + drift));
			int64_t off = (int64_t)(ours - 1000000000 - ms * 1000000);

			assert_true(llabs(off) <= (int64_t)clock.error_ns);
			assert_true(ms > 9900 || llabs(off) <= 1);
		}
		assert_true(clock.error_ns <= 20 + 100 * 500);
	}
}

#define KIND_DRIVER 4 /* CUPTI_ACTIVITY_KIND_DRIVER */
#define OWN_TID	    4711

static void own_call(struct collector *collector, uint64_t start_ns, uint64_t end_ns)
{
	const struct layout *layout = collector->layout;
	uint32_t kind = KIND_DRIVER, id = 0, tid = OWN_TID;
	char record[256] = {0};

	for (size_t i = 0; i < layout->driver_count; i++)
		if (layout->driver[i].does & CALL_OWN)
			id = layout->driver[i].id;
	memcpy(record, &kind, sizeof(kind));
	memcpy(record + layout->api.call, &id, sizeof(id));
	memcpy(record + layout->api.thread, &tid, sizeof(tid));
	memcpy(record + layout->api.start, &start_ns, sizeof(start_ns));
	memcpy(record + layout->api.end, &end_ns, sizeof(end_ns));
	collector_record(collector, record, 1);
	collector_tick(collector, UINT64_MAX, false);
}

/* A thread that has to wait for a processor before it makes its call: records are complete until it began to wait. */
static void test_late_canary(void **state)
{
	static struct collector collector;

	assert_int_equal(collector_init(&collector, &LAYOUT, true), 0);
	collector.own_tid = OWN_TID;
	collector_canary(&collector, 1000);
	collector_canary_done(&collector, 99000);
	collector_canary(&collector, 100000);
	collector_canary_done(&collector, 102000);
	own_call(&collector, 97000, 98000);
	assert_int_equal(collector.complete_ns, 1000);
	own_call(&collector, 101000, 101500);
	assert_int_equal(collector.complete_ns, 100000);
	assert_int_equal(collector.clock.error_ns, 0);
	collector_release(&collector);
}

#define KIND_RUNTIME 5	/* CUPTI_ACTIVITY_KIND_RUNTIME */
#define KIND_KERNEL  10 /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */

struct work {
	uint32_t stream;
	uint64_t launch_ns, start_ns, end_ns;
};

static void launch(struct collector *collector, const struct work *work, uint32_t correlation)
{
	const struct layout *layout = collector->layout;
	uint32_t kind = KIND_RUNTIME, id = 0;
	uint64_t returned_ns = work->launch_ns + 1;
	char call[256] = {0}, kernel[512] = {0};

	for (size_t i = 0; i < layout->runtime_count && !id; i++)
		if (layout->runtime[i].does == CALL_LAUNCHES)
			id = layout->runtime[i].id;
	assert_int_not_equal(id, 0);
	memcpy(call, &kind, sizeof(kind));
	memcpy(call + layout->api.call, &id, sizeof(id));
	memcpy(call + layout->api.correlation, &correlation, sizeof(correlation));
	memcpy(call + layout->api.start, &work->launch_ns, sizeof(work->launch_ns));
	memcpy(call + layout->api.end, &returned_ns, sizeof(returned_ns));
	collector_record(collector, call, 1);
	kind = KIND_KERNEL;
	memcpy(kernel, &kind, sizeof(kind));
	memcpy(kernel + layout->kernel.stream, &work->stream, sizeof(work->stream));
	memcpy(kernel + layout->kernel.correlation, &correlation, sizeof(correlation));
	memcpy(kernel + layout->kernel.start, &work->start_ns, sizeof(work->start_ns));
	memcpy(kernel + layout->kernel.end, &work->end_ns, sizeof(work->end_ns));
	collector_record(collector, kernel, 1);
	collector_match(collector);
}

/* What is said of @count works, the first @seam of which come a tick earlier: gaps, starved and unsure, over all records. */
static void say_works(const struct work *works, uint32_t count, uint32_t seam, uint64_t ret_sums[3])
{
	static struct collector collector;

	memset(ret_sums, 0, 3 * sizeof(*ret_sums));
	assert_int_equal(collector_init(&collector, &LAYOUT, true), 0);
	for (uint32_t i = 0; i < count; i++) {
		if (i == seam)
			collector_tick(&collector, UINT64_MAX, true);
		launch(&collector, &works[i], i + 1);
	}
	collector_tick(&collector, UINT64_MAX, true);
	for (size_t i = 0; i < collector.out.count; i++) {
		const struct gc_gpu_record *record = &collector.out.items[i];

		if (record->kind != GC_GPU_BUSY)
			continue;
		ret_sums[0] += record->value;
		ret_sums[1] += record->starved_ns;
		ret_sums[2] += record->count;
	}
	collector_release(&collector);
}

/* All streams starve at the seam: the one that comes late behind it may have starved since then, and no longer. */
static void test_seam_in_a_gap(void **state)
{
	static const struct work works[] = {
		{7, 90000, 100000, 140000},
		{7, 150000, 152000, 180000},
		{8, 170000, 173000, 190000},
	};
	uint64_t whole[3], parts[3];

	say_works(works, 3, UINT32_MAX, whole);
	say_works(works, 3, 1, parts);
	assert_int_equal(whole[0], 12000);
	assert_int_equal(whole[1], 12000);
	assert_int_equal(whole[2], 7000 + 21000);     /* both work; then since 152000 */
	assert_int_equal(parts[0] + 12000, whole[0]); /* which whoever joins the records adds */
	assert_int_equal(parts[1] + 12000, whole[1]);
	assert_int_equal(parts[2], whole[2]);
}

/* What was said before lasts longer than what comes next: a gap there is none of the device's. */
static void test_seam_beside_a_long_one(void **state)
{
	static const struct work works[] = {
		{7, 90000, 100000, 200000},
		{8, 95000, 130000, 140000},
		{8, 96000, 160000, 170000},
		{8, 97000, 207000, 210000},
	};
	uint64_t sums[3];

	for (uint32_t seam = 1; seam <= 4; seam++) {
		say_works(works, 4, seam, sums);
		assert_int_equal(sums[0], seam == 3 ? 0 : 7000);
		assert_int_equal(sums[1], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_blocks_in_order),
		cmocka_unit_test(test_blocks_of_streams),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_late_canary),
		cmocka_unit_test(test_seam_in_a_gap),
		cmocka_unit_test(test_seam_beside_a_long_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
