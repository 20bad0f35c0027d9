/* What a JVM's collector did in; the changes that would have helped out. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_advice.h"
#include "parse.h"
#include "stats.h"

const struct advice_kind jvm_advice_kinds[JVM_ADVICES] = {
	[ADVICE_YOUNG] = {"young", 0.8},
	[ADVICE_EXPLICIT_WINDOW] = {"gc-window", 0.7},
	[ADVICE_EXPLICIT_TOGGLE] = {"gc-toggle", 0.8},
	[ADVICE_EXPLICIT_OFF] = {"explicit-off", 0.8, .broad = true},
	[ADVICE_EXPLICIT_CONCURRENT] = {"explicit-concurrent", 0.75, .broad = true},
	[ADVICE_WORKSPACES] = {"workspaces", 0.7},
	[ADVICE_MEMORY_LIMIT] = {"memory-limit", 0.6},
	[ADVICE_TTSP] = {"ttsp", 0.8},
	[ADVICE_METASPACE] = {"metaspace", 0.95},
	[ADVICE_HEAP] = {"heap", 0.85},
};

/* Of a JVM: what the pauses were, as far as that says where else to look. */
static void say_parts(const struct advising *advising, struct advice *advice)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	double ttsp = 0, others = 0, queued = 0;

	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		ttsp += event->ttsp_ns > 0 ? (double)event->weight * (double)event->ttsp_ns : 0;
		if (event->late_ran_ns >= 0)
			queued += (double)event->weight *
				  (double)(event->ttsp_ns - event->late_ran_ns);
		others += event->class == HOTSPOT_OTHER ? jvm_event_overlap(event) : 0;
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
	if (queued * 2 > ttsp && ttsp * 2 > (double)jvm->overlap_ns)
		APPEND_TO(advice->estimate,
			" (for %s of that the last one had none, and came as soon as it had)",
			FORMAT_DURATION(stats_whole(queued)));
}

/* A JVM of which it is not known what most of its pauses did. */
static bool is_unknown(const struct advising *advising)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	double unknown = 0;

	/* Their collections are of no generation. */
	if (strstr(jvm->collector, "Shenandoah") || strstr(jvm->collector, "ZGC"))
		return false;
	for (size_t i = 0; i < jvm->events.count; i++)
		if (jvm->events.items[i].uncounted)
			unknown += jvm_event_overlap(&jvm->events.items[i]);
	return unknown * 2 > (double)advising->subject->overlap_ns;
}

static const char *blind(const struct advising *advising, const char **ret_title)
{
	if (!is_unknown(advising))
		return NULL;
	*ret_title = "What was collected is not known";
	return "which of them were young and which full collections is not known, as of a "
	       "JVM under -XX:-UsePerfData, so nothing can be computed";
}

static void release(void *state)
{
	vec_free(&((struct jvm_facts *)state)->events);
}

static int add(void *state, const struct advice_pause *pause)
{
	return jvm_facts_add(state, pause);
}

static int advise(struct advising *advising)
{
	static int (*const advisers[])(struct advising *) = {advise_explicit, advise_young,
		advise_ttsp, advise_metaspace, advise_heap, advise_stalls};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(advisers) && !r; i++)
		r = advisers[i](advising);
	return r;
}

const struct runtime_advice jvm_adviser = {
	.kinds = jvm_advice_kinds,
	.state_bytes = sizeof(struct jvm_facts),
	.release = release,
	.add = add,
	.advise = advise,
	.blind = blind,
	.say_parts = say_parts,
};
