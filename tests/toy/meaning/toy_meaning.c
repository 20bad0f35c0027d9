/* What a pause of the toy means: it stopped for a minor or a major collection. */
#include "budget_metric.h"
#include "cleanup.h"
#include "meaning.h"
#include "toy_facts.h"

extern const struct runtime_meaning meaning_toy;

enum { MINOR, MAJOR, NEITHER, CLASSES };

static const struct pause_class classes[CLASSES] = {
	[MINOR] = {&meaning_toy, "minor", "minor", "minor", "minor sweeps", MINOR, 0, 0, 1},
	[MAJOR] = {&meaning_toy, "major", "major", "major", "major sweeps", MAJOR, 2, 1, 2},
	[NEITHER] = {&meaning_toy, "unknown", "?", "unknown", "stops", NEITHER, 3, UNKNOWN, 0},
};

static const struct pause_fact facts[TOY_FACTS] = {
	[TOY_MARK] = {"mark_ns", NULL, "marking", FACT_NS, true, true},
	[TOY_SWEPT] = {"swept_bytes", NULL, "swept", FACT_BYTES, false, false},
};

static const struct budget_metric metrics[] = {
	{"mark.max", "the longest time that a toy marked", BUDGET_TIME, false, 1, budget_fact,
		"mark_ns", "times of marking"},
	{"mark.p99", "99 % of the times that a toy marked are not longer", BUDGET_TIME, false, 0.99,
		budget_fact, "mark_ns", "times of marking"},
};

static void judge(const struct strtab *strings, struct pause *pause)
{
	/* One that was not seen to end has no facts, and nothing says what it was for. */
	pause->class = &classes[!(pause->flags & PAUSE_HAS_FACTS) ? NEITHER
				: pause->flags & PAUSE_FULL	  ? MAJOR
								  : MINOR];
	pause->collects = 1;
	pause->at_exit = false;
}

const struct runtime_meaning meaning_toy = {
	.kind = "toy",
	.label = "Toy",
	.subject = "Stops",
	.cause = "stops",
	.pause = "stop",
	.pauses = "stops",
	.verb = "held",
	.process = "a toy",
	.classes = classes,
	.class_count = CLASSES,
	.facts = facts,
	.fact_count = TOY_FACTS,
	.judge = judge,
	.metrics = metrics,
	.metric_count = ARRAY_SIZE(metrics),
};
