/* Marks and pauses in; the steps that have ended, counted, and the slow ones among them named, out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "live_step_words.h"
#include "live_steps.h"
#include "stats.h"

#define FOR_SURE 20   /* steps: with fewer, confidence is less */
#define DOUBTED	 0.65 /* the confidence in steps that have rounds */

void live_steps_start(struct live_steps *steps, const struct step_spec *spec, uint64_t min_ns,
	unsigned int most)
{
	*steps = (struct live_steps){
		.on = spec->way == STEP_AUTO || spec->way == STEP_NAMED,
		.spec = *spec,
		.named = {.most = most},
		.named_ns = min_ns,
	};
}

void live_steps_release(struct live_steps *steps)
{
	step_window_release(&steps->window);
	vec_free(&steps->pauses);
	for (size_t i = 0; i < steps->tracks.count; i++)
		vec_free(&steps->tracks.items[i].durations);
	vec_free(&steps->tracks);
	*steps = (struct live_steps){};
}

static struct live_track *track_of(struct live_steps *steps, uint32_t process)
{
	for (size_t i = 0; i < steps->tracks.count; i++)
		if (steps->tracks.items[i].process == process)
			return &steps->tracks.items[i];
	return NULL;
}

/* NULL: memory is out. */
static struct live_track *track_for(struct live_steps *steps, uint32_t process)
{
	struct live_track *track = track_of(steps, process);

	if (track)
		return track;
	track = vec_add(&steps->tracks);
	if (track)
		track->process = process;
	return track;
}

bool live_steps_told(const struct live_steps *steps)
{
	for (size_t i = 0; i < steps->tracks.count; i++)
		if (steps->tracks.items[i].told)
			return true;
	return false;
}

void live_steps_pause(struct live_steps *steps, const struct recording *recording,
	const struct pause *pause, bool shown)
{
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	struct live_track *track = runtime ? track_of(steps, runtime->process) : NULL;
	struct live_pause *added;

	if (!steps->on || !steps->window.marks.lines.count)
		return;
	if (track && track->told && shown)
		track->hurry_ns = pause->end_ns;
	if (steps->pauses.count == LIVE_PAUSES) {
		steps->lost_ns = steps->pauses.items[LIVE_PAUSES / 2 - 1].end_ns;
		steps->pauses.count = LIVE_PAUSES / 2;
		memmove(steps->pauses.items, steps->pauses.items + LIVE_PAUSES / 2,
			LIVE_PAUSES / 2 * sizeof(*steps->pauses.items));
	}
	added = vec_add(&steps->pauses);
	if (!added) {
		steps->lost_ns = pause->end_ns;
		return;
	}
	*added = (struct live_pause){
		.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.waited_ns = pause->waited_ns,
		.class = pause->class,
		.runtime = pause->runtime,
		.tid = pause->tid,
		.interpreter = pause->interpreter,
		.at_exit = pause->at_exit,
	};
}

/* Pauses that end after @from_ns, one by one. */
struct reading_on {
	const struct live_steps *steps;
	uint64_t from_ns;
	size_t at;
};

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct reading_on *on = source;
	const struct live_pause *kept;

	while (on->at < on->steps->pauses.count &&
		on->steps->pauses.items[on->at].end_ns <= on->from_ns)
		on->at++;
	if (on->at == on->steps->pauses.count)
		return 0;
	kept = &on->steps->pauses.items[on->at++];
	*ret = (struct pause){
		.id = on->at,
		.start_ns = kept->start_ns,
		.end_ns = kept->end_ns,
		.waited_ns = kept->waited_ns,
		.class = kept->class,
		.runtime = kept->runtime,
		.tid = kept->tid,
		.interpreter = kept->interpreter,
		.at_exit = kept->at_exit,
		.collected = UNKNOWN,
		.generation = UNKNOWN,
	};
	return 1;
}

/*
 * How sure it is that these are steps, as a report of the whole session would have it: where the window holds few, the
 * many before count, and a doubt stays. Before it has been said what marks them, other work between some of them is waited
 * for again, as it may recur.
 */
static int judge(const struct live_steps *steps, const struct recording *recording,
	struct live_track *track, struct step_track *found, struct err *err)
{
	struct reading_on on = {.steps = steps}, again = on;
	size_t count = found->steps.count;
	bool same = !strcmp(track->signal, found->signal);
	int r = 0;

