/*
 * A fitted model in; what settings of the collector would have saved and let grow, out: freeze,
 * threshold.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "gc_advice.h"
#include "gc_tail.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

/*
 * Of the objects that died by reference count, those that had been frozen. Nothing recorded shows them:
 * most are in flight when they are promoted and die within the step; a replay buffer's are not.
 */
#define REPLACED 0.02

#define YOUNG_FREEING 1.4 /* times near_ns: to free one in a collection of thousands */
#define SLOWER	      1.4 /* to free one takes so many times as long with ten times the threshold ... */
#define SLOWEST	      2.2 /* ... and at most; measured */
#define QUICKEST      0.4 /* of near_ns: to free one at best */
#define QUICKER	      3.0 /* small collections may be so much quicker an object than large ones */

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
		"not known, as the sizes are: full collections may come more often. Cycles that exist then "
		"and are dropped later stay in memory. gc.unfreeze() undoes it");
	return 0;
}

/* What freezing would leave, by how much of what was frozen is replaced later, and what it does to the slowest steps. */
struct thaw {
	double before, count; /* full collections after warm-up */
	struct gc_outcome best, likely, worst;
	struct gc_tail tail, worst_tail;
};

/* *@outcome and, where steps are known, @ret_tail. */
static int imagine_freeze(const struct advising *advising, const struct gc_model *model,
	double replaced, double garbage_ns, struct gc_outcome *outcome, struct gc_tail *ret_tail)
{
	const struct gc_facts *facts = gc_facts(advising);
	bool known = gc_tail_known(facts);
	_cleanup_free_ double *by_step =
		known ? calloc(facts->of->track->steps.count, sizeof(*by_step)) : NULL;

	if (known && !by_step)
		return -ENOMEM;
	*outcome = (struct gc_outcome){.by_step = by_step};
	gc_model_freeze(model, facts, replaced, garbage_ns, outcome);
	outcome->by_step = NULL;
	return known ? gc_tail_of(facts, by_step, ret_tail) : 0;
}

static int imagine_freezes(const struct advising *advising, struct thaw *ret)
{
	const struct gc_model *model = gc_model(advising);
	int r = imagine_freeze(advising, model, REPLACED, model->near_ns, &ret->likely, &ret->tail);

	for (size_t i = 0; i < GC_MODELS && !r; i++) {
		struct gc_outcome best, worst;
		struct gc_tail tail;

		model = gc_model_of(advising, i);
		r = imagine_freeze(advising, model, 0, model->near_ns, &best, &tail);
		if (!r && (!i || best.ns < ret->best.ns))
			ret->best = best;
		r = r ? r : imagine_freeze(advising, model, 1, model->far_ns, &worst, &tail);
		if (r || (i && worst.ns <= ret->worst.ns))
			continue;
		ret->worst = worst;
		ret->worst_tail = tail;
	}
	return r;
}

/* How many full collections there would be, and of what length: CPython's rule makes more of them where little is left. */
static void say_thaw(const struct gc_model *model, const struct thaw *thaw, struct advice *advice)
{
	APPEND_TO(advice->estimate, ": full collections (%.0f) looked at %s objects each that stay",
		thaw->count, DESCRIBE_COUNT(stats_whole(model->heap)));
	if (thaw->likely.count > 0)
		APPEND_TO(advice->estimate, "; then about %.0f, of up to %s", thaw->likely.count,
			FORMAT_DURATION(stats_whole(thaw->likely.max_ns)));
	if (thaw->tail.before_ns)
		APPEND_TO(advice->estimate, "; the steps' 99th percentile from %s to about %s",
			FORMAT_DURATION(thaw->tail.before_ns),
			FORMAT_DURATION(thaw->tail.after_ns));
	if (gc_tail_worse(&thaw->worst_tail))
		APPEND_TO(advice->estimate, ", to %s if all that was frozen is replaced",
			FORMAT_DURATION(thaw->worst_tail.after_ns));
}

static void say_freeze_risk(const struct advising *advising, const struct thaw *thaw,
	struct advice *advice)
{
	const struct gc_model *model = gc_model(advising);
	bool more = thaw->likely.count > 1.2 * thaw->count + 1;

