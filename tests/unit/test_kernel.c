/* trace: conditions of tracing. Whatever this machine grants, each "no" comes with what to do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "kernel_priv.h"

static void every_no_has_a_remedy(void **state)
{
	struct kernel_check checks[KERNEL_CHECKS];
	size_t count = kernel_checks(checks, KERNEL_CHECKS);

	assert_in_range(count, 1, KERNEL_CHECKS);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(checks[i].question);
		assert_true(checks[i].answer[0]);
		assert_int_equal(checks[i].good, !checks[i].remedy[0]);
		assert_int_equal(checks[i].fatal, checks[i].error > 0);
		assert_false(checks[i].fatal && checks[i].good);
		assert_null(strstr(checks[i].remedy, "doctor"));
		assert_true(strlen(checks[i].remedy) < sizeof(checks[i].remedy) - 1);
	}
}

static void the_first_fatal_one_is_said(void **state)
{
	struct kernel_check checks[KERNEL_CHECKS];
	size_t count = kernel_checks(checks, KERNEL_CHECKS), first = 0;
	struct err err = {};
	int r = kernel_allows(&err);

	while (first < count && !checks[first].fatal)
		first++;
	if (first == count) {
		assert_int_equal(r, 0);
		return;
	}
	assert_int_equal(r, -checks[first].error);
	assert_non_null(strstr(err.text, checks[first].answer));
	assert_non_null(strstr(err.text, checks[first].remedy));
}

static void no_more_than_asked_for(void **state)
{
	struct kernel_check checks[2] = {[1] = {.question = "untouched"}};

	assert_int_equal(kernel_checks(checks, 0), 0);
	assert_int_equal(kernel_checks(checks, 1), 1);
	assert_string_equal(checks[0].question, "kernel");
	assert_string_equal(checks[1].question, "untouched");
}

static void lines_are_found_by_what_they_begin_with(void **state)
{
	static const char text[] = "Name:\tSeccomp:\t7\nSeccomp:\t2\nSeccomp:\t1\nlast";
	char path[] = "/tmp/gctrace-lines-XXXXXX", value[4] = "";
	_cleanup_close_ int fd = mkstemp(path);

	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_true(kernel_read_line(path, "Seccomp:\t", value, sizeof(value)));
	assert_string_equal(value, "2");
	assert_true(kernel_read_line(path, "", value, sizeof(value)));
	assert_string_equal(value, "Nam");
	assert_true(kernel_read_line(path, "la", value, sizeof(value)));
	assert_string_equal(value, "st");
	assert_false(kernel_read_line(path, "NoNewPrivs:", value, sizeof(value)));
	unlink(path);
	assert_false(kernel_read_line(path, "", value, sizeof(value)));
	assert_string_equal(value, "st");
}

static void unreadable_maps_are_explained(void **state)
{
	struct err err = {};

	assert_int_equal(kernel_explain_maps(4711, -ESRCH, &err), -ESRCH);
	assert_non_null(strstr(err.text, "process 4711 cannot be read: there is no such process"));
	assert_int_equal(kernel_explain_maps(4711, -EACCES, &err), -EACCES);
	assert_non_null(strstr(err.text, "CAP_SYS_PTRACE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_no_has_a_remedy),
		cmocka_unit_test(the_first_fatal_one_is_said),
		cmocka_unit_test(no_more_than_asked_for),
		cmocka_unit_test(lines_are_found_by_what_they_begin_with),
		cmocka_unit_test(unreadable_maps_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
