/* The first lines of a report: what stopped the steps, whose it was, and where that was triggered. Of tests/golden/steps.sql, changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "needs.h"
#include "report_fixture.h"
#include "verdict_where.h"

/* Those of the training take next to nothing, those of its worker 9 ms, for which it waits. */
#define OF_WORKER                                                                                  \
	"UPDATE pause SET duration_ns = 100000 WHERE duration_ns = 50000000;"                      \
	"UPDATE pause SET generation = 2, duration_ns = 9000000, waited_ns = 9000000 "             \
	"WHERE runtime = 2"
/* Each full collection in another function, called in the same line. */
#define SCATTERED                                                                                  \
	"INSERT INTO string VALUES (8, 'one'), (9, 'two'), (10, 'three'), (11, 'four');"           \
	"INSERT INTO frame VALUES (5, 8, 2, 11, 1), (6, 9, 2, 12, 1), (7, 10, 2, 13, 1), "         \
	"(8, 11, 2, 14, 1);"                                                                       \
	"INSERT INTO stack VALUES (5, 2, 5), (6, 2, 6), (7, 2, 7), (8, 2, 8);"                     \
	"UPDATE pause SET stack = 5 + (SELECT count(*) FROM pause AS other WHERE "                 \
	"other.duration_ns = 50000000 AND other.id < pause.id) WHERE duration_ns = 50000000"

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("there is no \"%s\" in:\n%.1500s", part, text);
}

static char *make_changed(const char *change)
{
	char *report;

	recording_more = change;
	report = make_report("steps", "text");
	recording_more = NULL;
	return report;
}

static void test_worker(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(OF_WORKER);

	has(report,
		"\n  cause  Generation-2 collections of its worker processes, automatic: 2 of 26 pauses in "
		"steps, ");
	has(report, "\n  where  Triggered in collate (data.py:23).\n");
}

static void test_common(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(SCATTERED);

	has(report,
		"\n  cause  Generation-2 collections, automatic: 4 of 25 pauses in steps, 98.4 % of their time.\n"
		"  where  All triggered below Trainer.step (train.py:41), 25.0 % in one (train.py:11).\n");
}

/* Shares are of all the pauses, as in the table of lines: half of these full collections have no stack. */
static void test_without_stacks(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *report = make_changed(
		"UPDATE pause SET stack = NULL WHERE id IN "
		"(SELECT id FROM pause WHERE duration_ns = 50000000 ORDER BY id LIMIT 2)");

	has(report,
		"\n  where  50.0 % triggered in Trainer.step (train.py:41); 50.0 % have no stack.\n");
}

/* A stack of three frames, of the user's own code, and a fourth beside the last two. */
static void make_stacks(struct stack_table *stacks, uint32_t nodes[4])
{
	static const char *const names[] = {"main", "loop", "one", "two"};
	struct frame frame = {.lang = LANG_PYTHON, .line = 7};

	assert_int_equal(stack_table_init(stacks), 0);
	frame.file = strtab_add(stacks->strings, "/home/ada/train.py", 18);
	for (size_t i = 0; i < 4; i++) {
		frame.function = strtab_add(stacks->strings, names[i], strlen(names[i]));
		nodes[i] = stack_table_node(stacks,
			i == 3 ? nodes[1]
			: i    ? nodes[i - 1]
			       : STACK_NONE,
			stack_table_frame(stacks, &frame));
	}
}

static void test_where(void **state)
{
	NEEDS("cpython");
	struct stack_table stacks;
	uint64_t by_node[8] = {};
	struct where where;
	uint32_t nodes[4];

	make_stacks(&stacks, nodes);
	assert_in_range(stacks.node_count, 5, ARRAY_SIZE(by_node));
	assert_int_equal(where_find(&stacks, by_node, &where), 0);
	assert_int_equal(where.line, 0);
	by_node[nodes[2]] = 47;
	by_node[nodes[3]] = 43;
	by_node[nodes[0]] = 10;
	assert_int_equal(where_find(&stacks, by_node, &where), 0);
	assert_int_equal(where.line, stacks.nodes[nodes[2]].frame);
	assert_true(where.line_share == 0.47);
	assert_int_equal(where.below, stacks.nodes[nodes[1]].frame);
	assert_true(where.below_share == 0.9);
	by_node[nodes[0]] = 11; /* less than WHERE_COMMON passes through the loop */
	assert_int_equal(where_find(&stacks, by_node, &where), 0);
	assert_int_equal(where.below, stacks.nodes[nodes[0]].frame);
	assert_true(where.below_share == 1);
	assert_true(where.none_share == 0);
	by_node[STACK_NONE] = 101; /* of what has no stack nobody knows where it was triggered */
	assert_int_equal(where_find(&stacks, by_node, &where), 0);
	assert_true(where.none_share == 0.5 && where.line_share == 47.0 / 202);
	assert_int_equal(where.below, 0);
	stack_table_release(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_without_stacks),
		cmocka_unit_test(test_where),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
