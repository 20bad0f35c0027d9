/*
 * Where steps begin → a track: steps with their ends, period, variation, marks per step,
 * confidence.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"
#include "surplus.h"

#define STEPS_FOR_SURE 20

void choice_release(struct choice *choice)
{
	vec_free(&choice->at);
}

void note_add(char *note, size_t size, const char *format, ...)
{
	char text[512];
	size_t used = strlen(note);
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (used + strlen(text) + 3 <= size)
		snprintf(note + used, size - used, "%s%s", used ? "; " : "", text);
}

void levels_add(struct step_levels *levels, const char *signal, const char *part, uint64_t steps)
{
	struct step_level *level;

	if (levels->count == STEP_LEVELS)
		return;
	level = &levels->items[levels->count++];
	snprintf(level->signal, sizeof(level->signal), "%.159s/%.15s", signal, part);
	level->steps = steps;
}

static int64_t unpack_rss(uint32_t rss)
{
	return rss == STEP_RSS_UNKNOWN ? UNKNOWN : (int64_t)rss * 1024;
}

static int64_t rss_at(const struct study *study, const struct strand_event *event)
{
	return study->symbols.items[event->symbol].thinned ? UNKNOWN : unpack_rss(event->rss);
}

/* Of the step from @event until @end_ns, if that is when @next was. */
static int64_t work_until(const struct strand_event *event, const struct strand_event *next,
	uint64_t end_ns)
{
	if (next->time_ns != end_ns || event->work_ns < 0 || next->work_ns <= event->work_ns)
		return UNKNOWN;
	return next->work_ns - event->work_ns;
}

/* The last step ends after the typical duration, or with its process, or with the recording. */
static uint64_t last_end(const struct study *study, const struct choice *choice)
{
	size_t last = choice->at.count - 1;
	uint64_t start = choice->strand->events[choice->at.items[last]].time_ns;
	const struct process *process =
		recording_process(study->recording, choice->strand->process);
	uint64_t end = study->end_ns, typical = surplus_typical(choice, last);

	if (process && process->exit_ns && process->exit_ns < end)
		end = process->exit_ns;
	if (typical && start + typical < end)
		end = start + typical;
	return end > start ? end : start;
}

static int make_steps(struct study *study, const struct choice *choice, struct step_track *track)
{
	const struct strand_event *events = choice->strand->events;
	size_t count = choice->at.count;
	uint64_t *ends = malloc((count ? count : 1) * sizeof(*ends));
	size_t gaps = 0;
	int r = ends ? surplus_ends(study, choice, ends, &gaps) : -ENOMEM;

	if (!r)
		r = vec_reserve((void **)&track->steps.items, &track->steps.capacity, count,
			sizeof(*track->steps.items));
	for (size_t i = 0; !r && i < count; i++) {
		const struct strand_event *event = &events[choice->at.items[i]];

		track->steps.items[track->steps.count++] = (struct step){
			.start_ns = event->time_ns,
			.end_ns = i + 1 < count ? ends[i] : last_end(study, choice),
			.rss_bytes = rss_at(study, event),
			.work_ns = i + 1 < count
					   ? work_until(event, &events[choice->at.items[i + 1]],
						     ends[i])
					   : UNKNOWN,
		};
	}
	if (!r && gaps)
		note_add(track->note, sizeof(track->note),
			"the signal ran hot and was let go for a while, %zu time%s: steps are "
			"missing there",
			gaps, gaps == 1 ? "" : "s");
	free(ends);
	return r;
}

/* Under PyTorch only losses show an evaluation. */
static void note_blind(const struct study *study, const struct choice *choice,
	struct step_track *track)
{
	for (size_t i = 0; i < choice->strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[choice->strand->symbols[i]];

		if (!strcmp(symbol->signal, "torch:loss") && symbol->let_go_ns && !symbol->used) {
			note_add(track->note, sizeof(track->note),
				"torch:loss ran hot and was let go: an evaluation may look like a "
				"slow step");
			return;
		}
	}
}

