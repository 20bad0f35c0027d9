/* CPython's settings: which builds have none that a trial may write, and what --set makes of those that are there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "cpython_plan.h"
#include "cpython_settings.h"

/* Why nothing is found in a build that says that it is @version. No memory is read: the address is none of ours. */
static const char *refusal(const char *version, bool free_threaded, struct err *err)
{
	struct probe_plan plan = {};
	struct settings found;

	snprintf(plan.version, sizeof(plan.version), "%s", version);
	cpython_plan(&plan)->layout.free_threaded = free_threaded;
	cpython_plan(&plan)->layout.gc_counts = GC_NO_FIELD;
	assert_int_equal(cpython_settings.find(getpid(), 0, &plan, &found, err), -ENOTSUP);
	assert_non_null(strstr(err->text, version));
	return err->text;
}

static void collectors_in_increments_are_refused(void **state)
{
	struct err err;

	for (char micro = '0'; micro <= '4'; micro++) {
		const char version[] = {'3', '.', '1', '4', '.', micro, 0};

		assert_non_null(strstr(refusal(version, false, &err), "works in increments"));
	}
	/* The next question is then where the thresholds are. */
	assert_non_null(strstr(refusal("3.14.5", false, &err), "thresholds is not known"));
	assert_non_null(strstr(refusal("3.14.10", false, &err), "thresholds is not known"));
	assert_non_null(strstr(refusal("3.13.4", false, &err), "thresholds is not known"));
	assert_non_null(strstr(refusal("3.15.0", false, &err), "thresholds is not known"));
	assert_non_null(strstr(refusal("3.8", false, &err), "thresholds is not known"));
}

static void free_threaded_builds_are_refused(void **state)
{
	static const char *const versions[] = {"3.13.5t", "3.14.2t", "3.14.10t", "3.15.0t"};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		assert_non_null(strstr(refusal(versions[i], true, &err), "free-threaded"));
}

static const struct settings usual = {.count = 4,
	.items = {{"enabled", 0, 1}, {"threshold 0", 4, 700}, {"threshold 1", 8, 10},
		{"threshold 2", 12, 11}}};

static void assert_changed(const char *text, int enabled, int young, int middle, int old)
{
	const int wanted[] = {enabled, young, middle, old};
	struct settings changed;
	struct err err;

	assert_int_equal(cpython_settings.change(&usual, text, &changed, &err), 0);
	assert_int_equal(changed.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(changed.items[i].value, wanted[i]);
		assert_int_equal(changed.items[i].address, usual.items[i].address);
	}
}

static void settings_are_changed_as_asked(void **state)
{
	static const char *const wrong[] = {"", "on", "offf", "threshold=", "threshold=0",
		"threshold=-1", "threshold=1,2,3,4", "threshold=7x", "threshold=2147483648",
		"threshold=700,,10"};
	struct settings off = usual, changed = {};
	struct err err;

	assert_changed(NULL, 1, 70000, 10, 11);
	assert_changed("off", 0, 700, 10, 11);
	assert_changed("threshold=5", 1, 5, 10, 11);
	assert_changed("threshold=7,5", 1, 7, 5, 11);
	assert_changed("threshold=7,0,3", 1, 7, 0, 3);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(cpython_settings.change(&usual, wrong[i], &changed, &err),
			-EINVAL);
	assert_int_equal(changed.count, 0);
	off.items[0].value = 0;
	assert_int_equal(cpython_settings.change(&off, "off", &changed, &err), -ENOTSUP);
	off = usual;
	off.items[1].value = 0;
	assert_int_equal(cpython_settings.change(&off, NULL, &changed, &err), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectors_in_increments_are_refused),
		cmocka_unit_test(free_threaded_builds_are_refused),
		cmocka_unit_test(settings_are_changed_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
