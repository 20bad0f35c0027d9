/* Attribution in; step records, and the summary's keys about steps, out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "json_gpu.h"
#include "json_line.h"
#include "json_steps.h"
#include "meaning.h"

static int64_t pid_of(const struct report_input *input, uint32_t id)
{
	const struct process *process = recording_process(input->recording, id);

	return process ? process->pid : UNKNOWN;
}

static int64_t generation_of(const struct pause_class *class)
{
	if (!class || !(class->of->generations || class->of->young_full))
		return UNKNOWN;
	return class->of->generations ? class->order : class->full;
}

static void put_step(FILE *out, const struct report_input *input, size_t at, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[at];
	const struct step *step = &track->steps.items[index];
	const struct track_cost *costs = &input->attribution->tracks.items[at];
	const struct step_cost *cost = &costs->steps.items[index];
	bool told = attrib_told(costs);
	const struct runtime_meaning *meaning =
		meaning_of_process(input->recording, track->process);

	line_begin(out, "step");
	line_known(out, "pid", pid_of(input, track->process));
	line_unsigned(out, "index", index);
	line_unsigned(out, "start_ns", step->start_ns);
	line_unsigned(out, "end_ns", step->end_ns);
	line_unsigned(out, "duration_ns", step->end_ns - step->start_ns);
	line_unsigned(out, "pauses", cost->pauses);
	line_unsigned(out, "pause_ns", cost->overlap_ns);
	line_known(out, "cost_ns", told ? (int64_t)cost->cost_ns : UNKNOWN);
	line_known(out, "gpu_idle_ns", cost->gpu_known ? (int64_t)cost->gpu_idle_ns : UNKNOWN);
	line_text(out, "source", track->measured ? "measured" : "inferred");
	line_unsigned(out, "tid", track->tid);
	line_known(out, "base_ns", told ? (int64_t)cost->base_ns : UNKNOWN);
	line_known(out, "generation", generation_of(cost->class));
	if (!meaning->generations && !meaning->young_full)
		line_text(out, "class", cost->class ? cost->class->name : NULL);
	line_known(out, "rss_bytes", step->rss_bytes);
	if (meaning->wait_count)
		line_unsigned(out, "stall_ns", cost->stall_ns);
	if (costs->siblings.count)
		line_unsigned(out, "held_ns", cost->held_ns);
	json_gpu_step(out, input->attribution, cost);
	line_end(out);
}

/* The track whose next step ended first, not after @time_ns; or the number of tracks. */
static size_t first_ended(const struct json_steps *steps, const struct report_input *input,
	uint64_t time_ns)
{
	const struct steps *found = input->attribution->steps;
	size_t best = found->tracks.count;

	for (size_t i = 0; i < found->tracks.count; i++) {
		const struct step_track *track = &found->tracks.items[i];
		size_t next = steps->next.items[i];

		if (next < track->steps.count && track->steps.items[next].end_ns <= time_ns) {
			time_ns = track->steps.items[next].end_ns;
			best = i;
		}
	}
	return best;
}

int json_steps_until(struct json_steps *steps, FILE *out, const struct report_input *input,
	uint64_t time_ns)
{
	size_t count = input->attribution ? input->attribution->tracks.count : 0, at;

	while (steps->next.count < count)
		if (!vec_add(&steps->next))
			return -ENOMEM;
	while (count && (at = first_ended(steps, input, time_ns)) < count)
		put_step(out, input, at, steps->next.items[at]++);
	return 0;
}

void json_steps_release(struct json_steps *steps)
{
	vec_free(&steps->next);
}

void json_charge(FILE *out, const struct report_input *input, uint64_t index)
{
	const struct attribution *attribution = input ? input->attribution : NULL;
	const struct charge *charge = attribution && index < attribution->charges.count
					      ? &attribution->charges.items[index]
					      : NULL;
	bool charged = charge && charge->track != ATTRIB_NONE;
	bool told = charged && attrib_told(&attribution->tracks.items[charge->track]);

	line_known(out, "step",
		charged && charge->step != ATTRIB_NONE ? (int64_t)charge->step : UNKNOWN);
	line_known(out, "overlap_ns", charged ? (int64_t)charge->overlap_ns : UNKNOWN);
	line_known(out, "cost_ns", told ? (int64_t)charge->cost_ns : UNKNOWN);
	if (attribution && attribution->gpu)
		json_gpu_pause(out, attribution, index);
}

/* A figure of which -1 is a value: an interval may reach below 0. */
static void put_told(FILE *out, const char *key, bool told, int64_t ns)
{
	if (told)
		line_int(out, key, ns);
	else
		line_null(out, key);
}

static void put_changes(FILE *out, const struct step_track *track)
{
	line_key(out, "changes");
	putc_unlocked('[', out);
	for (size_t i = 0; i < track->changes.count; i++)
		fprintf(out, "%s{\"step\":%llu,\"from\":%u,\"to\":%u}", i ? "," : "",
			(unsigned long long)track->changes.items[i].step,
			track->changes.items[i].from, track->changes.items[i].to);
	putc_unlocked(']', out);
}