static int measure(struct step_track *track)
{
	size_t count = track->steps.count;
	uint64_t *durations = malloc((count ? count : 1) * sizeof(*durations));

	if (!durations)
		return -ENOMEM;
	if (count > 1)
		count--; /* the last one's end is estimated */
	for (size_t i = 0; i < count; i++)
		durations[i] = track->steps.items[i].end_ns - track->steps.items[i].start_ns;
	track->period_ns = median_of(durations, count);
	track->variation = variation_of(durations, count);
	free(durations);
	return 0;
}

/* How often a wanted symbol occurs in each step but the last, which has not ended. */
static uint32_t *count_within(const struct study *study, const struct choice *choice, bool anchors,
	enum step_class class, size_t *ret_count)
{
	const struct strand_event *events = choice->strand->events;
	size_t count = choice->at.count;
	uint32_t *counts = calloc(count, sizeof(*counts));

	if (!counts)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t to = i + 1 < count ? choice->at.items[i + 1] : choice->strand->count;

		for (size_t j = choice->at.items[i]; j < to; j++) {
			const struct symbol *symbol = &study->symbols.items[events[j].symbol];

			if (anchors ? symbol->anchor : symbol->class == class)
				counts[i] = count_up(counts[i], event_calls(study, &events[j]));
		}
	}
	*ret_count = count > 1 ? count - 1 : count;
	return counts;
}

/* A count in the middle of a sample of @counts. */
static uint32_t middle(const uint32_t *counts, size_t count)
{
	uint64_t sample[257];
	size_t n = 0;

	for (size_t i = 0; i < count; i += count / 256 + 1)
		sample[n++] = counts[i];
	return (uint32_t)median_of(sample, n);
}

/* Marks per step, and where that number changed. */
static int count_marks(struct study *study, struct choice *choice, struct step_track *track)
{
	runs found = {};
	size_t count = 0;
	double share = 1;
	uint32_t *counts = count_within(study, choice, true, CLASS_COUNT, &count);
	int r = counts ? runs_find(counts, count, &found, &share) : -ENOMEM;

	track->per_step = 1;
	for (size_t i = 0; !r && i < found.count; i++) {
		struct step_change *change;

		track->per_step = found.items[i].value;
		if (!i)
			continue;
		change = vec_add(&track->changes);
		if (!change)
			r = -ENOMEM;
		else
			*change = (struct step_change){
				.step = found.items[i].start,
				.from = found.items[i - 1].value,
				.to = found.items[i].value,
			};
	}
	if (!r && share < 0.7) { /* no fixed number of marks makes a step */
		track->changes.count = 0;
		track->per_step = middle(counts, count);
	}
	if (choice->regular < 0)
		choice->regular = share;
	free(counts);
	vec_free(&found);
	return r;
}

/* "2 torch:backward per step, 4 from step 512 on": gradients accumulated behind one update. */
static int note_companion(const struct study *study, const struct choice *choice,
	struct step_track *track, double *ret_with)
{
	runs found = {};
	size_t count = 0, used, with = 0;
	double share = 0;
	char text[200];
	uint32_t *counts = count_within(study, choice, false, CLASS_BACKWARD, &count);
	int r = counts ? runs_find(counts, count, &found, &share) : -ENOMEM;

	for (size_t i = 0; counts && i < count; i++)
		with += counts[i] > 0;
	*ret_with = with * 2 > count ? (double)with / (double)count : 1;
	if (!r && with && share >= 0.7 && (found.count > 1 || found.items[0].value != 1)) {
		used = (size_t)snprintf(text, sizeof(text), "%u torch:backward per step",
			found.items[0].value);
		for (size_t i = 1; i < found.count && used < sizeof(text) - 40; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
				", %u from step %zu on", found.items[i].value,
				found.items[i].start);
		note_add(track->note, sizeof(track->note), "%s", text);
	} else if (!r && with && share < 0.7) {
		note_add(track->note, sizeof(track->note),
			"the number of torch:backward per step varies");
	}
	free(counts);
	vec_free(&found);
	return r;
}

