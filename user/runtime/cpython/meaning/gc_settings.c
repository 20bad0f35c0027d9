/*
 * A fitted model in; what settings of the collector would have saved and let grow, out: freeze,
 * threshold.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gc_advice.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

/*
 * Of the objects that died by reference count, those that had been frozen. Nothing recorded shows them:
 * most are in flight when they are promoted and die within the step; a replay buffer's are not.
 */
#define REPLACED 0.1

#define YOUNG_FREEING 1.4  /* times near_ns: to free one in a collection of thousands */
#define QUICKER	      3.0  /* small collections may be so much quicker an object than large ones */
#define YOUNG_ROUNDS  11.0 /* thresholds of generation 0 until generation 1 is collected */

static double longest_young(const struct gc_facts *facts)
{
	return (double)(facts->automatic[0].max_ns > facts->automatic[1].max_ns
				? facts->automatic[0].max_ns
				: facts->automatic[1].max_ns);
}

/* What full collections after warm-up took of the time that counts, and how many they are. */
static double full_after_warm_up(const struct gc_facts *facts, double *ret_count)
{
	double ns = 0;

	*ret_count = 0;
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];

		if (!event->warm || event->generation != 2)
			continue;
		ns += gc_event_overlap(event);
		*ret_count += event->weight > 0;
	}
	return ns;
}

static void say_freeze(struct advice *advice)
{
	snprintf(advice->title, sizeof(advice->title), "Call gc.freeze() once, after warm-up");
	snprintf(advice->line, sizeof(advice->line),
		"gc.collect(); gc.freeze()  # once, after the first steps");
}

/* Without sizes only the bounds are known: none of the full collections' time, or all of it. */
static int freeze_blindly(struct advising *advising, double full_ns)
{
	int r;
	struct advice *advice = advice_add(advising, ADVICE_FREEZE, full_ns / 2, 0, full_ns, &r);

	if (!advice)
		return r;
	advice->step_max_after_ns = stats_whole(longest_young(gc_facts(advising)));
	say_freeze(advice);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, "; a guess: the recording does not say how many objects stay");
	snprintf(advice->risk, sizeof(advice->risk),
		"small: of what exists at that moment, cycles that are dropped later stay in "
		"memory");
	return 0;
}

int advise_freeze(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double count, before = full_after_warm_up(facts, &count);
	struct gc_outcome best, likely, worst;
	struct advice *advice;
	int r;

	if (facts->incremental)
		return 0;
	if (!model->known)
		return freeze_blindly(advising, before);
	best = gc_model_freeze(model, facts, 0, model->near_ns);
	likely = gc_model_freeze(model, facts, REPLACED, model->near_ns);
	worst = gc_model_freeze(model, facts, 1, model->far_ns);
	advice = advice_add(advising, ADVICE_FREEZE, before - likely.ns,
		before - fmax(worst.ns, likely.ns) * model->spread,
		/* The last of them may come after the end; small ones are quicker an object. */
		before - fmin(best.ns - best.max_ns, likely.ns) / fmax(model->spread, QUICKER), &r);
	if (!advice)
		return r;
	advice->grows_objects = 0;
	advice->step_max_after_ns = stats_whole(fmax(likely.max_ns, longest_young(facts)));
	say_freeze(advice);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": full collections (%.0f) looked at %s objects each that stay",
		count, DESCRIBE_COUNT(stats_whole(model->heap)));
	snprintf(advice->risk, sizeof(advice->risk),
		"small: of what exists at that moment, cycles that are dropped later stay in "
		"memory; the "
		"gc.collect() before it takes about %s, once",
		FORMAT_DURATION(stats_whole(model->object_ns * model->heap)));
	if (before - worst.ns < (before - likely.ns) / 2)
		APPEND_TO(advice->risk,
			"; saves little where what lives long is replaced all the time, as in "
			"a replay buffer");
	return 0;
}

/*
 * What a threshold @factor times as high saves: of full collections, the look at what stays, and
 * that garbage is freed by younger ones instead, while the caches hold it; of the younger ones,
 * those that found nothing but objects in flight.
 */
static double threshold_saves(const struct advising *advising, double factor, double *ret_full)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double young = (double)facts->automatic[0].overlap_ns +
		       (double)facts->automatic[1].overlap_ns -
		       model->near_ns * ((double)facts->automatic[0].collected +
						(double)facts->automatic[1].collected);
	double nearer = fmax(0, model->object_ns + model->far_ns - YOUNG_FREEING * model->near_ns);
	double kept = gc_model_kept(model, facts, factor), full = 0;

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		double ns = model->object_ns * gc_left_by(facts, i) +
			    nearer * (double)(event->collected > 0 ? event->collected : 0);

		if (event->generation == 2 && !event->manual && event->duration_ns)
			full += fmin(1, ns / (double)event->duration_ns) * gc_event_overlap(event);
	}
	*ret_full = (1 - kept) * full;
	return *ret_full + gc_model_young_saved(model, facts, factor) * fmax(0, young);
}

int advise_threshold(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double usual = facts->minor >= 13 ? 2000 : 700, to = 10 * usual;
	double factor = to / model->threshold, full, saves;
	struct advice *advice;
	int r;

	if (facts->incremental || !model->known)
		return 0;
	saves = threshold_saves(advising, factor, &full);
	if ((double)facts->of->overlap_ns - saves > 0.01 * (double)facts->of->time_ns &&
		threshold_saves(advising, 10 * factor, &full) > 1.3 * saves) {
		to *= 10;
		factor *= 10;
	}
	saves = threshold_saves(advising, factor, &full);
	advice = advice_add(advising, ADVICE_THRESHOLD, saves, full / 2 / model->spread,
		(double)facts->of->overlap_ns - model->near_ns * model->garbage_in_all, &r);
	if (!advice)
		return r;
	if (model->garbage_known)
		advice->grows_objects = stats_count(fmin(model->garbage_in_all,
			YOUNG_ROUNDS * (to - fmin(to, model->threshold))));
	advice->step_max_after_ns = facts->of->max_ns;
	snprintf(advice->title, sizeof(advice->title), "Collect less often: raise the threshold");
	snprintf(advice->line, sizeof(advice->line), "gc.set_threshold(%.0f, 10, 10)", to);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ", full collections from %s to %.1f; %s",
		DESCRIBE_COUNT(facts->automatic[2].count),
		(double)facts->automatic[2].count * gc_model_kept(model, facts, factor),
		model->threshold_guessed
			? "judged by its young collections the threshold was set far "
			  "below the default"
			: "assuming that the threshold is the default now");
	snprintf(advice->risk, sizeof(advice->risk),
		"each collection left is as long as before, or longer; up to %s more objects of "
		"garbage "
		"are alive at a time",
		advice->grows_objects >= 0 ? DESCRIBE_COUNT((uint64_t)advice->grows_objects)
					   : "an unknown number of");
	return 0;
}
