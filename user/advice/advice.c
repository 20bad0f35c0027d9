/* Pauses and attribution in; the changes that would have helped out, best first. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice_priv.h"
#include "stats.h"
#include "cleanup.h"
#include "describe.h"
#include "parse.h"

#define LEAST_SAVED 0.1	   /* of the pauses that count: less is not worth a change */
#define LEAST_SHARE 0.0005 /* of training time */
#define UNLIKE	    0.15 /* by as much one run differs from the next in what its collections take */

void advices_release(struct advices *advices)
{
	if (advices)
		vec_free(&advices->items);
}

const char *advice_name(enum advice_kind kind)
{
	static const char *const names[ADVICE_KINDS] = {
		[ADVICE_NOTHING] = "nothing",
		[ADVICE_FREEZE] = "freeze",
		[ADVICE_THRESHOLD] = "threshold",
		[ADVICE_MANUAL] = "manual",
		[ADVICE_REMOVE] = "remove",
		[ADVICE_CYCLES] = "cycles",
		[ADVICE_DISABLE] = "disable",
		[ADVICE_YOUNG] = "young",
		[ADVICE_EXPLICIT_WINDOW] = "gc-window",
		[ADVICE_EXPLICIT_OFF] = "explicit-off",
		[ADVICE_EXPLICIT_CONCURRENT] = "explicit-concurrent",
		[ADVICE_WORKSPACES] = "workspaces",
		[ADVICE_MEMORY_LIMIT] = "memory-limit",
		[ADVICE_TTSP] = "ttsp",
		[ADVICE_METASPACE] = "metaspace",
		[ADVICE_HEAP] = "heap",
	};

	return kind < ADVICE_KINDS ? names[kind] : "unknown";
}

double advice_share(const struct advising *advising, double ns)
{
	return advising->facts->time_ns ? ns / (double)advising->facts->time_ns : 0;
}

const char *advice_time(const struct advising *advising)
{
	return advising->facts->track ? "of training time" : "of the traced time";
}

bool advice_of_dl4j(const struct advising *advising)
{
	const struct step_track *track = advising->facts->track;

	return track && !strncmp(track->signal, "dl4j:", 5);
}

uint64_t advice_most(const struct advising *advising)
{
	uint64_t most = advising->facts->overlap_ns;

	stats_add(&most, advising->facts->jvm.stall_ns);
	return most;
}

static uint64_t bounded(double ns, double most)
{
	return stats_whole(fmin(ns, most));
}

struct advice *advice_add(struct advising *advising, enum advice_kind kind, double saves,
	double low, double high, int *ret_r)
{
	double most = (double)advice_most(advising);
	struct advice *advice;

	*ret_r = 0;
	if (saves < LEAST_SAVED * most || advice_share(advising, saves) < LEAST_SHARE)
		return NULL;
	low = fmin(low, saves) - UNLIKE * (most - saves);
	high = fmax(high, saves) + UNLIKE * (most - saves);
	advice = vec_add(&advising->advices->items);
	if (!advice) {
		*ret_r = -ENOMEM;
		return NULL;
	}
	*advice = (struct advice){
		.kind = kind,
		.process = advising->facts->process,
		.saves_ns = bounded(saves, most),
		.saves_low_ns = bounded(low, most),
		.saves_high_ns = bounded(high, most),
		.grows_objects = UNKNOWN,
		.grows_bytes = UNKNOWN,
	};
	advice->saves_share = advice_share(advising, (double)advice->saves_ns);
	return advice;
}

/* Why there is nothing to gain. */
static const char *why_nothing(const struct advising *advising, bool harmless)
{
	if (harmless)
		return "there is nothing to gain";
	if (advising->facts->incremental)
		return "this Python collects in increments, for which gctrace has no model";
	return "the same work would only be done at another time";
}

/* Of a JVM: what the pauses were, as far as that says where else to look. */
static void say_parts(const struct advising *advising, struct advice *advice)
{
	const struct jvm_facts *jvm = &advising->facts->jvm;
	double ttsp = 0, others = 0;

	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		ttsp += event->ttsp_ns > 0 ? (double)event->weight * (double)event->ttsp_ns : 0;
		others += event->sort == JVM_OTHER ? jvm_event_overlap(event) : 0;
	}
	if (others * 2 > (double)jvm->overlap_ns)
		APPEND_TO(advice->estimate, "; %s of it are safepoints without a collection",
			FORMAT_DURATION(stats_whole(others)));
	if (ttsp * 2 > (double)jvm->overlap_ns)
		APPEND_TO(advice->estimate,
			"; %s of it is the time until all threads had stopped: look for more "
			"threads than "
			"processors",
			FORMAT_DURATION(stats_whole(ttsp)));
}

/* A JVM of which it is not known what most of its pauses did. */
static bool is_unknown(const struct advising *advising)
{
	const struct jvm_facts *jvm = &advising->facts->jvm;
	double unknown = 0;

	/* Their collections are of no generation. */
	if (strstr(jvm->collector, "Shenandoah") || strstr(jvm->collector, "ZGC"))
		return false;
	for (size_t i = 0; i < jvm->events.count; i++)
		if (jvm->events.items[i].uncounted)
			unknown += jvm_event_overlap(&jvm->events.items[i]);
	return unknown * 2 > (double)advising->facts->overlap_ns;
}

