/* What a pause of Julia means: it collected what is young or all of the heap, because it had to or was asked to. */
#include <string.h>

#include "budget_metric.h"
#include "cleanup.h"
#include "julia_advice.h"
#include "meaning.h"

extern const struct runtime_meaning meaning_julia;

/* GC.gc(false) and GC.gc() are classes of their own: what a program asks for it can ask for elsewhere. */
enum { INCREMENTAL, ASKED_INCREMENTAL, FULL, ASKED_FULL, NEITHER, CLASSES };

static const struct pause_class classes[CLASSES] = {
	[INCREMENTAL] = {&meaning_julia, "incremental", "incr", "incremental",
		"incremental collections", INCREMENTAL, 0, 0, 1, .leaves_live = true},
	[ASKED_INCREMENTAL] = {&meaning_julia, "asked incremental", "incr!", "asked incremental",
		"incremental collections that were asked for", ASKED_INCREMENTAL, 1, 0, 2,
		.leaves_live = true},
	[FULL] = {&meaning_julia, "full", "full", "full", "full collections", FULL, 2, 1, 3,
		.leaves_live = true},
	[ASKED_FULL] = {&meaning_julia, "asked full", "full!", "asked full",
		"full collections that were asked for", ASKED_FULL, 2, 1, 4, .leaves_live = true},
	[NEITHER] = {&meaning_julia, "unknown", "?", "unknown", "collections", NEITHER, 3, UNKNOWN},
};

static const struct pause_fact facts[JULIA_FACTS] = {
	[JULIA_TTSP_NS] = {FACT_TTSP, NULL, "reaching (time to safepoint)", FACT_NS, true, true},
	[JULIA_CORE_NS] = {"core_ns", NULL, "collecting", FACT_NS, false, true},
	[JULIA_MARK_NS] = {"mark_ns", NULL, "marking", FACT_NS, true, true},
	[JULIA_SWEEP_NS] = {"sweep_ns", NULL, "sweeping", FACT_NS, true, true},
	[JULIA_POST_NS] = {"post_ns", NULL, "finalizers and callbacks", FACT_NS, true, true},
	[JULIA_FREED_BYTES] = {"freed_bytes", NULL, "freed", FACT_BYTES, false, false},
	[JULIA_HEAP_BEFORE] = {FACT_HEAP_BEFORE, "heap_before_bytes", "heap before", FACT_BYTES,
		false, false},
	[JULIA_HEAP_AFTER] = {FACT_HEAP_AFTER, "live_bytes", "heap after", FACT_BYTES, false,
		false},
	[JULIA_ASKED] = {"asked", NULL, "asked for", FACT_STRING, false, false},
	[JULIA_LATE_TID] = {FACT_LATE, NULL, "late", FACT_THREAD, false, false},
	[JULIA_LATE_STACK] = {FACT_LATE_STACK, NULL, "where it was", FACT_STACK, false, false},
	[JULIA_FULL_SWEEPS] = {"full_sweeps", NULL, "full sweeps", FACT_COUNT, false, false},
};

_Static_assert(JULIA_FACTS <= PAUSE_FACTS, "struct pause has room for them");

#define METRIC(name, what, rank, key, several)                                                     \
	{name, what, BUDGET_TIME, false, rank, budget_fact, key, several}

static const struct budget_metric metrics[] = {
	METRIC("mark.max", "the longest time that a Julia marked", 1, "mark_ns",
		"times of marking"),
	METRIC("mark.p99", "99 % of the times that a Julia marked are not longer", 0.99, "mark_ns",
		"times of marking"),
	METRIC("sweep.max", "the longest time that a Julia swept", 1, "sweep_ns",
		"times of sweeping"),
	METRIC("sweep.p99", "99 % of the times that a Julia swept are not longer", 0.99, "sweep_ns",
		"times of sweeping"),
	METRIC("post.max", "the longest time of finalizers after a collection of a Julia", 1,
		"post_ns", "times of finalizers"),
	METRIC("post.p99", "99 % of the times of a Julia's finalizers are not longer", 0.99,
		"post_ns", "times of finalizers"),
};

static bool was_asked(const struct pause *pause)
{
	return pause->cause == CAUSE_MANUAL;
}

static void judge(const struct strtab *strings, struct pause *pause)
{
	const int full = pause->flags & PAUSE_FULL ? ASKED_FULL : ASKED_INCREMENTAL;

	/* One that was not seen to end, or whose gc_num is not understood. */
	if (!(pause->flags & PAUSE_HAS_FACTS) || pause->facts[JULIA_FULL_SWEEPS] < 0)
		pause->class = &classes[NEITHER];
	else
		pause->class = &classes[was_asked(pause) ? full : full - 1];
	pause->collects = 1;
	pause->at_exit = false;
}

static bool asked_for(const struct strtab *strings, const struct pause *pause)
{
	return was_asked(pause);
}

/*
 * By the file: Base's are named by where they lie in Julia's own tree, the standard library's and packages' by where
 * they were when they were compiled. What is typed has no file: "REPL[1]", "none", "string".
 */
static enum origin origin(const char *function, const char *file)
{
	static const char *const typed[] = {"REPL[", "In[", "none", "string"};

	if (!*file || strstr(file, "/share/julia/") || strstr(file, "/stdlib/v1."))
		return ORIGIN_RUNTIME;
	for (size_t i = 0; i < ARRAY_SIZE(typed); i++)
		if (!strncmp(file, typed[i], strlen(typed[i])))
			return ORIGIN_USER;
	if (*file != '/')
		return ORIGIN_RUNTIME;
	return strstr(file, "/packages/") ? ORIGIN_FRAMEWORK : ORIGIN_USER;
}

const struct runtime_meaning meaning_julia = {
	.kind = "julia",
	.label = "Julia",
	.subject = "GC",
	.cause = "GC",
	.pause = "pause",
	.pauses = "pauses",
	.verb = "paused",
	.process = "a Julia",
	.asks = "GC.gc()",
	.lang = LANG_JULIA,
	.classes = classes,
	.class_count = CLASSES,
	.facts = facts,
	.fact_count = JULIA_FACTS,
	.judge = judge,
	.asked_for = asked_for,
	.advice = &julia_adviser,
	.origin = origin,
	.metrics = metrics,
	.metric_count = ARRAY_SIZE(metrics),
};
