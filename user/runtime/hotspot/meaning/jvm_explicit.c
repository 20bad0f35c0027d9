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

/* What would act on calls, summed up over the callers that it acts on: the one that costs most comes first. */
struct remedy {
	double saves, low, high; /* ns */
	double instead; /* ns of young collections that would come instead; < 0: not known */
	double live;	/* of DL4J's window: the share of what was looked at that lived on */
	bool useless;	/* the calls free next to nothing */
	const struct explicit_caller *first;
	uint64_t others, other_calls; /* callers beside, and their calls */
};

/* One caller while it is advised. */
struct asking {
	struct advising *advising;
	struct remedy *remedies; /* by enum jvm_advice */
	const struct explicit_caller *caller;
	double paused_ns; /* of its pauses, what counts */
	double waited_ns; /* by the thread that makes the steps, beside them */
};

static const char *function_of(const struct advising *advising, uint32_t frame)
{
	const struct stack_table *stacks = advising->attribution->stacks;

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
	const char *function = function_of(asking->advising, asking->caller->caller);

	return ends_with(function, "BasicMemoryManager.invokeGc") ||
	       (ends_with(function, ".invokeGc") &&
		       !strncmp(asking->caller->thread, "DeallocatorServ", 15));
}

static bool is_javacpp(const struct asking *asking)
{
	return !strncmp(function_of(asking->advising, asking->caller->caller),
		"org.bytedeco.javacpp.Pointer", 28);
}