static void put_levels(FILE *out, const struct step_levels *levels)
{
	line_key(out, "levels");
	putc_unlocked('[', out);
	for (size_t i = 0; i < levels->count; i++) {
		const struct step_level *level = &levels->items[i];

		fputs_unlocked(i ? ",{\"signal\":" : "{\"signal\":", out);
		line_string(out, level->signal, strlen(level->signal));
		line_unsigned(out, "steps", level->steps);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_siblings(FILE *out, const struct report_input *input, const struct track_cost *cost)
{
	line_unsigned(out, "held_ns", cost->held_ns);
	line_unsigned(out, "slow_held", cost->slow.held);
	line_key(out, "siblings");
	putc_unlocked('[', out);
	for (size_t i = 0; i < cost->siblings.count; i++) {
		const struct sibling_cost *sibling = &cost->siblings.items[i];

		fputs_unlocked(i ? ",{\"pid\":" : "{\"pid\":", out);
		line_number(out, pid_of(input, sibling->process));
		line_unsigned(out, "pauses", sibling->pauses);
		line_unsigned(out, "held_ns", sibling->held_ns);
		putc_unlocked('}', out);
	}
	putc_unlocked(']', out);
}

static void put_track(FILE *out, const struct report_input *input, size_t at)
{
	static const char *const bases[] = {[BASE_LIGHT_STEPS] = "light-steps", [BASE_NONE] = NULL};
	const struct step_track *track = &input->attribution->steps->tracks.items[at];
	const struct track_cost *cost = &input->attribution->tracks.items[at];
	bool told = attrib_told(cost);

	fputs_unlocked("{\"pid\":", out);
	line_number(out, pid_of(input, track->process));
	line_unsigned(out, "tid", track->tid);
	line_unsigned(out, "steps", track->steps.count);
	line_text(out, "signal", track->signal);
	line_unsigned(out, "per_step", track->per_step);
	put_changes(out, track);
	line_unsigned(out, "period_ns", track->period_ns);
	line_real(out, "variation", track->variation);
	line_real(out, "confidence", track->confidence);
	line_text(out, "source", track->measured ? "measured" : "inferred");
	line_text(out, "note", track->note);
	put_levels(out, &track->levels);
	line_unsigned(out, "time_ns", cost->time_ns);
	line_unsigned(out, "overlap_ns", cost->overlap_ns);
	put_told(out, "cost_ns", told, cost->cost.ns);
	put_told(out, "cost_low_ns", told, cost->cost.low_ns);
	put_told(out, "cost_high_ns", told || cost->most_ns,
		told ? cost->cost.high_ns : (int64_t)cost->most_ns);
	line_text(out, "base", told ? bases[cost->base] : NULL);
	line_unsigned(out, "pauses", cost->pauses);
	line_unsigned(out, "pause_ns", cost->pause_ns);
	line_unsigned(out, "outside", cost->outside);
	line_unsigned(out, "outside_ns", cost->outside_ns);
	line_known(out, "seen_ns", track->seen_ns ? (int64_t)track->seen_ns : UNKNOWN);
	line_unsigned(out, "unseen", cost->unseen);
	line_unsigned(out, "unseen_ns", cost->unseen_ns);
	line_unsigned(out, "worker_pauses", cost->worker_pauses);
	line_unsigned(out, "worker_ns", cost->worker_ns);
	line_unsigned(out, "worker_waited_ns", cost->worker_waited_ns);
	line_unsigned(out, "p50_ns", cost->with.p50_ns);
	line_unsigned(out, "p99_ns", cost->with.p99_ns);
	line_unsigned(out, "max_ns", cost->with.max_ns);
	line_unsigned(out, "slow_steps", cost->slow.steps);
	line_unsigned(out, "slow_other", cost->slow.other);
	line_real(out, "slow_every", cost->slow.every);
	line_real(out, "slow_ratio", cost->slow.ratio);
	if (meaning_of_process(input->recording, track->process)->wait_count) {
		line_unsigned(out, "slow_stalled", cost->slow.stalled);
		line_unsigned(out, "stalls", cost->stalls);
		line_unsigned(out, "stall_ns", cost->stall_ns);
		line_unsigned(out, "stall_alone_ns", cost->stall_alone_ns);
	}
	if (input->attribution->has_gpu_allocations) {
		line_unsigned(out, "slow_allocator", cost->slow.retried);
		line_unsigned(out, "gpu_allocator_ns", cost->retry_ns);
	}
	line_text(out, "cost_source", describe_source(attrib_source(cost)));
	if (cost->by_gpu)
		line_bool(out, "cost_by_gpu", true);
	line_text(out, "cost_untold", told ? NULL : DESCRIBE_UNTOLD(cost));
	if (cost->siblings.count)
		put_siblings(out, input, cost);
	putc_unlocked('}', out);
}

void json_tracks(FILE *out, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	size_t count = attribution ? attribution->tracks.count : 0;
	uint64_t steps = 0;
	double confidence = 1;

	for (size_t i = 0; i < count; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];

		steps += track->steps.count;
		confidence = track->confidence < confidence ? track->confidence : confidence;
	}
	line_known(out, "steps", count ? (int64_t)steps : UNKNOWN);
	line_text(out, "step_signal", count ? attribution->steps->tracks.items[0].signal : NULL);
	if (count)
		line_real(out, "confidence", confidence);
	else
		line_null(out, "confidence");
	line_text(out, "step_note", attribution ? attribution->steps->note : NULL);
	line_key(out, "tracks");
	putc_unlocked('[', out);
	for (size_t i = 0; i < count; i++) {
		if (i)
			putc_unlocked(',', out);
		put_track(out, input, i);
	}
	putc_unlocked(']', out);
	line_unsigned(out, "elsewhere", count ? attribution->elsewhere : 0);
	line_unsigned(out, "elsewhere_ns", count ? attribution->elsewhere_ns : 0);
}
