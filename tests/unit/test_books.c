/* pause: the runtime's counters against the pauses seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "books.h"

static const char *const names[] = {"generation 0", "generation 1", "generation 2", NULL};

#define COUNTS(a, b, c) (&(const struct books_counts){names, (const uint64_t[]){a, b, c}})

static void consecutive_pauses_miss_nothing(void **state)
{
	struct books books = {};

	assert_int_equal(books_settle(&books, 1, 0x10, COUNTS(23, 11, 7)), 0);
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(24, 11, 7)), 0);
	assert_int_equal(books_pause(&books, 1, 0x10, 2, COUNTS(24, 11, 8)), 0);
	assert_int_equal(books_settle(&books, 1, 0x10, COUNTS(24, 11, 8)), 0);
	books_release(&books);
}

/* As many as have names are looked at, and no more is read. */
static void one_counter_is_enough(void **state)
{
	static const char *const one[] = {"stops", NULL};
	uint64_t *number = malloc(sizeof(*number)); /* ASan sees what lies behind it */
	struct books_counts counts = {one, number};
	struct books books = {};

	*number = 23;
	assert_true(books_open(&books, 1, BOOKS_PROCESS, &counts));
	*number = 26;
	assert_int_equal(books_pause(&books, 1, BOOKS_PROCESS, 0, &counts), 2);
	books_count(&books, 1, BOOKS_PROCESS, 0);
	assert_int_equal(books_fork(&books, 1, 2), 0);
	*number = 28;
	assert_int_equal(books_settle(&books, 1, BOOKS_PROCESS, &counts), 1);
	assert_int_equal(books_settle(&books, 2, BOOKS_PROCESS, &counts), 1);
	books_release(&books);
	free(number);
}

static void gaps_are_counted_once(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(0, 0, 0));
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(3, 0, 0)), 2);
	assert_int_equal(books_pause(&books, 1, 0x10, 1, COUNTS(4, 1, 0)), 1);
	assert_int_equal(books_settle(&books, 1, 0x10, COUNTS(4, 1, 5)), 5);
	assert_int_equal(books_settle(&books, 1, 0x10, COUNTS(4, 1, 5)), 0);
	books_release(&books);
}

static void looking_again_forgives_nothing(void **state)
{
	struct books books = {};

	assert_true(books_open(&books, 1, 0x10, COUNTS(23, 0, 0)));
	assert_false(books_open(&books, 1, 0x10, COUNTS(30, 0, 0)));
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(31, 0, 0)), 7);
	assert_true(books_open(&books, 1, 0x20, COUNTS(5, 0, 0)));
	assert_int_equal(books_pause(&books, 1, 0x20, 0, COUNTS(6, 0, 0)), 0);
	books_release(&books);
}

static void a_new_program_begins_new_lines(void **state)
{
	struct books books = {};

	assert_true(books_open(&books, 1, 0x10, COUNTS(23, 11, 7)));
	assert_true(books_open(&books, 2, 0x10, COUNTS(23, 11, 7)));
	books_exec(&books, 1);
	assert_true(books_open(&books, 1, 0x10, COUNTS(0, 0, 0)));
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(3, 0, 0)), 2);
	assert_false(books_open(&books, 2, 0x10, COUNTS(0, 0, 0)));
	assert_int_equal(books_fork(&books, 1, 3), 0);
	assert_int_equal(books_pause(&books, 3, 0x10, 0, COUNTS(4, 0, 0)), 0);
	books_release(&books);
}

static void a_pause_of_unknown_number_is_counted(void **state)
{
	struct books books = {};

	books_count(&books, 1, 0, 0); /* no line, nothing to count in */
	assert_true(books_open(&books, 1, 0, COUNTS(0, 0, 0)));
	books_count(&books, 1, 0, 0);
	books_count(&books, 1, 0, 0);
	assert_int_equal(books_pause(&books, 1, 0, 0, COUNTS(5, 0, 0)), 2);
	books_release(&books);
}

static void a_read_that_overtakes_a_pause_counts_it_once(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(5, 0, 0)); /* read after the fifth was collected */
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(5, 0, 0)), 0);
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(6, 0, 0)), 0);
	books_release(&books);
}

static void interpreters_and_processes_are_apart(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(7, 0, 0));
	assert_int_equal(books_pause(&books, 1, 0x20, 0, COUNTS(1, 0, 0)), 0);
	assert_int_equal(books_pause(&books, 2, 0x10, 0, COUNTS(100, 0, 0)), 0);
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(8, 0, 0)), 0);
	books_release(&books);
}

/* As many processes as a day has: their numbers are distinguished in full. */
static void processes_of_any_number_are_apart(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(7, 0, 0));
	books_settle(&books, 65537, 0x10, COUNTS(100, 0, 0));
	assert_int_equal(books_pause(&books, 65537, 0x10, 0, COUNTS(101, 0, 0)), 0);
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(8, 0, 0)), 0);
	books_release(&books);
}

