/* stack_table: each frame and each stack once, ids dense, parents before children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stack_table.h"

enum { MANY = 10007 }; /* prime, and far past several doublings of every array */

static int setup(void **state)
{
	static struct stack_table table;

	*state = &table;
	return stack_table_init(&table);
}

static int teardown(void **state)
{
	stack_table_release(*state);
	return 0;
}

static uint32_t frame(struct stack_table *table, uint32_t number)
{
	return stack_table_frame(table,
		&(struct frame){.function = number, .file = 1, .line = 3, .lang = LANG_PYTHON});
}

static void test_starts_with_the_empty_stack(void **state)
{
	struct stack_table *table = *state;

	assert_int_equal(table->frame_count, 1);
	assert_int_equal(table->node_count, 1);
	assert_int_equal(table->nodes[STACK_NONE].parent, 0);
}

static void test_frames_differ_in_any_member(void **state)
{
	struct stack_table *table = *state;
	const struct frame base = {5, 6, 7, LANG_PYTHON};
	const struct frame others[] = {{6, 6, 7, LANG_PYTHON}, {5, 7, 7, LANG_PYTHON},
		{5, 6, 8, LANG_PYTHON}, {5, 6, 7, LANG_MARK}};
	uint32_t id = stack_table_frame(table, &base);

	assert_int_equal(id, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(stack_table_frame(table, &others[i]), 2 + i);
	assert_int_equal(stack_table_frame(table, &base), id);
	assert_int_equal(table->frame_count, 6);
	assert_int_equal(table->frames[2].function, 6);
}

static void test_a_chain_is_found_again(void **state)
{
	struct stack_table *table = *state;
	uint32_t node = STACK_NONE;

	for (uint32_t i = 1; i <= MANY; i++) {
		uint32_t next = stack_table_node(table, node, frame(table, i));

		assert_true(next > node);
		node = next;
	}
	assert_int_equal(table->node_count, MANY + 1);
	node = STACK_NONE;
	for (uint32_t i = 1; i <= MANY; i++) {
		node = stack_table_node(table, node, frame(table, i));
		assert_int_equal(node, i);
	}
	assert_int_equal(table->node_count, MANY + 1);
}

static void test_many_children_of_one_parent(void **state)
{
	struct stack_table *table = *state;
	uint32_t parent = stack_table_node(table, STACK_NONE, frame(table, 1));

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= MANY; i++) {
			uint32_t node = stack_table_node(table, parent, frame(table, i));

			assert_int_equal(node, parent + i);
			assert_int_equal(table->nodes[node].parent, parent);
			assert_int_equal(table->nodes[node].frame, i);
		}
	/* The same frames under another parent are other stacks. */
	assert_int_equal(stack_table_node(table, STACK_NONE, frame(table, 2)), MANY + 2);
}

static void test_what_was_appended_is_found(void **state)
{
	struct stack_table *table = *state;

	for (uint32_t i = 1; i <= MANY; i++) {
		const struct frame f = {.function = i, .file = 1, .line = 3, .lang = LANG_PYTHON};

		assert_int_equal(stack_table_append_frame(table, &f), i);
		assert_int_equal(stack_table_append_node(table, i / 2, i), i);
	}
	for (uint32_t i = MANY; i >= 1; i--) {
		assert_int_equal(frame(table, i), i);
		assert_int_equal(stack_table_node(table, i / 2, i), i);
	}
	assert_int_equal(stack_table_node(table, 23, 23), MANY + 1);
	assert_int_equal(stack_table_append_node(table, MANY + 1, 29), MANY + 2);
	assert_int_equal(stack_table_node(table, MANY + 1, 29), MANY + 2);
}

static void test_what_does_not_exist_is_refused(void **state)
{
	struct stack_table *table = *state;
	uint32_t f = frame(table, 1);

	assert_int_equal(stack_table_node(table, 1, f), 0);
	assert_int_equal(stack_table_node(table, UINT32_MAX, f), 0);
	assert_int_equal(stack_table_node(table, 0, 0), 0);
	assert_int_equal(stack_table_node(table, 0, f + 1), 0);
	assert_int_equal(stack_table_append_node(table, 1, f), 0);
	assert_int_equal(stack_table_append_node(table, 0, f + 1), 0);
	assert_int_equal(table->node_count, 1);
}

static void test_release_accepts_nothing(void **state)
{
	struct stack_table empty = {};

	(void)state;
	stack_table_release(NULL);
	stack_table_release(&empty);
}

static void test_languages_have_names(void **state)
{
	(void)state;
	assert_string_equal(frame_lang_name(LANG_PYTHON), "python");
	assert_string_equal(frame_lang_name(LANG_MARK), "mark");
	assert_string_equal(frame_lang_name(99), "unknown");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_starts_with_the_empty_stack),
		EACH(test_frames_differ_in_any_member),
		EACH(test_a_chain_is_found_again),
		EACH(test_many_children_of_one_parent),
		EACH(test_what_was_appended_is_found),
		EACH(test_what_does_not_exist_is_refused),
		cmocka_unit_test(test_release_accepts_nothing),
		cmocka_unit_test(test_languages_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