	snprintf(advice->risk, sizeof(advice->risk), "%s",
		gc_tail_worse(&thaw->tail)	   ? "the slowest steps get slower: "
		: gc_tail_worse(&thaw->worst_tail) ? "the slowest steps may get slower: "
						   : "small: ");
	if (more || gc_tail_worse(&thaw->worst_tail))
		APPEND_TO(advice->risk,
			"a full collection comes when a quarter of what the last one left has been "
			"promoted since, and freezing leaves little: %s come, shorter ones; ",
			more ? "more of them" : "more of them may");
	APPEND_TO(advice->risk,
		"cycles that exist then and are dropped later stay in memory%s; the gc.collect() before it "
		"takes about %s, once. gc.unfreeze() undoes it, before another training in the same "
		"process. Before workers are forked is a good place: they share what is frozen",
		gc_holds_tensors(advising) ? ", as does their tensors' GPU memory" : "",
		FORMAT_DURATION(stats_whole(model->object_ns * model->heap)));
	if (thaw->before - thaw->worst.ns < (thaw->before - thaw->likely.ns) / 2)
		APPEND_TO(advice->risk,
			". It saves little where what lives long is replaced all the time, as in "
			"a replay buffer");
}

int advise_freeze(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	struct thaw thaw = {.before = full_after_warm_up(facts, &thaw.count)};
	struct advice *advice;
	int r;

	if (facts->incremental)
		return 0;
	if (!model->known)
		return freeze_blindly(advising, thaw.before);
	if (imagine_freezes(advising, &thaw))
		return -ENOMEM;
	advice = advice_add(advising, ADVICE_FREEZE, thaw.before - thaw.likely.ns,
		thaw.before - fmax(thaw.worst.ns, thaw.likely.ns) * model->spread,
		/* The last of them may come after the end; small ones are quicker an object. */
		thaw.before - fmin(thaw.best.ns - thaw.best.max_ns, thaw.likely.ns) /
				      fmax(model->spread, QUICKER),
		&r);
	if (!advice)
		return r;
	advice->grows_objects = 0;
	advice->step_max_after_ns = stats_whole(fmax(thaw.likely.max_ns, longest_young(facts)));
	advice->tail = gc_tail_ratio(&thaw.tail);
	advice->tail_most = fmax(advice->tail, gc_tail_ratio(&thaw.worst_tail));
	say_freeze(advice);
	advice_say_fall(advising, advice);
	say_thaw(model, &thaw, advice);
	say_freeze_risk(advising, &thaw, advice);
	return 0;
}

/* What full collections took to look at objects that stay. */
static double looking(const struct gc_model *model, const struct gc_facts *facts)
{
	double full = 0;

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		double ns = model->object_ns * gc_left_by(facts, i);

		if (event->generation == 2 && !event->manual && event->duration_ns)
			full += fmin(1, ns / (double)event->duration_ns) * gc_event_overlap(event);
	}
	return full;
}

/* What it costs to free, in small collections, what they freed. */
static double freeing(const struct gc_model *model, const struct gc_facts *facts)
{
	return fmin(model->near_ns * ((double)facts->automatic[0].collected +
					     (double)facts->automatic[1].collected),
		(double)facts->automatic[0].overlap_ns + (double)facts->automatic[1].overlap_ns);
}

/*
 * What a threshold @factor times as high saves: of full collections, the look at what stays; of the younger ones,
 * those that found nothing but objects in flight. What is garbage is freed in any case, in larger heaps, which caches
 * hold less well: @slower times as long.
 */
static double threshold_saves(const struct advising *advising, const struct gc_model *model,
	double factor, double slower)
{
	const struct gc_facts *facts = gc_facts(advising);
	double kept = gc_model_kept(model, facts, factor), free_ns = freeing(model, facts);
	double young = (double)facts->automatic[0].overlap_ns +
		       (double)facts->automatic[1].overlap_ns - free_ns;

	return (1 - kept) * looking(model, facts) +
	       gc_model_young_saved(model, facts, factor) * fmax(0, young) - (slower - 1) * free_ns;
}

