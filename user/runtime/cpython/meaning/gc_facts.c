/* Pauses of one process in; what its collector did out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_facts.h"
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
	facts->free_threaded = strchr(runtime->version, 't');
	facts->incremental = minor == 14 && patch < 5 && !facts->free_threaded;
}

static void set_thresholds(struct gc_facts *facts, const struct pause *pause)
{
	if (!(pause->flags & PAUSE_HAS_FACTS))
		return;
	for (int i = 0; i < 3; i++)
		if (pause->facts[CPYTHON_THRESHOLD_0 + i] < 0 ||
			pause->facts[CPYTHON_THRESHOLD_0 + i] > INT32_MAX)
			return;
	for (int i = 0; i < 3; i++)
		facts->thresholds[i] = (int32_t)pause->facts[CPYTHON_THRESHOLD_0 + i];
	facts->has_thresholds = true;
}

/* What a threshold is unless somebody set it: 2,000 or 700, 10, 10. */
int32_t gc_usual_threshold(const struct gc_facts *facts, int generation)
{
	if (generation)
		return 10;
	return facts->minor >= 13 ? 2000 : 700;
}

int32_t gc_threshold(const struct gc_facts *facts, int generation)
{
	return facts->has_thresholds ? facts->thresholds[generation]
				     : gc_usual_threshold(facts, generation);
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

/* The step of the subject in which @time_ns lies. */
static uint32_t step_at(const struct advice_subject *subject, uint64_t time_ns)
{
	const struct step *steps = subject->track ? subject->track->steps.items : NULL;
	size_t from = 0, to = steps ? subject->track->steps.count : 0;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (steps[middle].end_ns <= time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return steps && from < subject->track->steps.count && steps[from].start_ns <= time_ns
		       ? (uint32_t)from
		       : GC_NO_STEP;
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
		.step = step_at(one->subject, pause->start_ns),
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
	stats_add(&facts->collected, (uint64_t)(pause->collected > 0 ? pause->collected : 0));
	set_version(facts, one->runtime);
	set_thresholds(facts, pause);
	if (one->overlap_ns)
		sum_add(manual ? &facts->manual
			       : &facts->automatic[pause->generation < 0 ? 0 : pause->generation],
			pause, one->overlap_ns);
	return manual || pause->generation > 0 ? add_event(facts, one) : 0;
}
