/* A fitted model in; what gc.freeze() would have saved, and what it does to the slowest steps, out. */
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

#define QUICKER 3.0 /* small collections may be so much quicker an object than large ones */

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
	return known ? gc_tail_of(facts, 2, by_step, ret_tail) : 0;
}

static int imagine_freezes(const struct advising *advising, struct thaw *ret)
{
	const struct gc_model *model = gc_model(advising);
	int r = imagine_freeze(advising, model, REPLACED, model->near_ns, &ret->likely, &ret->tail);

	for (size_t i = 0; i < GC_MODELS && !r; i++) {
		struct gc_outcome best, worst;
		struct gc_tail tail;
		struct gc_model late;

		model = gc_model_of(advising, i);
		late = *model;
		late.object_ns = fmax(model->object_ns, model->late_ns);
		r = imagine_freeze(advising, model, 0, model->near_ns, &best, &tail);
		if (!r && (!i || best.ns < ret->best.ns))
			ret->best = best;
		r = r ? r : imagine_freeze(advising, &late, 1, late.far_ns, &worst, &tail);
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
	gc_tail_say(&thaw->tail, thaw->worst_tail.most_ns, advice);
}

static void say_freeze_risk(const struct advising *advising, const struct thaw *thaw,
	struct advice *advice)
{
	const struct gc_model *model = gc_model(advising);
	bool more = thaw->likely.count > 1.2 * thaw->count + 1;

	snprintf(advice->risk, sizeof(advice->risk), "%s",
		gc_tail_worse(&thaw->tail)		  ? "the slowest steps get slower: "
		: gc_tail_may_be_worse(&thaw->worst_tail) ? "the slowest steps may get slower: "
							  : "small: ");
	if (more || gc_tail_may_be_worse(&thaw->worst_tail))
		APPEND_TO(advice->risk,
			"a full collection comes when a quarter of what the last one left has been "
			"promoted since, and freezing leaves little: %s come, shorter ones; ",
			more ? "more of them" : "more of them may");
	APPEND_TO(advice->risk,
		"cycles that exist then and are dropped later stay in memory%s; the gc.collect() before it "
		"takes about %s, once. gc.unfreeze() undoes it, before another training in the same "
		"process. Before workers are forked is a good place: they share it",
		gc_holds_tensors(advising) ? ", as does their tensors' GPU memory" : "",
		FORMAT_DURATION(stats_whole(model->object_ns * model->heap)));
	if (thaw->before - thaw->worst.ns < (thaw->before - thaw->likely.ns) / 2)
		APPEND_TO(advice->risk,
			". It saves little where what lives long is replaced, as in a replay buffer");
}

int advise_freeze(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	struct thaw thaw = {.before = full_after_warm_up(facts, &thaw.count)};
	struct advice *advice;
	double saves, low;
	int r;

	if (facts->incremental)
		return 0;
	if (!model->known)
		return freeze_blindly(advising, thaw.before);
	if (imagine_freezes(advising, &thaw))
		return -ENOMEM;
	saves = thaw.before - thaw.likely.ns;
	low = thaw.before - fmax(thaw.worst.ns, thaw.likely.ns) * model->spread;
	if (gc_tail_worse(&thaw.tail) && -low > saves) /* slower, and perhaps for nothing */
		return 0;
	advice = advice_add(advising, ADVICE_FREEZE, saves, low,
		/* The last of them may come after the end; small ones are quicker an object. */
		thaw.before - fmin(thaw.best.ns - thaw.best.max_ns, thaw.likely.ns) /
				      fmax(model->spread, QUICKER),
		&r);
	if (!advice)
		return r;
	advice->step_max_after_ns = stats_whole(fmax(thaw.likely.max_ns, longest_young(facts)));
	say_freeze(advice);
	advice_say_fall(advising, advice);
	say_thaw(model, &thaw, advice);
	say_freeze_risk(advising, &thaw, advice);
	return 0;
}
