/* Callers of System.gc() in; what another period, a concurrent cycle or nothing at all would save,
 * out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jvm_advice.h"
#include "attrib.h"
#include "origin.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

#define WORTH_NAMING	3    /* callers of one process that are advised on */
#define NEXT_TO_NOTHING 0.05 /* of the heap before: what is freed by a call that may go */
#define LONGER		10   /* times the period */
#define CONCURRENT	1.5  /* pauses of a concurrent cycle, in young collections */

/* One caller while it is advised. */
struct asking {
	struct advising *advising;
	const struct explicit_caller *caller;
	double paused_ns; /* of its pauses, what counts */
	double waited_ns; /* by the thread that makes the steps, beside them */
};

static const char *function_of(const struct asking *asking, uint32_t frame)
{
	const struct stack_table *stacks = asking->advising->attribution->stacks;

	return frame && frame < stacks->frame_count
		       ? strtab_get(stacks->strings, stacks->frames[frame].function)
		       : "";
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), part = strlen(end);

	return len >= part && !strcmp(text + len - part, end);
}

/*
 * DL4J's own: BasicMemoryManager.invokeGc, or one that overrides it, called by its thread for that;
 * a kernel's name of a thread ends after 15 characters.
 */
static bool is_dl4j_period(const struct asking *asking)
{
	const char *function = function_of(asking, asking->caller->caller);

	return ends_with(function, "BasicMemoryManager.invokeGc") ||
	       (ends_with(function, ".invokeGc") &&
		       !strncmp(asking->caller->thread, "DeallocatorServ", 15));
}

static bool is_javacpp(const struct asking *asking)
{
	return !strncmp(function_of(asking, asking->caller->caller), "org.bytedeco.javacpp.Pointer",
		28);
}

static double share_of_pauses(const struct explicit_caller *caller)
{
	return caller->pauses ? (double)caller->measured / (double)caller->pauses : 0;
}

static bool frees_nothing(const struct explicit_caller *caller)
{
	return caller->measured && share_of_pauses(caller) >= 0.5 &&
	       (double)caller->freed_bytes < NEXT_TO_NOTHING * (double)caller->before_bytes;
}

/* "97 calls in Trainer.fit (Trainer.java:41) by thread main, one each 512 ms, blocked …" */
static void say_calls(const struct asking *asking, struct advice *advice)
{
	const struct explicit_caller *caller = asking->caller;

	APPEND_TO(advice->estimate, ": %s call%s", DESCRIBE_COUNT(caller->calls),
		caller->calls == 1 ? "" : "s");
	if (caller->caller)
		APPEND_TO(advice->estimate, " in %s",
			DESCRIBE_FRAME(asking->advising->attribution->stacks, caller->caller));
	if (*caller->thread)
		APPEND_TO(advice->estimate, " by thread %s", caller->thread);
	if (caller->period_ns)
		APPEND_TO(advice->estimate, ", %s each %s", caller->regular ? "one" : "about one",
			FORMAT_DURATION(caller->period_ns));
	APPEND_TO(advice->estimate, ", blocked %s, paused %s", FORMAT_DURATION(caller->blocked_ns),
		FORMAT_DURATION(caller->pause_ns));
	if (caller->freed_bytes >= 0)
		APPEND_TO(advice->estimate, ", freed %s",
			DESCRIBE_BYTES((double)caller->freed_bytes));
}

/* Adds advice of @kind that rests on @asking. NULL: not worth it, or *ret_r < 0. */
static struct advice *calls_add(const struct asking *asking, enum jvm_advice kind, double saves,
	double low, double high, int *ret_r)
{
	struct advice *advice = advice_add(asking->advising, kind, saves, low, high, ret_r);

	if (!advice)
		return NULL;
	advice->trigger = asking->caller->who ? asking->caller->who : asking->caller->caller;
	advice_say_fall(asking->advising, advice);
	say_calls(asking, advice);
	return advice;
}

/* A period in milliseconds of one or two digits that count. */
static uint64_t round_period(double ms)
{
	double unit = 1;

	while (ms / unit >= 100)
		unit *= 10;
	return stats_whole(round(ms / unit) * unit);
}

/*
 * A collection looks at what lives and at what has died since; a longer period makes the one rarer
 * and leaves the sum of the other as it is. At worst all of it is of the second kind.
 */