	if (same && track->told && count && count < FOR_SURE)
		found->confidence *= (double)FOR_SURE / (double)count;
	if (step_track_confident(found)) {
		r = steps_rounds(recording, found, next_pause, &on, err);
		if (r)
			return r;
		track->doubted = !step_track_confident(found) || (same && track->doubted);
	}
	track->open = false;
	if (step_track_confident(found) && !track->told && !track->ended)
		r = steps_rounds_open(recording, found, next_pause, &again, &track->open, err);
	if (r)
		return r;
	if (track->doubted && found->confidence > DOUBTED)
		found->confidence = DOUBTED;
	return 0;
}

/* Whether steps are told, and by what, from now on. */
static void settle(struct live_track *track, const struct step_track *found)
{
	bool sure = found->measured && step_track_confident(found) && !track->open;

	track->news |= sure != track->told || (sure && strcmp(track->signal, found->signal));
	track->confidence = found->confidence;
	track->told = sure;
	track->around = found->rounds;
	track->tid = found->tid;
	memcpy(track->signal, found->signal, sizeof(track->signal));
}

static struct live_step measure(const struct live_steps *steps,
	const struct attribution *attribution, size_t index, size_t at, uint64_t median_ns)
{
	const struct step *step = &attribution->steps->tracks.items[index].steps.items[at];
	const struct step_cost *cost = &attribution->tracks.items[index].steps.items[at];
	uint64_t duration_ns = step_duration(step);

	return (struct live_step){
		.end_ns = step->end_ns,
		.duration_ns = duration_ns,
		.overlap_ns = cost->overlap_ns,
		.pauses = cost->pauses,
		.class = attrib_class(attribution, cost->worst),
		.known = step->start_ns >= steps->lost_ns,
		.slow = duration_ns > median_ns &&
			(double)duration_ns >= SLOW_RATIO * (double)median_ns,
	};
}

/* As the report has it: pauses make up half of what it was longer, or more. */
static bool slowed_by_pauses(const struct live_step *step, uint64_t median_ns)
{
	return step->slow && step->known && step->overlap_ns &&
	       2 * step->overlap_ns >= step->duration_ns - median_ns;
}

/* Counts what has ended of the steps of track @index. @name: also says which were slow. */
static void count_steps(struct live_steps *steps, FILE *out, const struct attribution *attribution,
	size_t index, struct live_track *track, bool name)
{
	const struct step_track *found = &attribution->steps->tracks.items[index];
	size_t ended = found->steps.count - (found->steps.count && !track->ended);

	for (size_t i = vec_first(&found->steps, start_ns, track->until_ns); i < ended; i++) {
		struct live_step step = measure(steps, attribution, index, i, found->period_ns);
		uint64_t *duration_ns = vec_add(&track->durations);

		if (duration_ns)
			*duration_ns = step.duration_ns;
		if (step.duration_ns >= track->slowest.duration_ns)
			track->slowest = step;
		if (slowed_by_pauses(&step, found->period_ns)) {
			track->slowed++;
			if (name && step.overlap_ns >= steps->named_ns &&
				live_lines_take(&steps->named, step.end_ns, step.duration_ns))
				live_step_line(out, attribution->recording, track->process, &step,
					found->period_ns);
		}
		track->until_ns = found->steps.items[i].end_ns;
	}
	if (track->until_ns >= track->hurry_ns)
		track->hurry_ns = 0;
}

/* The series that has a mark at @time_ns; 0: none has. */
static uint32_t series_at(const struct step_window *window, uint64_t time_ns)
{
	for (size_t i = 0; i < window->marks.lines.count; i++) {
		const struct step_line *line = &window->marks.lines.items[i];
		size_t at = vec_first(&line->marks, time_ns, time_ns);

		if (at < line->marks.count && line->marks.items[at].time_ns == time_ns)
			return line->series;
	}
	return 0;
}

/* When the first step began that has not been counted; UINT64_MAX: there is none. */
static uint64_t uncounted_from(struct live_steps *steps, const struct steps *found)
{
	uint64_t from_ns = UINT64_MAX;

	for (size_t i = 0; i < found->tracks.count; i++) {
		const struct step_track *one = &found->tracks.items[i];
		const struct live_track *track = track_of(steps, one->process);
		size_t at = vec_first(&one->steps, start_ns, track ? track->until_ns : 0);

		if (at < one->steps.count && one->steps.items[at].start_ns < from_ns)
			from_ns = one->steps.items[at].start_ns;
	}
	return from_ns;
}

