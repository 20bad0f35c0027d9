/* Steps and what pauses cost them in; sentences for a tired engineer out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "parse.h"
#include "verdict.h"
#include "verdict_steps.h"

/* "97th", "every" for 1 */
static void say_ordinal(struct prose *prose, uint64_t n)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};
	uint64_t last = n % 10;

	if (n == 1)
		say(prose, "nearly every");
	else
		say(prose, "every %" PRIu64 "%s", n,
			last > 3 || n % 100 / 10 == 1 ? "th" : endings[last]);
}

static const char *name_of(const struct report_input *input, const struct step_track *track,
	char *text, size_t size)
{
	return verdict_process_name(recording_process(input->recording, track->process), text,
		size);
}
#define NAME_OF(input, track) name_of((input), (track), (char[96]){0}, 96)

size_t steps_speaker(const struct attribution *attribution)
{
	size_t best = ATTRIB_NONE;
	double most = -1;

	for (size_t i = 0; attribution && i < attribution->tracks.count; i++) {
		const struct track_cost *cost = &attribution->tracks.items[i];
		double share = cost->time_ns ? (double)cost->overlap_ns / (double)cost->time_ns : 0;

		if (share > most && attrib_speaks(attribution, i)) {
			most = share;
			best = i;
		}
	}
	return best;
}

/* Of all processes: what is in no step counts too. */
bool steps_harmless(const struct attribution *attribution)
{
	for (size_t i = 0; i < attribution->tracks.count; i++)
		if (!attrib_speaks(attribution, i) ||
			!attrib_harmless(&attribution->tracks.items[i]))
			return false;
	return attrib_elsewhere_harmless(attribution);
}

/* How many processes have steps that speak. */
static size_t speakers(const struct attribution *attribution)
{
	size_t count = 0;

	for (size_t i = 0; i < attribution->tracks.count; i++)
		count += attrib_speaks(attribution, i);
	return count;
}

/* "GC stopped training for 203.2 ms (25.1 % of its time)": what is a fact. */
static void say_stopped(struct prose *prose, const struct report_input *input,
	const struct step_track *track, const struct track_cost *cost)
{
	const char *subject = meaning_of_process(input->recording, track->process)->subject;
	size_t tracks = speakers(input->attribution);

	if (!cost->overlap_ns) {
		say(prose, "%s stopped no step", subject);
		if (tracks > 1)
			say(prose, " of %zu processes that train", tracks);
		return;
	}
	say(prose, "%s stopped ", subject);
	if (tracks > 1)
		say(prose, "%s, the most stopped of %zu processes that train,",
			NAME_OF(input, track), tracks);
	else
		say(prose, "training");
	say(prose, " for %s%s (%s of its time)",
		verdict_complete(input->recording) ? "" : "at least ",
		FORMAT_DURATION(cost->overlap_ns), VERDICT_SHARE(cost->overlap_ns, cost->time_ns));
}

/* "of which 12.0 ms (1.5 %) were lost (estimated, …)": by how much it fell behind, and how that is known. */
static void say_lost(struct prose *prose, const struct track_cost *cost)
{
	uint64_t lost_ns = describe_lost_ns(cost->cost.ns);
	const char *lost = FORMAT_DURATION(lost_ns);

	if (!cost->overlap_ns)
		return;
	if (!attrib_told(cost)) {
		say(prose, ", an unknown part of it lost");
		return;
	}
	if (!lost_ns)
		say(prose, ", none of it lost");
	else if (!strcmp(lost, FORMAT_DURATION(cost->overlap_ns)))
		say(prose, ", all of it lost");
	else if (lost_ns < cost->overlap_ns)
		say(prose, ", of which %s (%s) were lost", lost,
			VERDICT_SHARE(lost_ns, cost->time_ns));
	else /* after-effects, unless chance explains it */
		say(prose, "; %s%s (%s) were lost",
			cost->cost.low_ns > (int64_t)cost->overlap_ns
				? "with what followed the pauses, "
				: "",
			lost, VERDICT_SHARE(lost_ns, cost->time_ns));
	say(prose, " (%s%s)", describe_source(attrib_source(cost)), DESCRIBE_INTERVAL(cost, true));
}

void steps_say_cost(struct prose *prose, const struct report_input *input, size_t index)
{
	const struct track_cost *cost = &input->attribution->tracks.items[index];

	say_stopped(prose, input, &input->attribution->steps->tracks.items[index], cost);
	say_lost(prose, cost);
}

/* Slow steps that no pause explains are an answer too. */
static void say_exonerated(struct prose *prose, const struct track_cost *cost,
	const struct runtime_meaning *meaning)
{
	if (cost->slow.other)
		say(prose,
			" %" PRIu64
			" step%s %.1f × the median or slower for another reason than %s.",
			cost->slow.other, cost->slow.other == 1 ? " was" : "s were", SLOW_RATIO,
			meaning->cause);
	if (cost->slow.stalled)
		say(prose,
			" %" PRIu64 " of them %s: the thread that makes the steps waited for the "
			"collector by itself.",
			cost->slow.stalled,
			cost->slow.stalled == 1 ? "was a stall" : "were stalls");
	if (cost->slow.retried)
		say(prose,
			" %" PRIu64 " of them %s: memory of a GPU was freed to get more, for %s.",
			cost->slow.retried,
			cost->slow.retried == 1 ? "was an allocator stall"
						: "were allocator stalls",
			FORMAT_DURATION(cost->retry_ns));
}