static int advise_window(const struct asking *asking)
{
	const struct explicit_caller *caller = asking->caller;
	double left = (double)caller->before_bytes - (double)caller->freed_bytes;
	double live, saved = asking->paused_ns * (1 - 1.0 / LONGER);
	struct advice *advice;
	int r;

	if (!caller->regular || caller->period_ns < 1000000 || share_of_pauses(caller) < 0.5 ||
		!caller->before_bytes)
		return 0;
	live = left / (double)caller->before_bytes;
	advice = calls_add(asking, ADVICE_EXPLICIT_WINDOW, live * saved, 0, saved, &r);
	if (!advice)
		return r;
	advice->grows_bytes =
		stats_count((LONGER - 1) * (double)caller->freed_bytes / (double)caller->measured);
	snprintf(advice->title, sizeof(advice->title), "Let DL4J call System.gc() less often");
	snprintf(advice->line, sizeof(advice->line),
		"Nd4j.getMemoryManager().setAutoGcWindow(%llu);",
		(unsigned long long)round_period(LONGER * (double)caller->period_ns / 1e6));
	APPEND_TO(advice->estimate,
		"; %.0f %% of what they looked at lived on, the rest would be looked at all the "
		"same",
		100 * live);
	snprintf(advice->risk, sizeof(advice->risk),
		"rarer but longer pauses; arrays outside workspaces free their memory outside the "
		"heap "
		"only when collected, so that more of it is held meanwhile; watch whether the "
		"calls "
		"become rarer: not every memory manager heeds it");
	return 0;
}

static bool users_own(const struct asking *asking)
{
	const struct stack_table *stacks = asking->advising->attribution->stacks;
	uint32_t who = asking->caller->who;

	return who && frame_origin(stacks, who) == ORIGIN_USER;
}

/* Its collections free next to nothing; or a training thread waits for concurrent cycles. */
static int advise_off(const struct asking *asking, bool useless)
{
	double all = asking->paused_ns + asking->waited_ns;
	struct advice *advice;
	int r;

	advice = calls_add(asking, ADVICE_EXPLICIT_OFF, all, useless ? 0.7 * all : 0, all, &r);
	if (!advice)
		return r;
	if (users_own(asking))
		snprintf(advice->title, sizeof(advice->title),
			"Drop the call of System.gc() in %.60s",
			DESCRIBE_FRAME(asking->advising->attribution->stacks, asking->caller->who));
	else
		snprintf(advice->title, sizeof(advice->title),
			"Let the JVM ignore calls of System.gc()");
	snprintf(advice->line, sizeof(advice->line), "-XX:+DisableExplicitGC");
	if (useless)
		APPEND_TO(advice->estimate, " of %s looked at",
			DESCRIBE_BYTES((double)asking->caller->before_bytes));
	else
		APPEND_TO(advice->estimate, "; what they free is not known");
	snprintf(advice->risk, sizeof(advice->risk),
		"memory outside the heap (direct ByteBuffers, JavaCPP's pointers) is freed when "
		"their "
		"owners are collected: where nothing else collects, it grows until it is refused; "
		"watch "
		"the resident memory after the change");
	return 0;
}

/* What a young collection takes, and frees: means; freed 0: not known. */
struct usual_young {
	double ns, freed;
};

static struct usual_young usual_young(const struct jvm_facts *jvm)
{
	struct usual_young sum = {};
	double count = 0, measured = 0;

	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		if (event->class != HOTSPOT_YOUNG)
			continue;
		sum.ns += (double)event->duration_ns;
		count++;
		if (event->heap_after < 0 || event->heap_before < event->heap_after)
			continue;
		sum.freed += (double)(event->heap_before - event->heap_after);
		measured++;
	}
	return (struct usual_young){
		.ns = count > 0 ? sum.ns / count : 0,
		.freed = measured > 0 ? sum.freed / measured : 0,
	};
}

/*
 * What these calls freed would have to be freed by young collections, were there no calls: how long
 * those would take. UNKNOWN if the recording does not tell.
 */
static double instead_ns(const struct asking *asking)
{
	struct usual_young young = usual_young(jvm_facts(asking->advising));
	double freed = (double)asking->caller->freed_bytes;

	return freed < 0 || !(young.freed > 0) ? UNKNOWN : freed / young.freed * young.ns;
}

/* G1 can do it while the program runs; who calls still waits until it is done. */
static int advise_concurrent(const struct asking *asking)
{
	const struct jvm_facts *jvm = jvm_facts(asking->advising);
	const struct explicit_caller *caller = asking->caller;
	double young = usual_young(jvm).ns, counted, left;
	struct advice *advice;
	int r;

	if (strcmp(jvm->collector, "G1") || !(young > 0) || !caller->pause_ns || caller->training)
		return 0;
	counted = asking->paused_ns / (double)caller->pause_ns;
	left = CONCURRENT * young * (double)caller->collected * counted;
	if (left >= asking->paused_ns)
		return 0;
	advice = calls_add(asking, ADVICE_EXPLICIT_CONCURRENT, asking->paused_ns - left,
		asking->paused_ns - 3 * left, asking->paused_ns - left / 2, &r);
	if (!advice)
		return r;
	snprintf(advice->title, sizeof(advice->title), "Let System.gc() collect concurrently");
	snprintf(advice->line, sizeof(advice->line), "-XX:+ExplicitGCInvokesConcurrent");
	APPEND_TO(advice->estimate,
		"; a concurrent cycle pauses for about %.1f young collections of %s", CONCURRENT,
		FORMAT_DURATION(stats_whole(young)));
	snprintf(advice->risk, sizeof(advice->risk),
		"the caller waits longer, until the cycle is done; the cycle takes processor time "
		"from the "
		"training; the heap is not compacted");
	return 0;
}