static int take(struct live_steps *steps, FILE *out, const struct recording *recording,
	struct steps *found, bool last, struct err *err)
{
	struct reading_on on = {.steps = steps, .from_ns = uncounted_from(steps, found)};
	_cleanup_(attrib_release) struct attribution attribution = {};
	int r = attrib_overlaps(recording, found, next_pause, &on, &attribution, err);

	for (size_t i = 0; !r && i < found->tracks.count; i++) {
		struct step_track *one = &found->tracks.items[i];
		const struct process *process = recording_process(recording, one->process);
		struct live_track *track = track_for(steps, one->process);
		bool known = track && track->told;

		if (!track)
			return -ENOMEM;
		track->ended = last || (process && process->exit_ns);
		r = judge(steps, recording, track, one, err);
		if (r)
			return r;
		settle(track, one);
		if (!track->told)
			continue;
		track->begins =
			series_at(&steps->window, one->steps.items[one->steps.count - 1].start_ns);
		count_steps(steps, out, &attribution, i, track, known);
	}
	return r;
}

/* Of processes in which none were found this time. */
static void settle_others(struct live_steps *steps, const struct steps *found)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		struct live_track *track = &steps->tracks.items[i];

		if (track->told && !track->ended && !steps_track(found, track->process)) {
			track->told = false;
			track->news = true;
		}
	}
}

static void forget_pauses(struct live_steps *steps)
{
	uint64_t first_ns = step_window_first(&steps->window);
	size_t gone = 0;

	while (gone < steps->pauses.count && steps->pauses.items[gone].end_ns <= first_ns)
		gone++;
	if (!gone)
		return;
	steps->pauses.count -= gone;
	memmove(steps->pauses.items, steps->pauses.items + gone,
		steps->pauses.count * sizeof(*steps->pauses.items));
}

void live_steps_look(struct live_steps *steps, FILE *out, const struct recording *recording,
	uint64_t now_ns, bool last)
{
	_cleanup_(steps_release) struct steps found = {};
	struct err err = {};
	int r;

	steps->look_ns = now_ns;
	steps->fresh = false;
	if (!steps->on || !steps->window.marks.lines.count)
		return;
	r = steps_find(recording, &steps->window.marks, now_ns, &steps->spec, &found, &err);
	if (r == -ENOENT) /* what the user named was not called yet */
		r = 0;
	if (!r)
		r = take(steps, out, recording, &found, last, &err);
	if (!r)
		settle_others(steps, &found);
	if (!r)
		r = step_window_cut(&steps->window, recording, &found);
	forget_pauses(steps);
	if (r) /* memory is out: the session goes on, without steps */
		live_steps_release(steps);
}

void live_steps_mark(struct live_steps *steps, FILE *out, const struct recording *recording,
	const struct mark *mark)
{
	if (!steps->on)
		return;
	steps->fresh = true;
	if (step_window_add(&steps->window, mark)) {
		live_steps_release(steps);
		return;
	}
	if (mark->time_ns < steps->look_ns + steps->window.kept * LIVE_LOOK_NS)
		return;
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct live_track *track = &steps->tracks.items[i];

		if (!track->hurry_ns || track->begins != mark->series ||
			mark->time_ns < track->hurry_ns)
			continue;
		live_steps_look(steps, out, recording, mark->time_ns, false);
		return;
	}
}

bool live_steps_pending(const struct live_steps *steps, const struct recording *recording)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct live_track *track = &steps->tracks.items[i];
		const struct process *process = recording_process(recording, track->process);

		if (track->told && !track->ended && process && process->exit_ns)
			return true;
	}
	return steps->fresh;
}

void live_steps_forget(struct live_steps *steps, const struct recording *recording)
{
	size_t kept = 0;

	for (size_t i = 0; i < steps->tracks.count; i++) {
		struct live_track *track = &steps->tracks.items[i];

		if (recording_process(recording, track->process))
			steps->tracks.items[kept++] = *track;
		else
			vec_free(&track->durations);
	}
	steps->tracks.count = kept;
}
