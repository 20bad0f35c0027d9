/* Pauses in; the processes to be advised, with what their runtimes' advisers keep, out. */
#include <errno.h>
#include <stdlib.h>

#include "attrib.h"
#include "cleanup.h"
#include "stats.h"
#include "subjects.h"

#define WARM_STEPS 10 /* the first steps are not what a change after warm-up would have met */

struct gathering {
	const struct attribution *attribution;
	struct subjects *list;
	struct u64map by_process; /* process id → index in list */
	struct u64map freed;	  /* process id → objects that its collectors freed */
	uint32_t *triggers;
	size_t index; /* of the pause in the source */
};

void subjects_release(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->items.count; i++) {
		struct subject *subject = &subjects->items.items[i];

		for (size_t j = 0; j < subject->runtimes.count; j++) {
			struct advised *advised = &subject->runtimes.items[j];

			if (advised->state && advised->meaning->advice->release)
				advised->meaning->advice->release(advised->state);
			free(advised->state);
		}
		vec_free(&subject->runtimes);
	}
	vec_free(&subjects->items);
}

static int add_subject(struct gathering *gathering, uint32_t process, struct advice_subject **ret)
{
	struct subject *subject = vec_add(&gathering->list->items);

	if (!subject ||
		u64map_put(&gathering->by_process, process, gathering->list->items.count - 1))
		return -ENOMEM;
	subject->about.process = process;
	*ret = &subject->about;
	return 0;
}

static int add_tracks(struct gathering *gathering)
{
	const struct attribution *attribution = gathering->attribution;

	for (size_t i = 0; i < attribution->tracks.count; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];
		size_t warm = track->steps.count / 10;
		struct advice_subject *about;

		if (!track->steps.count || !attrib_speaks(attribution, i))
			continue;
		if (add_subject(gathering, track->process, &about))
			return -ENOMEM;
		about->track = track;
		about->cost = &attribution->tracks.items[i];
		about->time_ns = about->cost->time_ns;
		about->stall_ns = about->cost->stall_alone_ns;
		about->steps = track->measured ? track->steps.count : 0;
		about->warm_ns = track->steps.items[warm < WARM_STEPS ? warm : WARM_STEPS].start_ns;
	}
	return 0;
}

/* Without steps that speak for their process: the one that paused longest. */
static int add_busiest(struct gathering *gathering)
{
	const struct attribution *attribution = gathering->attribution;
	const struct process_pauses *busiest = NULL;
	struct advice_subject *about;

	for (size_t i = 0; i < attribution->figures.processes.count; i++) {
		const struct process_pauses *one = &attribution->figures.processes.items[i];

		if (!busiest || one->pause_ns > busiest->pause_ns)
			busiest = one;
	}
	if (!busiest)
		return 0;
	if (add_subject(gathering, busiest->process, &about))
		return -ENOMEM;
	about->time_ns = attrib_traced(attribution, busiest->process);
	about->warm_ns = attribution->end_ns - about->time_ns / 10 * 9;
	return 0;
}

static struct advised *find_advised(const struct subject *subject,
	const struct runtime_meaning *meaning)
{
	for (size_t i = 0; i < subject->runtimes.count; i++)
		if (subject->runtimes.items[i].meaning == meaning)
			return &subject->runtimes.items[i];
	return NULL;
}

/* An empty state for each kind of runtime that a subject has. */
static int add_runtimes(struct gathering *gathering)
{
	const struct recording *recording = gathering->attribution->recording;

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];
		const struct runtime_meaning *meaning = meaning_of(runtime->kind);
		const uint64_t *found = u64map_get(&gathering->by_process, runtime->process);
		struct subject *subject = found ? &gathering->list->items.items[*found] : NULL;
		struct advised *advised;

		if (!subject || !meaning->advice || find_advised(subject, meaning))
			continue;
		advised = vec_add(&subject->runtimes);
		if (!advised)
			return -ENOMEM;
		advised->meaning = meaning;
		advised->state = calloc(1, meaning->advice->state_bytes);
		if (!advised->state)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t trigger_of(const struct gathering *gathering, const struct pause *pause)
{
	return pause->stack < gathering->attribution->stacks->node_count
		       ? gathering->triggers[pause->stack]
		       : 0;
}

