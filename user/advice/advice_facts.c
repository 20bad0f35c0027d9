/* Pauses in; for each process to be advised, what its collector did, out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice_facts.h"
#include "attrib.h"
#include "stats.h"
#include "cleanup.h"

struct gathering {
	const struct attribution *attribution;
	struct gc_facts_list *list;
	struct u64map by_process; /* process id → index in list */
	uint32_t *triggers;
	size_t index; /* of the pause in the source */
};

void gc_facts_release(struct gc_facts_list *facts)
{
	for (size_t i = 0; i < facts->items.count; i++) {
		vec_free(&facts->items.items[i].events);
		vec_free(&facts->items.items[i].jvm.events);
	}
	vec_free(&facts->items);
}

static int add_subject(struct gathering *gathering, uint32_t process, struct gc_facts **ret)
{
	struct gc_facts *facts = vec_add(&gathering->list->items);

	if (!facts || u64map_put(&gathering->by_process, process, gathering->list->items.count - 1))
		return -ENOMEM;
	facts->process = process;
	*ret = facts;
	return 0;
}

static int add_tracks(struct gathering *gathering)
{
	const struct attribution *attribution = gathering->attribution;

	for (size_t i = 0; i < attribution->tracks.count; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];
		size_t warm = track->steps.count / 10;
		struct gc_facts *facts;

		if (!track->steps.count)
			continue;
		if (add_subject(gathering, track->process, &facts))
			return -ENOMEM;
		facts->track = track;
		facts->cost = &attribution->tracks.items[i];
		facts->time_ns = facts->cost->time_ns;
		facts->jvm.stall_ns = facts->cost->stall_alone_ns;
		facts->steps = track->measured ? track->steps.count : 0;
		facts->warm_ns = track->steps.items[warm < WARM_STEPS ? warm : WARM_STEPS].start_ns;
	}
	return 0;
}

/* Without steps: the process that paused longest. */
static int add_busiest(struct gathering *gathering)
{
	const struct attribution *attribution = gathering->attribution;
	const struct process_pauses *busiest = NULL;
	struct gc_facts *facts;

	for (size_t i = 0; i < attribution->figures.processes.count; i++) {
		const struct process_pauses *one = &attribution->figures.processes.items[i];

		if (!busiest || one->pause_ns > busiest->pause_ns)
			busiest = one;
	}
	if (!busiest)
		return 0;
	if (add_subject(gathering, busiest->process, &facts))
		return -ENOMEM;
	facts->time_ns = attrib_traced(attribution, busiest->process);
	facts->warm_ns = attribution->end_ns - facts->time_ns / 10 * 9;
	return 0;
}

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

static int add_event(struct gathering *gathering, struct gc_facts *facts, const struct pause *pause,
	uint64_t overlap_ns)
{
	struct gc_event *event = vec_add(&facts->events);

	if (!event)
		return -ENOMEM;
	*event = (struct gc_event){
		.duration_ns = pause_duration(pause),
		.weight = pause->end_ns > pause->start_ns
				  ? (float)((double)overlap_ns / (double)pause_duration(pause))
				  : 0,
		.heap = narrow(pause->heap_objects),
		.pending = narrow(pause->heap_pending),
		.collected = narrow(pause->collected),
		.trigger = pause->stack < gathering->attribution->stacks->node_count
				   ? gathering->triggers[pause->stack]
				   : 0,
		.generation = (int8_t)pause->generation,
		.manual = pause->cause == CAUSE_MANUAL,
		.warm = pause->start_ns >= facts->warm_ns,
	};
	if (pause->generation == 2 && pause->collected > 0 && pause->rss_start >= 0 &&
		pause->rss_end >= 0 && pause->rss_end < pause->rss_start) {
		stats_add(&facts->shrunk_bytes, (uint64_t)(pause->rss_start - pause->rss_end));
		stats_add(&facts->shrunk_objects, (uint64_t)pause->collected);
	}
	return 0;
}

static int take(struct gathering *gathering, const struct pause *pause)
{
	const struct attribution *attribution = gathering->attribution;
	const struct runtime *runtime = recording_runtime(attribution->recording, pause->runtime);
	const uint64_t *found =
		runtime ? u64map_get(&gathering->by_process, runtime->process) : NULL;
	size_t index = gathering->index++;
	bool manual = pause->cause == CAUSE_MANUAL;
	uint64_t overlap_ns = pause_duration(pause);
	struct gc_facts *facts;

	if (!found || pause->at_exit || pause->interpreter > 0 ||
		pause->end_ns < pause->start_ns || pause->generation > 2)
		return 0;
	facts = &gathering->list->items.items[*found];
	if (index < attribution->charges.count)
		overlap_ns = attribution->charges.items[index].overlap_ns;
	stats_add(&facts->overlap_ns, overlap_ns);
	if (overlap_ns > facts->max_ns)
		facts->max_ns = overlap_ns;
	if (!strcmp(runtime->kind, "hotspot"))
		return jvm_facts_add(&facts->jvm, attribution, runtime, pause, overlap_ns);
	set_version(facts, runtime);
	if (overlap_ns)
		sum_add(manual ? &facts->manual
			       : &facts->automatic[pause->generation < 0 ? 0 : pause->generation],
			pause, overlap_ns);
	return manual || pause->generation > 0 ? add_event(gathering, facts, pause, overlap_ns) : 0;
}

static int gather(struct gathering *gathering, attrib_next_fn next, void *source, struct err *err)
{
	const struct attribution *attribution = gathering->attribution;
	struct pause pause;
	int r = attribution->tracks.count ? add_tracks(gathering) : add_busiest(gathering);

	gathering->triggers = attrib_triggers(attribution->stacks);
	if (r || !gathering->triggers)
		return err_set(err, ENOMEM, "out of memory while looking for advice");
	while ((r = next(source, &pause, err)) > 0)
		if (take(gathering, &pause))
			return err_set(err, ENOMEM, "out of memory while looking for advice");
	return r;
}

int gc_facts_gather(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct gc_facts_list *ret, struct err *err)
{
	struct gathering gathering = {.attribution = attribution, .list = ret};
	int r;

	*ret = (struct gc_facts_list){};
	r = gather(&gathering, next, source, err);
	u64map_release(&gathering.by_process);
	free(gathering.triggers);
	return r;
}
