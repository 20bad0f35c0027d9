/* trace: concurrent phases of several threads that nest, and end in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvm_phases.h"

/* Ends the innermost phase of @tid; its name, 0 if there is none. */
static uint32_t ended(struct open_phases *phases, uint32_t tid)
{
	struct open_phase phase = {};

	return phases_end(phases, tid, &phase) ? 0 : phase.name;
}

static void begin(struct open_phases *phases, uint32_t tid, uint32_t name)
{
	assert_int_equal(phases_begin(phases, (struct open_phase){tid, name, 100 * name}), 0);
}

static void the_innermost_ends_first(void **state)
{
	struct open_phases phases = {};
	struct open_phase phase;

	begin(&phases, 7, 1);
	begin(&phases, 7, 2);
	assert_int_equal(phases_end(&phases, 7, &phase), 0);
	assert_int_equal(phase.name, 2);
	assert_int_equal(phase.start_ns, 200);
	assert_int_equal(ended(&phases, 7), 1);
	assert_int_equal(ended(&phases, 7), 0);
	phases_release(&phases);
}

/* Another thread's phase, begun before both, ends while they are open. */
static void an_end_leaves_the_others_in_their_order(void **state)
{
	struct open_phases phases = {};

	begin(&phases, 11, 5);
	begin(&phases, 7, 1);
	begin(&phases, 7, 2);
	begin(&phases, 7, 3);
	assert_int_equal(ended(&phases, 11), 5);
	assert_int_equal(ended(&phases, 7), 3);
	assert_int_equal(ended(&phases, 7), 2);
	assert_int_equal(ended(&phases, 7), 1);
	phases_release(&phases);
}

static void an_end_without_its_begin_takes_nothing(void **state)
{
	struct open_phases phases = {};

	begin(&phases, 7, 1);
	assert_int_equal(ended(&phases, 11), 0);
	assert_int_equal(ended(&phases, 7), 1);
	phases_release(&phases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_ends_first),
		cmocka_unit_test(an_end_leaves_the_others_in_their_order),
		cmocka_unit_test(an_end_without_its_begin_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
