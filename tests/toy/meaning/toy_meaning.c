/* What a pause of the toy means: it stopped for a minor or a major collection. */
#include "advising.h"
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

/* Nobody else's code is in it. */
static enum origin origin(const char *function, const char *file)
{
	return ORIGIN_USER;
}

/* What its adviser keeps of a process. */
struct toy_state {
	uint64_t major_ns; /* of its major sweeps, as far as they count */
};

static int add(void *state, const struct advice_pause *pause)
{
	struct toy_state *toy = state;

	if (pause->pause->class == &classes[MAJOR])
		toy->major_ns += pause->overlap_ns;
	return 0;
}

/* A toy can do without major sweeps. */
static int advise(struct advising *advising)
{
	double saves = (double)((const struct toy_state *)advising->state)->major_ns;
	struct advice *advice;
	int r = 0;

	advice = advice_add(advising, 0, saves, saves, saves, &r);
	if (!advice)
		return r;
	APPEND_TO(advice->title, "Leave out major sweeps");
	APPEND_TO(advice->line, "toy_major = 0");
	APPEND_TO(advice->estimate, "all that they took is saved");
	APPEND_TO(advice->risk, "a toy that never sweeps thoroughly grows");
	return 0;
}

static const struct advice_kind kinds[] = {{"toy-minor-only", 1}};

static const struct runtime_advice adviser = {
	.kinds = kinds,
	.state_bytes = sizeof(struct toy_state),
	.add = add,
	.advise = advise,
};

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
	.lang = TOY_LANG,
	.origin = origin,
	.advice = &adviser,
	.metrics = metrics,
	.metric_count = ARRAY_SIZE(metrics),
};
