/* Which pauses get a line in the live view, and how the others are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live_lines.h"

#define MS 1000000ull

static const struct live_lines fresh = {.min_ns = LIVE_MIN_NS, .most = LIVE_LINES};

/* What live_lines_tell() writes after the time. */
static const char *told(struct live_lines *lines)
{
	const struct recording recording = {0};
	static char kept[256];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	live_lines_tell(lines, out, &recording);
	fclose(out);
	snprintf(kept, sizeof(kept), "%s", size > 12 ? text + 12 : text);
	free(text);
	return kept;
}

static void test_short_ones_are_counted(void **state)
{
	struct live_lines lines = fresh;

	for (int i = 0; i < 601; i++)
		assert_false(live_lines_take(&lines, 5000 * MS + i, 40000));
	assert_true(live_lines_take(&lines, 5001 * MS, MS));
	assert_true(lines.last_ns == 5001 * MS); /* no earlier than the line above it */
	assert_false(live_lines_due(&lines, 5999 * MS));
	assert_true(live_lines_due(&lines, 6000 * MS));
	assert_string_equal(told(&lines),
		"       … 601 more pauses, 24.04 ms in all, longest 40.00 µs (--min-duration 0 shows each)\n");
	assert_string_equal(told(&lines), "");
	assert_false(live_lines_due(&lines, 60000 * MS));
	assert_false(live_lines_take(&lines, 60000 * MS, 999999));
	assert_string_equal(told(&lines),
		"       … 1 more pause, 1.000 ms in all, longest 1.000 ms\n");
}

/* However many long ones there are, the longest of a second are among those shown. */
static void test_many_long_ones(void **state)
{
	struct live_lines lines = fresh;
	unsigned int shown = 0;

	for (int i = 0; i < 307; i++)
		shown += live_lines_take(&lines, 1000 * MS + i * MS, 2 * MS);
	assert_int_equal(shown, LIVE_LINES);
	assert_true(live_lines_take(&lines, 1400 * MS, 3 * MS));
	assert_false(live_lines_take(&lines, 1500 * MS, 3 * MS));
	assert_true(live_lines_take(&lines, 2000 * MS, 2 * MS)); /* another second */
	assert_int_equal(lines.left_out.count, 307 - LIVE_LINES + 1);
	assert_int_equal(lines.left_out.total_ns, (307 - LIVE_LINES) * 2 * MS + 3 * MS);
}

static void test_as_the_user_says(void **state)
{
	struct live_lines all = {0}, some = {.min_ns = 5 * MS};

	for (int i = 0; i < 307; i++) {
		assert_true(live_lines_take(&all, 1000 * MS + i, (uint64_t)i % 2));
		assert_true(live_lines_take(&some, 1000 * MS + i, 5 * MS));
		assert_false(live_lines_take(&some, 1000 * MS + i, 5 * MS - 1));
	}
	assert_string_equal(told(&all), "");
	assert_int_equal(some.left_out.count, 307);
}

static void test_stalls(void **state)
{
	struct live_lines lines = fresh;

	for (int i = 0; i < LIVE_LINES; i++)
		assert_true(live_lines_take_stall(&lines, 1000 * MS, 7 * MS));
	assert_false(live_lines_take_stall(&lines, 1000 * MS, 7 * MS));
	lines.told = true;
	assert_string_equal(told(&lines), "       … 1 more stall\n");
	live_lines_take_stall(&lines, 1000 * MS, 7 * MS);
	live_lines_take(&lines, 1000 * MS, 7 * MS);
	assert_string_equal(told(&lines),
		"       … 1 more pause, 7.000 ms in all, longest 7.000 ms; 1 more stall\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_ones_are_counted),
		cmocka_unit_test(test_many_long_ones),
		cmocka_unit_test(test_as_the_user_says),
		cmocka_unit_test(test_stalls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