/* What there is to save of a pause: where a GPU's records say what its process lost, that, as a queue hides the rest. */
static uint64_t counted_ns(const struct advice_subject *subject, const struct charge *charge)
{
	return subject->cost && subject->cost->by_gpu ? charge->cost_ns : charge->overlap_ns;
}

static int note_freed(struct gathering *gathering, uint32_t process, const struct pause *pause)
{
	const uint64_t *found;
	uint64_t freed;

	if (pause->at_exit || pause->collected <= 0)
		return 0;
	found = u64map_get(&gathering->freed, process);
	freed = found ? *found : 0;
	stats_add(&freed, (uint64_t)pause->collected);
	return u64map_put(&gathering->freed, process, freed);
}

/* The process that forked @process, as far as it was traced; NULL: none. The latest one before it, as pids are reused. */
static const struct process *forked_by(const struct recording *recording,
	const struct process *process)
{
	for (size_t i = (size_t)(process - recording->processes.items); i--;)
		if (recording->processes.items[i].pid == process->ppid)
			return &recording->processes.items[i];
	return NULL;
}

/* What came of forks: each process counts for all that it descends from. */
static void add_forked(struct gathering *gathering)
{
	const struct recording *recording = gathering->attribution->recording;

	for (size_t i = 0; i < recording->processes.count; i++) {
		const struct process *process = &recording->processes.items[i], *above = process;
		const uint64_t *freed = u64map_get(&gathering->freed, process->id);

		while ((above = forked_by(recording, above))) {
			const uint64_t *found = u64map_get(&gathering->by_process, above->id);
			struct advice_subject *about =
				found ? &gathering->list->items.items[*found].about : NULL;

			if (!about)
				continue;
			about->forked++;
			stats_add(&about->forked_collected, freed ? *freed : 0);
		}
	}
}

static int take(struct gathering *gathering, const struct pause *pause)
{
	const struct attribution *attribution = gathering->attribution;
	const struct runtime *runtime = recording_runtime(attribution->recording, pause->runtime);
	const uint64_t *found =
		runtime ? u64map_get(&gathering->by_process, runtime->process) : NULL;
	const struct runtime_advice *adviser = pause->class->of->advice;
	size_t index = gathering->index++;
	uint64_t overlap_ns = pause_duration(pause);
	struct advised *advised;
	struct subject *subject;

	if (runtime && note_freed(gathering, runtime->process, pause))
		return -ENOMEM;
	if (!found || pause->at_exit || pause->end_ns < pause->start_ns ||
		(adviser && adviser->counts && !adviser->counts(pause)))
		return 0;
	subject = &gathering->list->items.items[*found];
	if (subject->about.track && index < attribution->charges.count)
		overlap_ns = counted_ns(&subject->about, &attribution->charges.items[index]);
	stats_add(&subject->about.overlap_ns, overlap_ns);
	if (overlap_ns > subject->about.max_ns)
		subject->about.max_ns = overlap_ns;
	advised = find_advised(subject, pause->class->of);
	if (!advised)
		return 0;
	stats_add(&advised->overlap_ns, overlap_ns);
	return adviser->add(advised->state,
		&(struct advice_pause){attribution, &subject->about, runtime, pause, overlap_ns,
			trigger_of(gathering, pause)});
}

static int gather(struct gathering *gathering, attrib_next_fn next, void *source, struct err *err)
{
	const struct attribution *attribution = gathering->attribution;
	struct pause pause;
	int r = add_tracks(gathering);

	if (!r && !gathering->list->items.count)
		r = add_busiest(gathering);
	if (!r)
		r = add_runtimes(gathering);
	gathering->triggers = attrib_triggers(attribution->stacks);
	if (r || !gathering->triggers)
		return err_set(err, ENOMEM, "out of memory while looking for advice");
	while ((r = next(source, &pause, err)) > 0)
		if (take(gathering, &pause))
			return err_set(err, ENOMEM, "out of memory while looking for advice");
	add_forked(gathering);
	return r;
}

int subjects_gather(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct subjects *ret, struct err *err)
{
	struct gathering gathering = {.attribution = attribution, .list = ret};
	int r;

	*ret = (struct subjects){};
	r = gather(&gathering, next, source, err);
	u64map_release(&gathering.by_process);
	u64map_release(&gathering.freed);
	free(gathering.triggers);
	return r;
}