/* Share of the steps that contain about the same calls as those around them. */
static int similar_share(struct study *study, const struct choice *choice, double *ret)
{
	const uint32_t mask = CLASS_BIT(CLASS_EXECUTE) | CLASS_BIT(CLASS_JIT);
	size_t count = choice->at.count > 1 ? choice->at.count - 1 : choice->at.count;
	uint64_t *totals = malloc((count ? count : 1) * sizeof(*totals)), typical;
	size_t similar = 0;
	struct kinds kinds;
	int r = kinds_build(study, choice->strand, &choice->at, mask, mask, &kinds);

	if (!totals)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < count; i++)
		totals[i] = kinds_total(&kinds, kinds.of.items[i], CLASS_EXECUTE) +
			    kinds_total(&kinds, kinds.of.items[i], CLASS_JIT);
	typical = r ? 0 : median_of(totals, count);
	for (size_t i = 0; !r && i < count; i++) {
		uint64_t total = totals[i];

		/*
		 * An accumulation that changes, or a log now and then: half or double is still
		 * alike.
		 */
		similar += total * 2 + 2 >= typical && total <= typical * 3 + 4;
	}
	if (!r)
		*ret = count ? (double)similar / (double)count : 1;
	free(totals);
	kinds_release(&kinds);
	return r;
}

/* Whether there is a batch for each step: then its user calls it one. */
static bool fetches(const struct study *study, const struct choice *choice)
{
	uint64_t batches = 0;

	for (size_t i = 0; i < choice->strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[choice->strand->symbols[i]];

		batches += symbol->class == CLASS_LOAD ? symbol->marks : 0;
	}
	return batches * 10 >= choice->at.count * 9;
}

static double confidence(const struct choice *choice, size_t steps)
{
	double enough = (double)steps / STEPS_FOR_SURE;
	double sure = choice->prior * choice->regular * (enough < 1 ? enough : 1);

	return sure < 0 ? 0 : sure > 1 ? 1 : sure;
}

static void note_few(struct step_track *track)
{
	if (track->steps.count == 1)
		note_add(track->note, sizeof(track->note),
			"one step only: nothing to compare it with");
	else if (track->steps.count < 3)
		note_add(track->note, sizeof(track->note), "%zu steps only: too few for any claim",
			track->steps.count);
}

#define LATE_NS                                                                                    \
	10000000ull /* sooner after the collector's than this, the probes were attached together */

bool seen_late(const struct recording *recording, uint32_t process, uint64_t seen_ns)
{
	uint64_t first_ns = 0;

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if ((!process || runtime->process == process) &&
			(!first_ns || runtime->attached_ns < first_ns))
			first_ns = runtime->attached_ns;
	}
	return first_ns >= recording->start_ns && seen_ns >= first_ns + LATE_NS;
}

static void note_late(const struct study *study, const struct choice *choice,
	struct step_track *track)
{
	const struct strand_event *events = choice->strand->events;
	uint64_t seen_ns;

	if (!track->steps.count)
		return;
	seen_ns = study->symbols.items[events[choice->at.items[0]].symbol].attached_ns;
	if (seen_late(study->recording, track->process, seen_ns))
		track->seen_ns = seen_ns;
}

int track_build(struct study *study, const struct choice *choice, struct step_track *ret)
{
	struct choice known =
		*choice; /* a borrowed copy, to compute its share of regular intervals */
	double with = 1;
	int r;

	*ret = (struct step_track){
		.process = choice->strand->process, .tid = choice->strand->tid, .measured = true};
	snprintf(ret->signal, sizeof(ret->signal), "%s", choice->signal);
	snprintf(ret->note, sizeof(ret->note), "%s", choice->note);
	ret->levels = choice->levels;
	r = make_steps(study, &known, ret);
	if (!r)
		r = measure(ret);
	if (!r)
		r = count_marks(study, &known, ret);
	if (!r && choice->class != CLASS_BACKWARD)
		r = note_companion(study, &known, ret, &with);
	if (!r && choice->class == CLASS_UPDATE)
		known.regular = with;
	if (!r && choice->class == CLASS_USER)
		known.regular = 1;
	if (!r && (choice->class == CLASS_EXECUTE || choice->class == CLASS_JIT) &&
		choice->regular < 0)
		r = similar_share(study, &known, &known.regular);
	ret->confidence = confidence(&known, ret->steps.count);
	ret->rounds = choice->prior < 1 && !fetches(study, &known);
	note_late(study, choice, ret);
	note_blind(study, &known, ret);
	note_few(ret);
	return r;
}
