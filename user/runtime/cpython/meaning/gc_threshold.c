/* A fitted model in; what a higher threshold would have saved and let grow, and what it does to the slowest steps, out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gc_advice.h"
#include "gc_tail.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

#define YOUNG_FREEING 1.4 /* times near_ns: to free one in a collection of thousands */
#define SLOWER	      1.4 /* to free one takes so many times as long with ten times the threshold ... */
#define SLOWEST	      2.2 /* ... and at most; measured */
#define QUICKEST      0.4 /* of near_ns: to free one at best */

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

/*
 * What a threshold @factor times as high saves: of full collections, the look at what stays; of the younger ones,
 * those that found nothing but objects in flight. What is garbage is freed in any case, in larger heaps, which caches
 * hold less well: @slower times as long.
 */
static double threshold_saves(const struct advising *advising, const struct gc_model *model,
	double factor, double slower)
{
	const struct gc_facts *facts = gc_facts(advising);
	double kept = gc_model_kept(model, facts, factor), free_ns = gc_freeing_young(model, facts);
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

/* What is left of full collections need not be a whole number of them, but what comes is. */
static double one_more(const struct gc_model *model, const struct gc_facts *facts, double factor)
{
	double left = (double)facts->automatic[2].count * gc_model_kept(model, facts, factor);

	return (ceil(left) - left) * model->object_ns * model->heap_most;
}

/* To free what is left when the recording ends, as the last collection comes after it: of so many young objects. */
static double left_behind(const struct gc_model *model, const struct gc_facts *facts, double to)
{
	double freed =
		(double)facts->automatic[0].collected + (double)facts->automatic[1].collected;

	return freed > 0 ? gc_freeing_young(model, facts) * fmin(1, to / freed) : 0;
}

/* Full collections that are left, each with the garbage of all that are not: how much more that is. */
static double older_garbage(const struct gc_facts *facts, double kept)
{
	double before = (double)facts->automatic[2].count, after = fmax(1, before * kept);

	return before > after ? (double)facts->automatic[2].collected * (1 / after - 1 / before)
			      : 0;
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

/* How long a full collection that is left may take, as each finds the garbage of all that are not. */
static double longest_left(const struct advising *advising, double factor)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double left = (double)facts->automatic[2].count * gc_model_kept(model, facts, factor);

	return model->object_ns * model->heap_most +
	       (left < 0.5 ? 0 : model->object_ns + model->far_ns) / fmax(1, left) *
		       (double)facts->automatic[2].collected;
}

static void say_garbage(const struct advising *advising, struct advice *advice)
{
	snprintf(advice->risk, sizeof(advice->risk),
		"each collection left is as long as before, or longer");
	if (!advice->grows_objects)
		return;
	APPEND_TO(advice->risk, "; up to %s more objects of garbage are alive at a time%s",
		advice->grows_objects > 0 ? DESCRIBE_COUNT((uint64_t)advice->grows_objects)
					  : "an unknown number of",
		gc_holds_tensors(advising) ? ", with their tensors' GPU memory" : "");
}

static void say_threshold(const struct advising *advising, double to, double factor,
	struct advice *advice)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double left = (double)facts->automatic[2].count * gc_model_kept(model, facts, factor);

	snprintf(advice->title, sizeof(advice->title), "Collect less often: raise the threshold");
	snprintf(advice->line, sizeof(advice->line), "gc.set_threshold(%.0f, %d, %d)", to,
		gc_threshold(facts, 1), gc_threshold(facts, 2));
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ", full collections from %s to ",
		DESCRIBE_COUNT(facts->automatic[2].count));
	if (left < 0.05)
		APPEND_TO(advice->estimate, "none");
	else
		APPEND_TO(advice->estimate, "%.1f", left);
	if (facts->has_thresholds)
		APPEND_TO(advice->estimate, "; the thresholds are %d, %d, %d", facts->thresholds[0],
			facts->thresholds[1], facts->thresholds[2]);
	else
		APPEND_TO(advice->estimate, "; %s",
			model->threshold_guessed
				? "judged by its young collections the threshold was set far "
				  "below the default"
				: "assuming that the threshold is the default now");
	say_garbage(advising, advice);
	if (advice->step_max_after_ns > facts->of->max_ns)
		APPEND_TO(advice->risk,
			"; a full collection then finds the garbage of more steps at once: the longest may "
			"take %s instead of %s",
			FORMAT_DURATION(advice->step_max_after_ns),
			FORMAT_DURATION(facts->of->max_ns));
}

/* What a higher threshold leaves of collections. */
struct rarer {
	double factor, kept; /* of the full ones: a share */
	double young;	     /* of what young ones took: a share */
	bool none;	     /* no full one is left: what they freed is found before */
	bool youngest; /* one of generation 0 spans more than one of generation 1 did, and finds its garbage, too */
	double by_full_ns; /* of what full ones freed, if none is left */
};

