/* What a pause of the toy means: it stopped for a minor or a major collection. */
#include "meaning.h"
#include "toy_facts.h"

extern const struct runtime_meaning meaning_toy;

enum { MINOR, MAJOR, NEITHER, CLASSES };

static const struct pause_class classes[CLASSES] = {
	[MINOR] = {&meaning_toy, "minor", "minor", "minor", "minor sweeps", MINOR, 0, 0},
	[MAJOR] = {&meaning_toy, "major", "major", "major", "major sweeps", MAJOR, 2, 1},
	[NEITHER] = {&meaning_toy, "unknown", "?", "unknown", "stops", NEITHER, 3, UNKNOWN},
};

static const struct pause_fact facts[TOY_FACTS] = {
	[TOY_MARK] = {"mark_ns", NULL, "marking", FACT_NS, true},
	[TOY_SWEPT] = {"swept_bytes", NULL, "swept", FACT_BYTES, false},
};

static void judge(const struct strtab *strings, struct pause *pause)
{
	pause->class = &classes[pause->generation == MINOR || pause->generation == MAJOR ? pause->generation
											 : NEITHER];
	pause->collects = 1;
	pause->at_exit = false;
}

const struct runtime_meaning meaning_toy = {
	.kind = "toy",
	.label = "the toy",
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
};