static void a_forked_child_inherits(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(7, 5, 3));
	books_settle(&books, 1, 0x20, COUNTS(2, 0, 0));
	assert_int_equal(books_fork(&books, 1, 2), 0);
	assert_int_equal(books_pause(&books, 2, 0x10, 2, COUNTS(7, 5, 4)), 0);
	assert_int_equal(books_pause(&books, 2, 0x20, 0, COUNTS(5, 0, 0)), 2);
	assert_int_equal(books_pause(&books, 1, 0x20, 0, COUNTS(3, 0, 0)), 0);
	books_release(&books);
}

static void the_collection_under_way_at_attach_is_no_miss(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x10, COUNTS(5, 0, 0));
	books_expect(&books, 1, 0x10);
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(7, 0, 0)),
		0); /* the sixth was it */
	assert_int_equal(books_pause(&books, 1, 0x10, 0, COUNTS(9, 0, 0)), 1); /* once only */
	books_settle(&books, 2, 0x10, COUNTS(5, 0, 0));
	books_expect(&books, 2, 0x10);
	assert_int_equal(books_pause(&books, 2, 0x10, 0, COUNTS(6, 0, 0)),
		0); /* it was seen after all */
	assert_int_equal(books_pause(&books, 2, 0x10, 0, COUNTS(8, 0, 0)), 1);
	books_settle(&books, 3, 0x10, COUNTS(5, 0, 0));
	books_expect(&books, 3, 0x10);
	assert_int_equal(books_settle(&books, 3, 0x10, COUNTS(6, 0, 0)), 0);
	books_release(&books);
}

static bool is_even(void *arg, uint32_t process)
{
	(*(unsigned int *)arg)++;
	return !(process % 2);
}

static void those_who_ended_are_forgotten(void **state)
{
	struct books books = {};
	unsigned int asked = 0;

	for (uint32_t process = 1; process <= 97; process++)
		books_settle(&books, process, 0x10, COUNTS(process, 0, 0));
	books_keep(&books, is_even, &asked);
	assert_int_equal(asked, 97);
	assert_int_equal(books.lines.count, 48);
	assert_int_equal(books.index.count, 48);
	for (uint32_t process = 1; process <= 97; process++) /* the odd ones start again */
		assert_int_equal(books_pause(&books, process, 0x10, 0, COUNTS(process + 3, 0, 0)),
			process % 2 ? 0 : 2);
	books_release(&books);
}

/* A process that begins and ends interpreters for ever; two live on, of which one collects. */
static void ended_interpreters_are_forgotten(void **state)
{
	struct books books = {};

	books_settle(&books, 1, 0x7f0000000010, COUNTS(0, 0, 0));
	books_pause(&books, 1, 1, 0, COUNTS(1, 0, 0));
	books_pause(&books, 1, 2, 0, COUNTS(1, 0, 0));
	for (uint64_t number = 3; number < 100003; number++) {
		assert_int_equal(books_pause(&books, 1, number, 0, COUNTS(1, 0, 0)), 0);
		assert_int_equal(books_pause(&books, 1, number, 0, COUNTS(2, 0, 0)), 0);
		assert_int_equal(books_pause(&books, 1, 1, 0, COUNTS(number - 1, 0, 0)), 0);
		books_turn(&books);
		assert_in_range(books.lines.count, 3, 1024);
		assert_in_range(books.index.count, 3, 1024);
	}
	assert_int_equal(books_pause(&books, 1, 1, 0, COUNTS(100003, 0, 0)),
		1);							    /* one lies between */
	assert_int_equal(books_pause(&books, 1, 2, 0, COUNTS(9, 0, 0)), 0); /* starts again */
	assert_int_equal(books_pause(&books, 1, 2, 0, COUNTS(11, 0, 0)), 1);
	assert_int_equal(books_settle(&books, 1, 0x7f0000000010, COUNTS(7, 0, 0)), 7);
	books_release(&books);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_interpreters_are_forgotten),
		cmocka_unit_test(consecutive_pauses_miss_nothing),
		cmocka_unit_test(one_counter_is_enough),
		cmocka_unit_test(gaps_are_counted_once),
		cmocka_unit_test(looking_again_forgives_nothing),
		cmocka_unit_test(a_new_program_begins_new_lines),
		cmocka_unit_test(a_pause_of_unknown_number_is_counted),
		cmocka_unit_test(a_read_that_overtakes_a_pause_counts_it_once),
		cmocka_unit_test(interpreters_and_processes_are_apart),
		cmocka_unit_test(processes_of_any_number_are_apart),
		cmocka_unit_test(a_forked_child_inherits),
		cmocka_unit_test(the_collection_under_way_at_attach_is_no_miss),
		cmocka_unit_test(those_who_ended_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
