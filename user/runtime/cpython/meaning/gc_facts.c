/* Pauses of one process in; what its collector did out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gc_facts.h"
#include "stats.h"

static void set_version(struct gc_facts *facts, const struct runtime *runtime)
{
	int minor = 0, patch = 0;

	if (facts->minor || strncmp(runtime->version, "3.", 2))
		return;
	minor = atoi(runtime->version + 2);
	if (strchr(runtime->version + 2, '.'))
		patch = atoi(strchr(runtime->version + 2, '.') + 1);
	facts->minor = minor;
	facts->incremental = minor == 14 && patch < 5;
}

static void sum_add(struct gc_sum *sum, const struct pause *pause, uint64_t overlap_ns)
{
	sum->count++;
	stats_add(&sum->ns, pause_duration(pause));
	stats_add(&sum->overlap_ns, overlap_ns);
	if (overlap_ns > sum->max_ns)
		sum->max_ns = overlap_ns;
	if (pause->collected < 0)
		sum->unknown++;
	else
		stats_add(&sum->collected, (uint64_t)pause->collected);
}

static int32_t narrow(int64_t count)
{
	return count < 0 ? UNKNOWN : count > INT32_MAX ? INT32_MAX : (int32_t)count;
}

static int add_event(struct gc_facts *facts, const struct advice_pause *one)
{
	struct gc_event *event = vec_add(&facts->events);
	const struct pause *pause = one->pause;

	if (!event)
		return -ENOMEM;
	*event = (struct gc_event){
		.duration_ns = pause_duration(pause),
		.weight = advice_weight(one),
		.heap = narrow(pause->heap_objects),
		.pending = narrow(pause->heap_pending),
		.collected = narrow(pause->collected),
		.trigger = one->trigger,
		.generation = (int8_t)pause->generation,
		.manual = pause->cause == CAUSE_MANUAL,
		.warm = pause->start_ns >= one->subject->warm_ns,
	};
	if (pause->generation == 2 && pause->collected > 0 && pause->rss_start >= 0 &&
		pause->rss_end >= 0 && pause->rss_end < pause->rss_start) {
		stats_add(&facts->shrunk_bytes, (uint64_t)(pause->rss_start - pause->rss_end));
		stats_add(&facts->shrunk_objects, (uint64_t)pause->collected);
	}
	return 0;
}

int gc_facts_add(struct gc_facts *facts, const struct advice_pause *one)
{
	const struct pause *pause = one->pause;
	bool manual = pause->cause == CAUSE_MANUAL;

	facts->of = one->subject;
	set_version(facts, one->runtime);
	if (one->overlap_ns)
		sum_add(manual ? &facts->manual
			       : &facts->automatic[pause->generation < 0 ? 0 : pause->generation],
			pause, one->overlap_ns);
	return manual || pause->generation > 0 ? add_event(facts, one) : 0;
}