/* The JDK itself, which has no other way to get memory for direct buffers: without it they are refused. */
static bool is_for_buffers(const struct asking *asking)
{
	const struct stack_table *stacks = asking->advising->attribution->stacks;
	uint32_t node = asking->caller->stack;

	for (; node && node < stacks->node_count; node = stacks->nodes[node].parent) {
		uint32_t frame = stacks->nodes[node].frame;

		if (frame_origin(stacks, frame) != ORIGIN_RUNTIME)
			return false;
		if (!strncmp(function_of(asking->advising, frame), "java.nio.Bits.", 14))
			return true;
	}
	return false;
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

/* Adds the calls of @asking to those that a remedy of @kind acts on. */
static struct remedy *add_remedy(const struct asking *asking, enum jvm_advice kind, double saves,
	double low, double high)
{
	struct remedy *remedy = &asking->remedies[kind];

	remedy->saves += saves;
	remedy->low += low;
	remedy->high += high;
	if (!remedy->first) {
		remedy->first = asking->caller;
		return remedy;
	}
	remedy->others++;
	stats_add(&remedy->other_calls, asking->caller->calls);
	return remedy;
}

/*
 * A collection looks at what lives and at what has died since; a longer period makes the one rarer
 * and leaves the sum of the other as it is. At worst all of it is of the second kind.
 */
static void find_window(const struct asking *asking)
{
	const struct explicit_caller *caller = asking->caller;
	double left = (double)caller->before_bytes - (double)caller->freed_bytes, saved;
	struct remedy *remedy;

	if (!(caller->regular || caller->rests) || caller->rest_ns < 1000000 ||
		share_of_pauses(caller) < 0.5 || !caller->before_bytes ||
		asking->remedies[ADVICE_EXPLICIT_WINDOW].first)
		return;
	saved = asking->paused_ns *
		fmax(0, 1 - (double)caller->period_ns / (LONGER * (double)caller->rest_ns +
								(double)caller->blocked_median_ns));
	left /= (double)caller->before_bytes;
	remedy = add_remedy(asking, ADVICE_EXPLICIT_WINDOW, left * saved, 0, saved);
	remedy->live = left;
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

/* No calls at all: young collections come instead. Half of it where those are not known. */
static struct remedy *find_without(const struct asking *asking, enum jvm_advice kind, double part)
{
	double all = asking->paused_ns + asking->waited_ns, instead = instead_ns(asking);
	double saves = instead < 0 ? all / 2 : fmax(0, all - instead);
	double low = instead < 0 ? 0 : fmax(0, all - 2 * instead);
	double high = instead < 0 ? all : fmax(saves, all - instead / 2);
	struct remedy *remedy = add_remedy(asking, kind, part * saves, part < 1 ? 0 : low, high);

	remedy->instead = remedy->instead < 0 || instead < 0 ? UNKNOWN : remedy->instead + instead;
	return remedy;
}

/* Its collections free next to nothing; or a training thread waits for concurrent cycles; or it frees something. */
static void find_off(const struct asking *asking, enum jvm_advice kind)
{
	double all = asking->paused_ns + asking->waited_ns;

	if (is_for_buffers(asking))
		return;
	if (frees_nothing(asking->caller))
		add_remedy(asking, kind, all, 0.7 * all, all)->useless = true;
	else if (asking->caller->training && asking->waited_ns > 2 * asking->paused_ns)
		add_remedy(asking, kind, all, 0, all)->instead = UNKNOWN;
	else if (asking->caller->freed_bytes >= 0)
		find_without(asking, kind, 1);
}

/* G1 can do it while the program runs; who calls still waits until it is done. */
static void find_concurrent(const struct asking *asking)
{
	const struct jvm_facts *jvm = jvm_facts(asking->advising);
	const struct explicit_caller *caller = asking->caller;
	double young = usual_young(jvm).ns, counted, left;

	if (strcmp(jvm->collector, "G1") || !(young > 0) || !caller->pause_ns || caller->training)
		return;
	counted = asking->paused_ns / (double)caller->pause_ns;
	left = CONCURRENT * young * (double)caller->collected * counted;
	if (left < asking->paused_ns)
		add_remedy(asking, ADVICE_EXPLICIT_CONCURRENT, asking->paused_ns - left,
			asking->paused_ns - 3 * left, asking->paused_ns - left / 2);
}

/*
 * At its limit JavaCPP collects and sleeps in whatever thread makes the next array. What is garbage in the
 * Java heap then has to be collected anyway. Workspaces: of what raising the limit would save, half.
 */
static void find_limit(const struct asking *asking)
{
	if (advice_of_dl4j(asking->advising))
		find_without(asking, ADVICE_WORKSPACES, 0.5);
	find_without(asking, ADVICE_MEMORY_LIMIT, 1);
}

static void find_remedies(const struct asking *asking)
{
	const struct explicit_caller *caller = asking->caller;

	if (is_javacpp(asking)) {
		find_limit(asking);
		return;
	}
	if (is_dl4j_period(asking)) {
		if (!frees_nothing(caller))
			find_window(asking);
		find_off(asking, ADVICE_EXPLICIT_TOGGLE);
	}
	if (frees_nothing(caller) || !is_dl4j_period(asking))
		find_off(asking, ADVICE_EXPLICIT_OFF);
	if (!frees_nothing(caller))
		find_concurrent(asking);
}

/* "97 calls in Trainer.fit (Trainer.java:41) by thread main, one each 512 ms, blocked …" */
static void say_calls(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	const struct explicit_caller *caller = remedy->first;

	APPEND_TO(advice->estimate, ": %s call%s", DESCRIBE_COUNT(caller->calls),
		caller->calls == 1 ? "" : "s");
	if (caller->caller)
		APPEND_TO(advice->estimate, " in %s",
			DESCRIBE_FRAME(advising->attribution->stacks, caller->caller));
	if (*caller->thread)
		APPEND_TO(advice->estimate, " by thread %s", caller->thread);
	if (caller->rests && !caller->regular)
		APPEND_TO(advice->estimate, ", %s after each", FORMAT_DURATION(caller->rest_ns));
	else if (caller->period_ns)
		APPEND_TO(advice->estimate, ", %s each %s", caller->regular ? "one" : "about one",
			FORMAT_DURATION(caller->period_ns));
	APPEND_TO(advice->estimate, ", blocked %s, paused %s", FORMAT_DURATION(caller->blocked_ns),
		FORMAT_DURATION(caller->pause_ns));
	if (caller->freed_bytes >= 0)
		APPEND_TO(advice->estimate, ", freed %s",
			DESCRIBE_BYTES((double)caller->freed_bytes));
	if (remedy->useless)
		APPEND_TO(advice->estimate, " of %s looked at",
			DESCRIBE_BYTES((double)caller->before_bytes));
	if (remedy->others)
		APPEND_TO(advice->estimate, "; and %s calls of %llu other caller%s",
			DESCRIBE_COUNT(remedy->other_calls), (unsigned long long)remedy->others,
			remedy->others == 1 ? "" : "s");
}

/* "; without them young collections would take about 1.2 s instead" */
static void say_instead(const struct remedy *remedy, struct advice *advice)
{
	if (remedy->useless)
		return;
	if (remedy->first->freed_bytes < 0)
		APPEND_TO(advice->estimate, "; what they free is not known");
	else if (remedy->instead >= 0)
		APPEND_TO(advice->estimate,
			"; without them young collections would take about %s instead",
			FORMAT_DURATION(stats_whole(remedy->instead)));
	else
		APPEND_TO(advice->estimate,
			"; a guess: what young collections would take instead is not known");
}

/* A period in milliseconds of one or two digits that count. */
static uint64_t round_period(double ms)
{
	double unit = 1;

	while (ms / unit >= 100)
		unit *= 10;
	return stats_whole(round(ms / unit) * unit);
}

static void say_window(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	const struct explicit_caller *caller = remedy->first;

	advice->grows_bytes =
		stats_count((LONGER - 1) * (double)caller->freed_bytes / (double)caller->measured);
	snprintf(advice->title, sizeof(advice->title), "Let DL4J call System.gc() less often");
	snprintf(advice->line, sizeof(advice->line),
		"Nd4j.getMemoryManager().setAutoGcWindow(%llu);",
		(unsigned long long)round_period(LONGER * (double)caller->rest_ns / 1e6));
	APPEND_TO(advice->estimate,
		"; %.0f %% of what they looked at lived on, the rest would be looked at all the "
		"same",
		100 * remedy->live);
	snprintf(advice->risk, sizeof(advice->risk),
		"rarer but longer pauses; arrays outside workspaces hold their memory outside the "
		"heap "
		"until they are collected; no effect with ND4J 1.0.0-M2.1 on the CPU unless the "
		"program's own memory manager heeds it: watch whether the calls become rarer");
}

static void say_toggle(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	snprintf(advice->title, sizeof(advice->title),
		"Let DL4J not call System.gc() periodically");
	snprintf(advice->line, sizeof(advice->line),
		"Nd4j.getMemoryManager().togglePeriodicGc(false);");
	say_instead(remedy, advice);
	snprintf(advice->risk, sizeof(advice->risk),
		"arrays outside workspaces hold their memory outside the heap until something else "
		"collects: watch the resident memory; no effect with ND4J 1.0.0-M2.1 on the CPU "
		"unless "
		"the program's own memory manager heeds it: watch whether the calls end");
}

static bool users_own(const struct advising *advising, const struct explicit_caller *caller)
{
	return caller->who &&
	       frame_origin(advising->attribution->stacks, caller->who) == ORIGIN_USER;
}

static void say_off(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	if (users_own(advising, remedy->first))
		snprintf(advice->title, sizeof(advice->title),
			"Drop the %s of System.gc()%s in %.60s", remedy->others ? "calls" : "call",
			remedy->others ? ", most" : "",
			DESCRIBE_FRAME(advising->attribution->stacks, remedy->first->who));
	else
		snprintf(advice->title, sizeof(advice->title),
			"Let the JVM ignore calls of System.gc()");
	snprintf(advice->line, sizeof(advice->line), "-XX:+DisableExplicitGC");
	say_instead(remedy, advice);
	snprintf(advice->risk, sizeof(advice->risk),
		"memory outside the heap (direct ByteBuffers, JavaCPP's pointers) is freed when "
		"their "
		"owners are collected: where nothing else collects, it grows until it is refused; "
		"watch "
		"the resident memory after the change");
}

static void say_concurrent(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	snprintf(advice->title, sizeof(advice->title), "Let System.gc() collect concurrently");
	snprintf(advice->line, sizeof(advice->line), "-XX:+ExplicitGCInvokesConcurrent");
	APPEND_TO(advice->estimate,
		"; a concurrent cycle pauses for about %.1f young collections of %s", CONCURRENT,
		FORMAT_DURATION(stats_whole(usual_young(jvm_facts(advising)).ns)));
	snprintf(advice->risk, sizeof(advice->risk),
		"the caller waits longer, until the cycle is done; the cycle takes processor time "
		"from the "
		"training; the heap is not compacted");
}

static void say_workspaces(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	snprintf(advice->title, sizeof(advice->title),
		"Keep arrays in workspaces (WorkspaceMode.ENABLED)");
	snprintf(advice->line, sizeof(advice->line),
		".trainingWorkspaceMode(WorkspaceMode.ENABLED)  // and inferenceWorkspaceMode");
	APPEND_TO(advice->estimate, "; JavaCPP calls when its memory is at its limit");
	say_instead(remedy, advice);
	APPEND_TO(advice->estimate, "; that workspaces end half of the calls is a guess");
	snprintf(advice->risk, sizeof(advice->risk),
		"no gain if they are enabled, as is the default; an array that leaves its "
		"workspace must be detached (detach(), leverageTo()), or ND4J refuses it");
}

static void say_limit(const struct advising *advising, const struct remedy *remedy,
	struct advice *advice)
{
	snprintf(advice->title, sizeof(advice->title), "Raise JavaCPP's limit of physical memory");
	snprintf(advice->line, sizeof(advice->line), "-Dorg.bytedeco.javacpp.maxphysicalbytes=0");
	APPEND_TO(advice->estimate, "; JavaCPP calls when its memory is at its limit");
	say_instead(remedy, advice);
	snprintf(advice->risk, sizeof(advice->risk),
		"0 is no limit: if arrays are really kept, the process grows until the machine's "
		"memory is used up and the kernel kills it; a figure above what is resident now is "
		"the safer way");
}

/* A line that acts on several callers is advised once. 0 or -ENOMEM. */
static int put_remedy(struct advising *advising, int kind, const struct remedy *remedy)
{
	static void (*const says[JVM_ADVICES])(const struct advising *, const struct remedy *,
		struct advice *) = {
		[ADVICE_EXPLICIT_WINDOW] = say_window,
		[ADVICE_EXPLICIT_TOGGLE] = say_toggle,
		[ADVICE_EXPLICIT_OFF] = say_off,
		[ADVICE_EXPLICIT_CONCURRENT] = say_concurrent,
		[ADVICE_WORKSPACES] = say_workspaces,
		[ADVICE_MEMORY_LIMIT] = say_limit,
	};
	struct advice *advice;
	int r;

	if (!remedy->first)
		return 0;
	advice = advice_add(advising, kind, remedy->saves, remedy->low, remedy->high, &r);
	if (!advice)
		return r;
	advice->trigger = remedy->first->who ? remedy->first->who : remedy->first->caller;
	advice_say_fall(advising, advice);
	say_calls(advising, remedy, advice);
	says[kind](advising, remedy, advice);
	return 0;
}

int advise_explicit(struct advising *advising)
{
	const struct advice_subject *facts = advising->subject;
	const struct explicit_calls *calls = &advising->attribution->explicit_calls;
	struct remedy remedies[JVM_ADVICES] = {};
	size_t named = 0;
	int r = 0;

	for (size_t i = 0; i < calls->callers.count && named < WORTH_NAMING; i++) {
		const struct explicit_caller *caller = &calls->callers.items[i];
		struct asking asking = {
			.advising = advising, .remedies = remedies, .caller = caller};

		if (caller->process != facts->process)
			continue;
		named++;
		asking.paused_ns = (double)(facts->track ? caller->overlap_ns : caller->pause_ns);
		if (caller->training && caller->blocked_ns > caller->pause_ns)
			asking.waited_ns = fmin((double)(caller->blocked_ns - caller->pause_ns),
				(double)facts->stall_ns);
		find_remedies(&asking);
	}
	for (int kind = 0; kind < JVM_ADVICES && !r; kind++)
		r = put_remedy(advising, kind, &remedies[kind]);
	return r;
}