/*
 * The answer when there is nothing to gain: it costs next to nothing, or no setting would change
 * it.
 */
static int advise_nothing(struct advising *advising, bool harmless)
{
	const struct gc_facts *facts = advising->facts;
	struct advice *advice = vec_add(&advising->advices->items);
	bool unknown = !harmless && is_unknown(advising);

	if (!advice)
		return -ENOMEM;
	*advice = (struct advice){.kind = ADVICE_NOTHING,
		.process = facts->process,
		.grows_objects = UNKNOWN,
		.grows_bytes = UNKNOWN,
		.step_max_after_ns = facts->max_ns};
	snprintf(advice->title, sizeof(advice->title), "%s",
		harmless  ? "Leave the collector alone"
		: unknown ? "What was collected is not known"
			  : "No setting of the collector would save much");
	snprintf(advice->estimate, sizeof(advice->estimate), "pauses take %s (%s %s): %s",
		FORMAT_DURATION(facts->overlap_ns),
		DESCRIBE_SHARE(advice_share(advising, (double)facts->overlap_ns)),
		advice_time(advising),
		unknown ? "which of them were young and which full collections is not known, as of a "
			  "JVM under -XX:-UsePerfData, so nothing can be computed"
			: why_nothing(advising, harmless));
	if (!harmless)
		say_parts(advising, advice);
	return 0;
}

typedef int (*adviser)(struct advising *advising);

static int ask(struct advising *advising, const adviser *advisers, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++)
		r = advisers[i](advising);
	return r;
}

static int advise(struct advising *advising)
{
	static const adviser python[] = {advise_remove, advise_freeze, advise_threshold,
		advise_manual, advise_disable, advise_cycles};
	static const adviser java[] = {advise_explicit, advise_young, advise_ttsp, advise_metaspace,
		advise_heap, advise_stalls};
	const struct gc_facts *facts = advising->facts;
	size_t before = advising->advices->items.count;
	int r = 0;

	if (advice_share(advising, (double)advice_most(advising)) < ADVICE_HARMLESS)
		return advise_nothing(advising, true);
	if (facts->overlap_ns > facts->jvm.overlap_ns)
		r = ask(advising, python, ARRAY_SIZE(python));
	if (!r && (facts->jvm.events.count || facts->jvm.stall_ns))
		r = ask(advising, java, ARRAY_SIZE(java));
	if (r)
		return r;
	return advising->advices->items.count > before ? 0 : advise_nothing(advising, false);
}

/* What it saves, less for what it risks. */
static double worth(const struct advice *advice)
{
	static const double risks[ADVICE_KINDS] = {
		[ADVICE_REMOVE] = 1,
		[ADVICE_FREEZE] = 0.95,
		[ADVICE_MANUAL] = 0.85,
		[ADVICE_THRESHOLD] = 0.8,
		[ADVICE_DISABLE] = 0.6,
		[ADVICE_CYCLES] = 0.4,
		[ADVICE_METASPACE] = 0.95,
		[ADVICE_HEAP] = 0.85,
		[ADVICE_YOUNG] = 0.8,
		[ADVICE_TTSP] = 0.8,
		[ADVICE_EXPLICIT_OFF] = 0.8,
		[ADVICE_EXPLICIT_CONCURRENT] = 0.75,
		[ADVICE_EXPLICIT_WINDOW] = 0.7,
		[ADVICE_WORKSPACES] = 0.7,
		[ADVICE_MEMORY_LIMIT] = 0.6,
	};

	return risks[advice->kind] * advice->saves_share;
}

static int best_first(const void *a, const void *b)
{
	double one = worth(a), other = worth(b);

	if (one != other)
		return one < other ? 1 : -1;
	return ((const struct advice *)a)->process < ((const struct advice *)b)->process ? -1 : 1;
}

/* Ranks of one training get the same advice: once is enough, from the one that gains most. */
static void drop_repeated(struct advices *advices)
{
	size_t kept = 0;

	for (size_t i = 0; i < advices->items.count; i++) {
		const struct advice *advice = &advices->items.items[i];
		bool repeated = advice->kind == ADVICE_NOTHING && advices->items.count > 1;

		for (size_t j = 0; j < kept; j++)
			repeated |= advices->items.items[j].kind == advice->kind &&
				    advices->items.items[j].trigger == advice->trigger;
		if (!repeated)
			advices->items.items[kept++] = *advice;
	}
	if (!kept && advices->items.count)
		kept = 1;
	advices->items.count = kept;
}

int advice_compute(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct advices *ret, struct err *err)
{
	struct gc_facts_list facts = {};
	struct advices advices = {};
	int read = gc_facts_gather(attribution, next, source, &facts, err);
	int r = read == -ENOMEM ? read : 0;

	for (size_t i = 0; i < facts.items.count && !r; i++) {
		struct advising advising = {attribution, &facts.items.items[i], {}, &advices};

		r = gc_model_fit(advising.facts, &advising.model);
		if (!r)
			r = advise(&advising);
	}
	gc_facts_release(&facts);
	if (r) {
		advices_release(&advices);
		return err_set(err, ENOMEM, "out of memory while looking for advice");
	}
	if (advices.items.count)
		qsort(advices.items.items, advices.items.count, sizeof(struct advice), best_first);
	drop_repeated(&advices);
	*ret = advices;
	return read;
}