/* "; JavaCPP calls when …; without its calls young collections would take about 1.2 s" */
static void say_limit(struct advice *advice, double instead)
{
	APPEND_TO(advice->estimate, "; JavaCPP calls when its memory is at its limit");
	if (instead >= 0)
		APPEND_TO(advice->estimate,
			"; without its calls young collections would take about %s instead",
			FORMAT_DURATION(stats_whole(instead)));
	else
		APPEND_TO(advice->estimate,
			"; a guess: what young collections would take instead is not known");
}

/* Of what raising the limit would save, half. */
static int advise_workspaces(const struct asking *asking, double saves, double high, double instead)
{
	struct advice *advice;
	int r;

	advice = calls_add(asking, ADVICE_WORKSPACES, saves / 2, 0, high, &r);
	if (!advice)
		return r;
	snprintf(advice->title, sizeof(advice->title),
		"Keep arrays in workspaces (WorkspaceMode.ENABLED)");
	snprintf(advice->line, sizeof(advice->line),
		".trainingWorkspaceMode(WorkspaceMode.ENABLED)  // and inferenceWorkspaceMode");
	say_limit(advice, instead);
	APPEND_TO(advice->estimate, "; that workspaces end half of the calls is a guess");
	snprintf(advice->risk, sizeof(advice->risk),
		"no gain if they are enabled, as is the default; an array that leaves its "
		"workspace must be detached (detach(), leverageTo()), or ND4J refuses it");
	return 0;
}

/*
 * At its limit JavaCPP collects and sleeps in whatever thread makes the next array. What is garbage in the
 * Java heap then has to be collected anyway.
 */
static int advise_limit(const struct asking *asking)
{
	double all = asking->paused_ns + asking->waited_ns, instead = instead_ns(asking);
	double saves = instead < 0 ? all / 2 : fmax(0, all - instead);
	double low = instead < 0 ? 0 : fmax(0, all - 2 * instead);
	double high = instead < 0 ? all : fmax(saves, all - instead / 2);
	struct advice *advice;
	int r = 0;

	if (advice_of_dl4j(asking->advising))
		r = advise_workspaces(asking, saves, high, instead);
	if (r)
		return r;
	advice = calls_add(asking, ADVICE_MEMORY_LIMIT, saves, low, high, &r);
	if (!advice)
		return r;
	snprintf(advice->title, sizeof(advice->title), "Raise JavaCPP's limit of physical memory");
	snprintf(advice->line, sizeof(advice->line), "-Dorg.bytedeco.javacpp.maxphysicalbytes=0");
	say_limit(advice, instead);
	snprintf(advice->risk, sizeof(advice->risk),
		"0 is no limit: if arrays are really kept, the process grows until the machine's "
		"memory is used up and the kernel kills it; a figure above what is resident now is "
		"the safer way");
	return 0;
}

static int advise_caller(const struct asking *asking)
{
	const struct explicit_caller *caller = asking->caller;

	if (is_javacpp(asking))
		return advise_limit(asking);
	if (frees_nothing(caller))
		return advise_off(asking, true);
	if (is_dl4j_period(asking)) {
		int r = advise_window(asking);

		return r ? r : advise_concurrent(asking);
	}
	if (caller->training && asking->waited_ns > 2 * asking->paused_ns)
		return advise_off(asking, false);
	return advise_concurrent(asking);
}

int advise_explicit(struct advising *advising)
{
	const struct advice_subject *facts = advising->subject;
	const struct explicit_calls *calls = &advising->attribution->explicit_calls;
	size_t named = 0;
	int r = 0;

	for (size_t i = 0; i < calls->callers.count && named < WORTH_NAMING && !r; i++) {
		const struct explicit_caller *caller = &calls->callers.items[i];
		struct asking asking = {.advising = advising, .caller = caller};

		if (caller->process != facts->process)
			continue;
		named++;
		asking.paused_ns = (double)(facts->track ? caller->overlap_ns : caller->pause_ns);
		if (caller->training && caller->blocked_ns > caller->pause_ns)
			asking.waited_ns = fmin((double)(caller->blocked_ns - caller->pause_ns),
				(double)facts->stall_ns);
		r = advise_caller(&asking);
	}
	return r;
}