/* "Every 13th step is 6.0 × the median of 9.960 ms" */
static void say_slow(struct prose *prose, const struct track_cost *cost, uint64_t median_ns)
{
	const struct slow_pattern *slow = &cost->slow;
	size_t at = prose->used;

	if (slow->every >= 1 && slow->chief > 2) {
		say(prose, "%s", slow->regular || slow->every < 1.5 ? "" : "about ");
		say_ordinal(prose, (uint64_t)(slow->every + 0.5));
		say(prose, " step is");
		say_capital(prose, at);
	} else {
		say(prose, "%" PRIu64 " step%s", slow->chief, slow->chief == 1 ? " is" : "s are");
	}
	say(prose, " %.1f × the median of %s", slow->ratio, FORMAT_DURATION(median_ns));
}

void steps_say_felt(struct prose *prose, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];
	const struct track_cost *cost = &input->attribution->tracks.items[index];

	if (!track->measured)
		return;
	if (cost->slow.class)
		say_slow(prose, cost, track->period_ns);
	else
		say(prose, "No step was slowed to %.1f × the median of %s", SLOW_RATIO,
			FORMAT_DURATION(track->period_ns));
	say(prose, cost->slow.class && cost->slow.chief == 1 ? "." : "; the worst took %s.",
		FORMAT_DURATION(cost->with.max_ns));
	say_exonerated(prose, cost, meaning_of_process(input->recording, track->process));
}

/* Why it is not known what was lost, and what would tell: too long for the first sentence. */
static void say_untold(struct prose *prose, const struct track_cost *cost)
{
	if (!attrib_told(cost))
		say(prose, " What was lost cannot be told: %s.", DESCRIBE_UNTOLD(cost));
}

/* "cover 0.4 of 61 s": how much of the run they are. */
static void say_coverage(struct prose *prose, const struct attribution *attribution,
	const struct step_track *track)
{
	const struct track_cost *cost =
		&attribution->tracks.items[track - attribution->steps->tracks.items];

	say(prose, " cover %s of %s", FORMAT_DURATION(cost->time_ns),
		FORMAT_DURATION(attrib_traced(attribution, track->process)));
}

void steps_say_sure(struct prose *prose, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];

	say(prose, "%zu step%s of %s", (size_t)track->steps.count,
		track->steps.count == 1 ? "" : "s", FORMAT_DURATION(track->period_ns));
	say_coverage(prose, input->attribution, track);
	if (track->measured) {
		say(prose, ", signal ");
		say_shown(prose, track->signal, strlen(track->signal), 100);
		if (track->per_step > 1)
			say(prose, " (%u a step)", track->per_step);
		say(prose, ", confidence %.2f", track->confidence);
		if (track->seen_ns)
			say(prose, ", seen from %s on",
				FORMAT_DURATION(track->seen_ns - input->recording->start_ns));
	} else {
		say(prose, ", which are windows of time, not steps");
	}
	say(prose, verdict_complete(input->recording) ? ", nothing dropped." : ", INCOMPLETE.");
	say_untold(prose, &input->attribution->tracks.items[index]);
}

/* Why the steps that there are do not speak: of the first process that has some. */
void steps_say_silent(struct prose *prose, const struct attribution *attribution)
{
	const struct step_track *track = &attribution->steps->tracks.items[0];
	const struct track_cost *cost = &attribution->tracks.items[0];

	if (!step_track_confident(track)) {
		say(prose, "Steps are not known: the best guess, ");
		say_shown(prose, track->signal, strlen(track->signal), 100);
		say(prose,
			", has confidence %.2f, below %.1f; choose with --step (gctrace doctor --steps has the "
			"candidates).",
			track->confidence, STEP_CONFIDENT);
		return;
	}
	say(prose, "%zu step%s of %s (", (size_t)track->steps.count,
		track->steps.count == 1 ? "" : "s",
		VERDICT_NAME(recording_process(attribution->recording, track->process)));
	say_shown(prose, track->signal, strlen(track->signal), 100);
	say(prose, ", confidence %.2f)", track->confidence);
	say_coverage(prose, attribution, track);
	say(prose, " and were stopped for %s.", FORMAT_DURATION(cost->overlap_ns));
}

/* Ranks wait for each other: what held it up may be another's pause. */
void steps_say_siblings(struct prose *prose, const struct report_input *input, size_t track)
{
	const struct track_cost *cost = &input->attribution->tracks.items[track];
	const struct sibling_cost *most = cost->siblings.items;
	char name[96];

	if (!cost->held_ns)
		return;
	for (size_t i = 1; i < cost->siblings.count; i++)
		if (cost->siblings.items[i].held_ns > most->held_ns)
			most = &cost->siblings.items[i];
	verdict_process_name(recording_process(input->recording, most->process), name,
		sizeof(name));
	if (cost->siblings.count == 1)
		say(prose, "%s, which is in step with it, paused for another %s (%s)", name,
			FORMAT_DURATION(cost->held_ns),
			VERDICT_SHARE(cost->held_ns, cost->time_ns));
	else
		say(prose,
			"The %zu processes in step with it paused for another %s (%s), most of it %s",
			(size_t)cost->siblings.count, FORMAT_DURATION(cost->held_ns),
			VERDICT_SHARE(cost->held_ns, cost->time_ns), name);
	if (cost->slow.held)
		say(prose, "; %" PRIu64 " step%s %.1f × the median or slower meanwhile",
			cost->slow.held, cost->slow.held == 1 ? " was" : "s were", SLOW_RATIO);
	say(prose, ".");
}
