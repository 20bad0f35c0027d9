/*
 * What a runtime without a table of its own tells of its pauses: through the store and back, in a build that knows
 * that runtime alone.
 */
#define STORE_FIXTURE_KIND "toy"
#include <errno.h>

#include "store_fixture.h"

#include "meaning.h"

enum { TOY_ASKED, TOY_REASON, TOY_TURNED, TOY_SIZE, TOY_WHERE, TOY_FACTS };

static const struct pause_fact facts[TOY_FACTS] = {
	[TOY_ASKED] = {FACT_TTSP, NULL, "asking", FACT_NS, true},
	[TOY_REASON] = {"reason", NULL, "reason", FACT_STRING, false},
	[TOY_TURNED] = {"turned_ns", NULL, "turning", FACT_NS, true},
	[TOY_SIZE] = {"size", "size_bytes", "size", FACT_BYTES, false},
	[TOY_WHERE] = {"where", NULL, "where", FACT_STACK, false},
};

static const struct runtime_meaning toy;
static const struct pause_class class = {&toy, "turn", "turn", "turn", "turns", 0, 0, 0};

static void judge(const struct strtab *strings, struct pause *pause)
{
	pause->class = &class;
}

static const struct runtime_meaning toy = {.kind = "toy",
	.pause = "turn",
	.pauses = "turns",
	.facts = facts,
	.fact_count = TOY_FACTS,
	.classes = &class,
	.class_count = 1,
	.judge = judge};

const struct runtime_meaning *const runtime_meanings[] = {&toy, NULL};

/* Each fact is known of every second, third, … pause; of some none is, and some have no facts at all. */
static struct pause nth_turn(uint64_t id)
{
	struct pause pause = nth_pause(id);
	int64_t half = (int64_t)pause_duration(&pause) / 2;

	meaning_forget(&toy, &pause);
	if (id % 11 == 0)
		return pause;
	pause.flags |= PAUSE_HAS_FACTS;
	pause.facts[TOY_ASKED] = id % 2 ? half : UNKNOWN;
	pause.facts[TOY_REASON] = id % 3 ? (int64_t)(id % 4 + 1) : 0;
	pause.facts[TOY_TURNED] = id % 5 ? half : UNKNOWN;
	pause.facts[TOY_SIZE] = id % 7 ? 0 : UNKNOWN;
	pause.facts[TOY_WHERE] = id % 13 ? (int64_t)(id % 3 + 1) : STACK_NONE;
	if (id % 17 == 0)
		for (int i = 0; i < TOY_FACTS; i++)
			pause.facts[i] = fact_is_id(facts[i].unit) ? 0 : UNKNOWN;
	return pause;
}

static void assert_same_facts(const struct pause *a, const struct pause *b)
{
	assert_same_pause(a, b);
	assert_ptr_equal(a->class, &class);
	for (int i = 0; i < TOY_FACTS; i++)
		assert_int_equal(a->facts[i], b->facts[i]);
}

#define TURNS 1009

static void test_facts(void **state)
{
	struct store_writer *writer = start(0, true);
	struct recording recording = head();
	struct store_reader *reader;
	struct pause pause;

	for (uint64_t id = 1; id <= TURNS; id++) {
		pause = nth_turn(id);
		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	recording.end_ns = 900000000000;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
	reader = open_file();
	for (uint64_t id = 1; id <= 101; id++) /* part of a pass does not disturb the next */
		assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
	for (int pass = 0; pass < 2; pass++) {
		store_rewind(reader);
		for (uint64_t id = 1; id <= TURNS; id++) {
			struct pause expected = nth_turn(id);

			assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
			assert_same_facts(&pause, &expected);
		}
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
	}
	assert_string_equal(store_recording(reader)->damage, "");
	store_reader_free(reader);
	run("test $(sqlite3 %s 'select count(*) from safepoint') = 0", path);
}

static struct pause read_hostile(const char *sql, bool damaged)
{
	struct store_reader *reader;
	struct pause pause;

	make_hostile(sql);
	reader = open_file();
	assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
	assert_int_equal(store_next_pause(reader, &(struct pause){0}, NULL),
		damaged ? -EBADMSG : 0);
	store_reader_free(reader);
	return pause;
}

#define FACTS "update pause set flags=64; insert into fact (pause,key,value) values "

static void test_hostile(void **state)
{
	struct pause pause =
		read_hostile(FACTS "(1,'size',7),(1,'later',9),(1,'size',8),(2,'size',5)", false);

	assert_int_equal(pause.facts[TOY_SIZE], 8);
	assert_int_equal(pause.facts[TOY_ASKED], UNKNOWN);
	pause = read_hostile(FACTS "(1,'ttsp_ns',90),(1,'turned_ns',90)", false);
	assert_int_equal(pause.facts[TOY_ASKED], 90);
	assert_int_equal(pause.facts[TOY_TURNED], 10); /* of 100 */
	pause = read_hostile(FACTS "(0,'size',7),(1,'size',-7),(1,NULL,1),(1,zeroblob(99999),1)",
		false);
	assert_int_equal(pause.facts[TOY_SIZE], UNKNOWN);
	pause = read_hostile(FACTS "(1,'reason',99),(1,'where',2)", true);
	assert_int_equal(pause.facts[TOY_REASON], 0);
	assert_int_equal(pause.facts[TOY_WHERE], STACK_NONE);
	pause = read_hostile(FACTS "('x','size',7),(1,'size',9)", true);
	assert_int_equal(pause.facts[TOY_SIZE], 9);
	pause = read_hostile("insert into fact (pause,key,value) values (1,'size',7)",
		false); /* not flagged */
	assert_int_equal(pause.facts[TOY_SIZE], UNKNOWN);
	pause = read_hostile("update pause set flags=64; drop table fact",
		false); /* an older gctrace's */
	assert_int_equal(pause.facts[TOY_SIZE], UNKNOWN);
	pause = read_hostile("update pause set flags=64; update runtime set kind='other';"
			     "insert into fact (pause,key,value) values (1,'size',7)",
		false);
	assert_false(pause.flags & PAUSE_HAS_FACTS);
	assert_string_equal(pause.class->name, "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_facts, each),
		cmocka_unit_test_setup(test_hostile, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
