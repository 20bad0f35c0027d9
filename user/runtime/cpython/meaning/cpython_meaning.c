/* What a pause of CPython means: a generation was collected, and the thread that did it holds the GIL. */
#include <stdlib.h>
#include <string.h>

#include "budget_metric.h"
#include "cleanup.h"
#include "cpython_facts.h"
#include "gc_advice.h"
#include "meaning.h"

enum { GENERATION_UNKNOWN = 3, GENERATIONS };

extern const struct runtime_meaning meaning_cpython;

static const struct pause_class classes[GENERATIONS] = {
	{&meaning_cpython, "0", "0", "generation 0", "generation-0 collections", 0, 0, 0, 1,
		.legend = "gen 0"},
	{&meaning_cpython, "1", "1", "generation 1", "generation-1 collections", 1, 1, 0, 2,
		.legend = "gen 1"},
	{&meaning_cpython, "2", "2", "generation 2", "generation-2 collections", 2, 2, 1, 3,
		.legend = "gen 2 (full)"},
	{&meaning_cpython, "unknown", "?", "generation unknown", "collections", GENERATION_UNKNOWN,
		3, UNKNOWN, 0, .legend = "gen ?"},
};

static const struct pause_fact facts[CPYTHON_FACTS] = {
	[CPYTHON_THRESHOLD_0] = {"threshold0", .name = "threshold of generation 0",
		.unit = FACT_COUNT},
	[CPYTHON_THRESHOLD_1] = {"threshold1", .name = "threshold of generation 1",
		.unit = FACT_COUNT},
	[CPYTHON_THRESHOLD_2] = {"threshold2", .name = "threshold of generation 2",
		.unit = FACT_COUNT},
	[CPYTHON_REACH_NS] = {"reach_ns", .name = "reaching (until all other threads had stopped)",
		.unit = FACT_NS, .part = true, .figures = true},
	[CPYTHON_STOPPED_NS] = {"stopped_ns", .name = "collecting while they stood still",
		.unit = FACT_NS, .part = true, .figures = true},
	[CPYTHON_ALONE_NS] = {"alone_ns", .name = "the collecting thread alone", .unit = FACT_NS,
		.part = true},
	[CPYTHON_FIRST_AT] = {"first_at_ns", .name = "first stop after", .unit = FACT_NS},
	[CPYTHON_FIRST_NS] = {"first_ns", .name = "first stop", .unit = FACT_NS},
	[CPYTHON_SECOND_AT] = {"second_at_ns", .name = "second stop after", .unit = FACT_NS},
	[CPYTHON_SECOND_NS] = {"second_ns", .name = "second stop", .unit = FACT_NS},
	[CPYTHON_FIRST_REACH] = {"first_reach_ns", .name = "reaching the first", .unit = FACT_NS},
	[CPYTHON_SECOND_REACH] = {"second_reach_ns", .name = "reaching the second",
		.unit = FACT_NS},
};

_Static_assert(CPYTHON_FACTS <= PAUSE_FACTS, "struct pause has room for them");

static void judge(const struct strtab *strings, struct pause *pause)
{
	bool known = pause->generation >= 0 && pause->generation < GENERATION_UNKNOWN;

	pause->class = &classes[known ? pause->generation : GENERATION_UNKNOWN];
	pause->collects = pause_collects(pause);
	pause->at_exit = pause->cause == CAUSE_SHUTDOWN;
}

/* Each interpreter but the main one has a GIL of its own from 3.12 on, and stops the others no more. */
static bool stops_others(const struct runtime *runtime, const struct pause *pause)
{
	char *end;
	long major, minor;

	if (pause->interpreter <= 0)
		return true;
	major = strtol(runtime->version, &end, 10);
	minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major < 3 || (major == 3 && minor < 12);
}

/* By where the file lies: the standard library, installed packages, frozen modules are not the user's. */
static enum origin origin(const char *function, const char *file)
{
	static const char *const parts[] = {
		"/site-packages/", "/dist-packages/", "/lib/python2", "/lib/python3"};

	if (!*file || *file == '<')
		return ORIGIN_RUNTIME;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(file, parts[i]))
			return ORIGIN_RUNTIME;
	return ORIGIN_USER;
}

static const struct budget_metric metrics[] = {
	{"gen2.count", "the same as full.count", BUDGET_COUNT, false, 0, budget_full_count},
	{"gen2.max", "the same as full.max", BUDGET_TIME, false, 0, budget_full_max},
	{"gen2.total", "the same as full.total", BUDGET_TIME, false, 0, budget_full_total},
};

static const struct exit_words exit_words = {
	"collection", "collections", "the interpreter's exit", "an interpreter's exit"};

const struct runtime_meaning meaning_cpython = {
	.kind = "cpython",
	.label = "CPython",
	.subject = "GC",
	.cause = "GC",
	.pause = "pause",
	.pauses = "pauses",
	.verb = "paused",
	.process = "CPython",
	.no_stack = "no Python stack: short pauses, or the interpreter was exiting",
	.exit = &exit_words,
	.asks = "gc.collect()",
	.lang = LANG_PYTHON,
	.classes = classes,
	.class_count = GENERATIONS,
	.generations = true,
	.facts = facts,
	.fact_count = CPYTHON_FACTS,
	.judge = judge,
	.stops_others = stops_others,
	.origin = origin,
	.advice = &gc_adviser,
	.metrics = metrics,
	.metric_count = ARRAY_SIZE(metrics),
};