static struct rarer rarer_by(const struct gc_model *model, const struct gc_facts *facts,
	double factor)
{
	double free_ns = gc_freeing_young(model, facts);
	double young =
		(double)facts->automatic[0].overlap_ns + (double)facts->automatic[1].overlap_ns;
	struct rarer rarer = {.factor = factor,
		.kept = gc_model_kept(model, facts, factor),
		.youngest = factor > 1 + gc_threshold(facts, 1)};

	rarer.none = rarer.kept * (double)facts->automatic[2].count < 1;
	rarer.by_full_ns =
		rarer.none ? (double)facts->automatic[2].overlap_ns - looking(model, facts) : 0;
	if (young > 0)
		rarer.young =
			((1 - gc_model_young_saved(model, facts, factor)) * (young - free_ns) +
				SLOWER * free_ns) /
			young;
	return rarer;
}

/* Collections of generation 0 that are left, evenly: which steps had them is not kept. */
static void put_youngest(const struct gc_model *model, const struct gc_facts *facts,
	const struct rarer *rarer, double *by_step)
{
	size_t steps = facts->of->track->steps.count;
	double count = fmin(gc_model_young_left(model, facts, rarer->factor), (double)steps);
	double ns = rarer->young * (double)facts->automatic[0].overlap_ns;

	if (rarer->youngest)
		ns += rarer->young * (double)facts->automatic[1].overlap_ns + rarer->by_full_ns;
	for (double i = 0.5; i < count; i++)
		by_step[(size_t)(i * (double)steps / count)] += ns / count;
}

/* An older one that is due only so often: what those that are not would have found is found then. */
struct due {
	double ns, part;
};

static void put_due(struct due *due, double ns, double part, double *ret_step)
{
	due->ns += ns;
	due->part += part;
	if (due->part < 1)
		return;
	*ret_step += due->ns;
	*due = (struct due){};
}

/* The older ones that are left, in the steps in which they fall due. */
static void put_older(const struct gc_model *model, const struct gc_facts *facts,
	const struct rarer *rarer, double *by_step)
{
	struct due middle = {}, full = {};

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		double ns = gc_event_overlap(event), looked;

		if (!event->warm || event->step == GC_NO_STEP)
			continue;
		looked = fmin(ns, model->object_ns * gc_left_by(facts, i) * (double)event->weight);
		if (event->manual)
			by_step[event->step] += ns;
		else if (event->generation == 2 && !rarer->none && full.part + rarer->kept >= 1)
			put_due(&full, ns, rarer->kept, &by_step[event->step]);
		else if (event->generation == 2 && !rarer->none)
			put_due(&full, ns - looked, rarer->kept, &by_step[event->step]);
		else if (!rarer->youngest && event->generation == 2)
			put_due(&middle, ns - looked, 0, &by_step[event->step]);
		else if (!rarer->youngest)
			put_due(&middle, ns * rarer->young, 1 / rarer->factor,
				&by_step[event->step]);
	}
}

/* 0 or -ENOMEM. */
static int say_threshold_tail(const struct advising *advising, double factor, struct advice *advice)
{
	const struct gc_facts *facts = gc_facts(advising);
	_cleanup_free_ double *by_step = NULL;
	struct rarer rarer;
	struct gc_tail tail;

	if (!gc_tail_known(facts))
		return 0;
	by_step = calloc(facts->of->track->steps.count, sizeof(*by_step));
	if (!by_step)
		return -ENOMEM;
	rarer = rarer_by(gc_model(advising), facts, factor);
	put_youngest(gc_model(advising), facts, &rarer, by_step);
	put_older(gc_model(advising), facts, &rarer, by_step);
	if (gc_tail_of(facts, 1, by_step, &tail))
		return -ENOMEM;
	gc_tail_say(&tail, 0, advice);
	gc_tail_say_risk(&tail, advice);
	return 0;
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

		/* What waits for a full collection after the end is found in time. */
		low = fmin(low,
			threshold_saves(advising, one, factor, SLOWEST) / model->spread -
				fmax(looking(one, facts) / 2, one_more(one, facts, factor)) -
				one->near_ns * one->garbage_due);
		high = fmax(high,
			threshold_saves_most(advising, one, factor) + left_behind(one, facts, to));
	}
	advice = advice_add(advising, ADVICE_THRESHOLD,
		threshold_saves(advising, model, factor, SLOWER), low,
		fmax(high, (double)facts->of->overlap_ns -
				   QUICKEST * model->near_ns * model->garbage_in_all),
		&r);
	if (!advice)
		return r;
	if (model->garbage_known)
		advice->grows_objects = stats_count(fmin(model->garbage_in_all + model->garbage_due,
			(1.0 + gc_threshold(facts, 1)) * (to - fmin(to, model->threshold)) +
				older_garbage(facts, gc_model_kept(model, facts, factor))));
	advice->step_max_after_ns =
		stats_whole(fmax((double)facts->of->max_ns, longest_left(advising, factor)));
	say_threshold(advising, to, factor, advice);
	return say_threshold_tail(advising, factor, advice);
}
