/* What reports show of a runtime that has neither generations nor safepoints, in a build that knows it alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cleanup.h"
#include "json_facts.h"
#include "json_table.h"
#include "model_tables.h"
#include "text_table.h"

enum { TOY_MARK, TOY_WHY, TOY_SWEEP, TOY_SIZE, TOY_FACTS };
enum { TOY_SMALL, TOY_BIG, TOY_CLASSES };

static const struct pause_fact facts[TOY_FACTS] = {
	[TOY_MARK] = {"mark_ns", NULL, "marking", FACT_NS, true},
	[TOY_WHY] = {"why", NULL, "why", FACT_STRING, false},
	[TOY_SWEEP] = {"sweep_ns", NULL, "sweeping", FACT_NS, true},
	[TOY_SIZE] = {"size", "size_bytes", "size", FACT_BYTES, false},
};

static const struct runtime_meaning toy;
static const struct pause_class classes[TOY_CLASSES] = {
	{&toy, "small", "small", "small", "small turns", TOY_SMALL, 0, 0, 1},
	{&toy, "big", "big", "big", "big turns", TOY_BIG, 2, 1, 2},
};

static const struct runtime_meaning toy = {.kind = "toy",
	.label = "Toy",
	.pause = "turn",
	.pauses = "turns",
	.subject = "Turning",
	.verb = "held up",
	.facts = facts,
	.fact_count = TOY_FACTS,
	.classes = classes,
	.class_count = TOY_CLASSES};

const struct runtime_meaning *const runtime_meanings[] = {&toy, NULL};

#define TURNS 101 /* of 1000 ns each; every third is big */

static struct pause nth_turn(uint64_t id)
{
	struct pause pause = {.id = id,
		.start_ns = 1000000 * id,
		.end_ns = 1000000 * id + 1000,
		.runtime = 1,
		.generation = UNKNOWN,
		.collected = UNKNOWN,
		.uncollectable = UNKNOWN,
		.flags = PAUSE_HAS_FACTS,
		.class = &classes[id % 3 ? TOY_SMALL : TOY_BIG],
		.collects = 1};

	pause.facts[TOY_MARK] = 300;
	pause.facts[TOY_SWEEP] = id % 2 ? 500 : UNKNOWN;
	pause.facts[TOY_SIZE] = UNKNOWN;
	return pause;
}

static void add_turns(struct summary *summary)
{
	for (uint64_t id = 0; id < TURNS; id++) {
		struct pause pause = nth_turn(id);

		assert_int_equal(summary_add(summary, &pause), 0);
	}
}

/* All tables, as text or as JSON. */
static char *render(struct summary *summary, bool json)
{
	static const struct recording recording = {.end_ns = 1000000};
	_cleanup_(model_release) struct model model = {0};
	struct stack_table stacks;
	const struct report_input input = {.recording = &recording, .stacks = &stacks};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(stack_table_init(&stacks), 0);
	assert_int_equal(model_build(&model, &input, summary), 0);
	if (json)
		json_tables(out, &stacks, &model);
	else
		for (size_t i = 0; i < model.tables.count; i++)
			text_table(out, &stacks, model.tables.items[i]);
	fclose(out);
	stack_table_release(&stacks);
	return text;
}

static void test_tables_have_the_words_of_the_runtime(void **state)
{
	_cleanup_(summary_release) struct summary summary = {0};
	_cleanup_free_ char *text = NULL, *json = NULL;

	add_turns(&summary);
	text = render(&summary, false);
	json = render(&summary, true);
	/* 34 of 101 are big; of 50 the sweep is known: 101 × 1000 − 101 × 300 − 50 × 500 = 45700 ns are in no part. */
	assert_non_null(strstr(text,
		"\nTurns of Toy by class\n  CLASS              PAUSES      TOTAL   SHARE"));
	assert_non_null(strstr(text, "\n  small                  67   67.00 µs"));
	assert_non_null(strstr(text, "\n  big                    34   34.00 µs"));
	assert_non_null(strstr(text, "\n  all                   101   101.0 µs"));
	assert_non_null(strstr(text,
		"\n  marking                            101   30.30 µs  30.0 %"));
	assert_non_null(strstr(text,
		"\n  sweeping                            50   25.00 µs  24.8 %"));
	assert_non_null(strstr(text,
		"\n  not told apart                           45.70 µs  45.2 %\n"));
	assert_null(strstr(text, "Generation"));
	assert_non_null(strstr(json,
		"\"classes\":[{\"runtime\":\"toy\",\"class\":\"small\",\"pauses\":67,\"pause_ns\":67000,"));
	assert_non_null(strstr(json,
		"\"facts\":[{\"runtime\":\"toy\",\"fact\":\"mark_ns\",\"known\":101,\"sum_ns\":30300,"
		"\"max_ns\":300},{\"runtime\":\"toy\",\"fact\":\"sweep_ns\",\"known\":50,\"sum_ns\":25000,"));
	assert_int_equal(summary_quantile_all(&summary, 0.5), 1000);
}

