/* trace: how many calls of a collector in vain are too many, beside those that moved a counter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "in_vain.h"

static void an_exit_is_no_sign(void **state)
{
	assert_false(in_vain_too_many(0, 0));
	assert_false(in_vain_too_many(2, 0));
	assert_true(in_vain_too_many(3, 0));
}

/* One pause used to excuse any number of calls. */
static void a_pause_excuses_a_ninth_of_a_call(void **state)
{
	assert_true(in_vain_too_many(1009, 1));
	assert_true(in_vain_too_many(11, 97));
	assert_false(in_vain_too_many(11, 101));
	assert_false(in_vain_too_many(2, 1009));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_is_no_sign),
		cmocka_unit_test(a_pause_excuses_a_ninth_of_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
