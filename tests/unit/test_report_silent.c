/*
 * What reports say of steps that do not speak for their process: nothing of those that are a guess, and not first of those that
 * are few of the run or not where the pauses are. The recording is tests/golden/steps.sql, changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <json-c/json.h>
#include <cmocka.h>

#include "needs.h"
#include "report_fixture.h"

/* Eight steps: confidence 0.39. */
#define GUESS "DELETE FROM step_mark WHERE time_ns >= 5180000000"
/* The same steps in a run of a minute, and with one long pause while it starts. */
#define LITTLE "UPDATE meta SET value = '65000000000' WHERE key = 'end_ns'"
#define OUTSIDE                                                                                    \
	"UPDATE pause SET duration_ns = 250000000, start_ns = 5400000000 "                         \
	"WHERE duration_ns = 20000000;"                                                            \
	"UPDATE pause SET duration_ns = 100000 WHERE duration_ns = 50000000"

/* What only steps that are known allow to say. */
static const char *const claims[] = {
	"stopped training",
	"training time",
	"training for",
	"look elsewhere",
	"× the median",
	"th step",
	"nearly every",
	"every ",
	" lost",
	"Lost",
	"LOST",
	"Worst steps",
	"with pauses",
	" a step",
	"per step",
	"period",
	"outside any step",
	"steps cover",
	"steps of 9",
	"in all ranks",
};

static char *make_changed(const char *change, const char *format)
{
	char *report;

	recording_more = change;
	report = make_report("steps", format);
	recording_more = NULL;
	return report;
}

static void check_silent(const char *where, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		if (strstr(text, claims[i]))
			fail_msg("%s claims \"%s\" of steps that are a guess: %s", where, claims[i],
				text);
}

static void test_text(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(GUESS, "text");

	check_silent("text", report);
	assert_ptr_equal(strstr(report, "GC paused 2 processes for "), report);
	assert_non_null(strstr(report, "confidence 0.39"));
	assert_non_null(strstr(report, "What may be steps of python3 (4711): 8\n"));
	assert_non_null(strstr(report, "Where the pauses were triggered"));
	assert_non_null(strstr(report, "gc.freeze()"));
}

/* The texts of all records: what they hold beside is data, which says how sure it is. */
static void test_json(void **state)
{
	static const char *const texts[] = {"verdict", "title", "line", "estimate", "risk"};
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(GUESS, "json");
	size_t found = 0;
	char *save;

	for (char *line = strtok_r(report, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct json_object *object = json_tokener_parse(line), *text;

		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			if (!json_object_object_get_ex(object, texts[i], &text) ||
				!json_object_get_string(text))
				continue;
			check_silent("json", json_object_get_string(text));
			found++;
		}
		json_object_put(object);
	}
	assert_in_range(found, 5, 1000);
}

/* The markup, in which the script draws what its data allow. */
static void test_page(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(GUESS, "html");
	char *body = strstr(report, "</style>"), *end;

	assert_non_null(body);
	end = strstr(body, "<noscript>");
	assert_non_null(end);
	*end = '\0';
	check_silent("html", body);
	assert_non_null(strstr(end + 1, "\"guess\":true"));
	assert_null(strstr(end + 1, "\"distribution\":{\"low_ns\""));
	assert_null(strstr(end + 1, "\"worst\":{"));
}

static void check_whole(const char *change, const char *says)
{
	_cleanup_free_ char *report = make_changed(change, "text");
	char *end = strstr(report, "\n\n");

	assert_non_null(end);
	*end = '\0';
	assert_ptr_equal(strstr(report, "GC paused 2 processes for "), report);
	assert_null(strstr(report, "look elsewhere"));
	assert_null(strstr(report, "training"));
	if (!strstr(report, says))
		fail_msg("\"%s\" is not in \"%s\"", says, report);
	/* Of those steps all is known, and said further down. */
	assert_non_null(strstr(end + 1, "Steps of python3 (4711): 61\n"));
	assert_null(strstr(end + 1, "of training time"));
}

static void test_whole(void **state)
{
	NEEDS("cpython");
	check_whole(LITTLE, "cover 809.9 ms of 60.00 s");
	check_whole(OUTSIDE, "cover 809.9 ms of 3.000 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
