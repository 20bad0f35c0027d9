/* The shim's arithmetic against brute force: activities in any order → blocks, calls in any order → launches, clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
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

/* Whether [start, end) are all in one block of @runs, and @at and nothing before it. */
static void check_blocks(const struct runs *runs, const bool *busy)
{
	size_t block = 0;

	for (uint64_t ns = 0; ns < SPAN + 100; ns++) {
		bool in;

		while (block < runs->blocks.count && runs->blocks.items[block].end_ns <= ns)
			block++;
		in = block < runs->blocks.count && runs->blocks.items[block].start_ns <= ns;
		assert_int_equal(in, busy[ns]);
	}
	for (size_t i = 1; i < runs->blocks.count; i++)
		assert_true(runs->blocks.items[i].start_ns > runs->blocks.items[i - 1].end_ns);
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
						 activities[i].end_ns, i),
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
		assert_int_equal(runs_add(&runs, i * 10ULL, i * 10ULL + (i % 2 ? 9 : 10), i), 0);
	assert_false(runs.unordered);
	runs_settle(&runs);
	assert_int_equal(runs.blocks.count, 505);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_blocks_in_order),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