/* At best, what full collections freed is found young instead. */
static double threshold_saves_most(const struct advising *advising, const struct gc_model *model,
	double factor)
{
	const struct gc_facts *facts = gc_facts(advising);
	double nearer = fmax(0, model->object_ns + model->far_ns - YOUNG_FREEING * model->near_ns);

	return threshold_saves(advising, model, factor, 1) +
	       nearer * (double)facts->automatic[2].collected;
}

static double choose_threshold(const struct advising *advising, double *ret_factor)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double to = 10 * fmax(gc_usual_threshold(facts, 0), gc_threshold(facts, 0));
	double factor = to / model->threshold;
	double saves = threshold_saves(advising, model, factor, SLOWER);

	if ((double)facts->of->overlap_ns - saves > 0.01 * (double)facts->of->time_ns &&
		threshold_saves(advising, model, 10 * factor, SLOWER) > 1.3 * saves) {
		to *= 10;
		factor *= 10;
	}
	*ret_factor = factor;
	return to;
}

/* How long one of the full collections that are left may take, as each finds the garbage of all that are not. 0: none is. */
static double longest_left(const struct advising *advising, double factor)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double left = (double)facts->automatic[2].count * gc_model_kept(model, facts, factor);

	return left < 0.5 ? 0
			  : model->object_ns * model->heap +
				    (model->object_ns + model->far_ns) / fmax(1, left) *
					    (double)facts->automatic[2].collected;
}

static void say_threshold(const struct advising *advising, double to, double factor,
	struct advice *advice)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);

	snprintf(advice->title, sizeof(advice->title), "Collect less often: raise the threshold");
	snprintf(advice->line, sizeof(advice->line), "gc.set_threshold(%.0f, %d, %d)", to,
		gc_threshold(facts, 1), gc_threshold(facts, 2));
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ", full collections from %s to %.1f",
		DESCRIBE_COUNT(facts->automatic[2].count),
		(double)facts->automatic[2].count * gc_model_kept(model, facts, factor));
	if (facts->has_thresholds)
		APPEND_TO(advice->estimate, "; the thresholds are %d, %d, %d", facts->thresholds[0],
			facts->thresholds[1], facts->thresholds[2]);
	else
		APPEND_TO(advice->estimate, "; %s",
			model->threshold_guessed
				? "judged by its young collections the threshold was set far "
				  "below the default"
				: "assuming that the threshold is the default now");
	snprintf(advice->risk, sizeof(advice->risk),
		"each collection left is as long as before, or longer; up to %s more objects of garbage "
		"are alive at a time%s",
		advice->grows_objects >= 0 ? DESCRIBE_COUNT((uint64_t)advice->grows_objects)
					   : "an unknown number of",
		advice->grows_objects && gc_holds_tensors(advising)
			? ", with their tensors' GPU memory"
			: "");
	if (advice->step_max_after_ns > facts->of->max_ns)
		APPEND_TO(advice->risk,
			"; a full collection then finds the garbage of more steps at once: the longest may "
			"take %s instead of %s",
			FORMAT_DURATION(advice->step_max_after_ns),
			FORMAT_DURATION(facts->of->max_ns));
}

int advise_threshold(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double to, factor, low = INFINITY, high = 0;
	struct advice *advice;
	int r;

	if (facts->incremental || !model->known)
		return 0;
	to = choose_threshold(advising, &factor);
	for (size_t i = 0; i < GC_MODELS; i++) {
		const struct gc_model *one = gc_model_of(advising, i);

		low = fmin(low, threshold_saves(advising, one, factor, SLOWEST) / model->spread -
					looking(one, facts) / 2);
		high = fmax(high, threshold_saves_most(advising, one, factor));
	}
	advice = advice_add(advising, ADVICE_THRESHOLD,
		threshold_saves(advising, model, factor, SLOWER), low,
		fmax(high, (double)facts->of->overlap_ns -
				   QUICKEST * model->near_ns * model->garbage_in_all),
		&r);
	if (!advice)
		return r;
	if (model->garbage_known)
		advice->grows_objects = stats_count(fmin(model->garbage_in_all,
			(1.0 + gc_threshold(facts, 1)) * (to - fmin(to, model->threshold))));
	advice->step_max_after_ns =
		stats_whole(fmax((double)facts->of->max_ns, longest_left(advising, factor)));
	say_threshold(advising, to, factor, advice);
	return 0;
}