/* A whole report of a recording of its own: what the formats say beside tables. */
static int next_turn(void *source, struct pause *ret, struct err *err)
{
	uint64_t *id = source;

	if (*id == TURNS)
		return 0;
	*ret = nth_turn((*id)++);
	return 1;
}

static int rewind_turns(void *source)
{
	*(uint64_t *)source = 0;
	return 0;
}

static char *report(const char *format)
{
	struct process process = {.id = 1, .pid = 4711, .comm = "spinner"};
	struct runtime runtime = {.id = 1, .process = 1, .kind = "toy", .version = "1"};
	struct recording recording = {.end_ns = 1000000000};
	struct stack_table stacks;
	struct err err = {0};
	uint64_t id = 0;
	const struct report_input input = {.recording = &recording,
		.stacks = &stacks,
		.next = next_turn,
		.rewind = rewind_turns,
		.source = &id};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(stack_table_init(&stacks), 0);
	*vec_add(&recording.processes) = process;
	*vec_add(&recording.runtimes) = runtime;
	assert_int_equal(report_find(format)->write(&input, out, &err), 0);
	fclose(out);
	recording_release(&recording);
	stack_table_release(&stacks);
	return text;
}

static void test_formats_have_the_words_of_the_runtime(void **state)
{
	_cleanup_free_ char *text = report("text"), *json = report("json"), *page = report("html");

	assert_non_null(strstr(text, "Turning held up spinner (4711) for "));
	assert_non_null(strstr(text, ": 101 turns, longest 1.000 µs (big)"));
	assert_non_null(strstr(text,
		"\nLongest turns of Toy (stacks innermost first; times of day: UTC)\n"
		"    DURATION  CLASS  CAUSE      AT\n    1.000 µs  big    unknown    "));
	assert_non_null(strstr(text, "\n      marking 300 ns, sweeping 500 ns\n"));
	assert_null(strstr(text, "Python"));
	assert_non_null(strstr(json, "\"class\":\"big\",\"gc\":true,\"mark_ns\":300,"));
	assert_non_null(strstr(page, "\"classes\":[\"small\",\"\",\"big\",\"\"]"));
	assert_non_null(strstr(page, "{\"key\":\"classes\",\"caption\":\"Turns of Toy by class\""));
	assert_non_null(strstr(page,
		"{\"key\":\"mark_ns\",\"title\":\"Marking\",\"unit\":\"ns\",\"folded\":true}"));
	assert_non_null(strstr(page, ",\"mark_ns\":300,\"sweep_ns\":500,"));
	assert_non_null(strstr(page, "\"class\":{\"order\":3,\"place\":2,\"name\":\"big\"}"));
}

static void test_flame_graphs_have_the_words_of_the_runtime(void **state)
{
	_cleanup_free_ char *folded = report("folded"), *picture = report("flamegraph");

	assert_string_equal(folded, "spinner (4711);[no stack];[big] 34\n"
				    "spinner (4711);[no stack];[small] 67\n");
	assert_non_null(strstr(picture, "<g class=\"gen0 edged\"><title>small, unknown\n67.00 µs"));
	assert_non_null(strstr(picture, "<g class=\"gen2 edged\"><title>big, unknown\n34.00 µs"));
	assert_non_null(strstr(picture, "data-search=\"small\">small</tspan>"));
	assert_null(strstr(picture, "gen ?"));
}

static void test_a_pause_has_its_facts(void **state)
{
	struct pause pause = nth_turn(1);
	_cleanup_free_ char *text = NULL;
	struct stack_table stacks;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(stack_table_init(&stacks), 0);
	json_facts(out, &stacks, &pause, NULL);
	fclose(out);
	assert_string_equal(text,
		",\"class\":\"small\",\"gc\":true,\"mark_ns\":300,\"why\":null,\"sweep_ns\":500,"
		"\"size_bytes\":null");
	stack_table_release(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_have_the_words_of_the_runtime),
		cmocka_unit_test(test_formats_have_the_words_of_the_runtime),
		cmocka_unit_test(test_flame_graphs_have_the_words_of_the_runtime),
		cmocka_unit_test(test_a_pause_has_its_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
