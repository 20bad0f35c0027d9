/* What a collector did in; what it would have cost under other settings out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "gc_model.h"
#include "stats.h"
#include "cleanup.h"

#define LEAST_OBJECTS 1000 /* smaller collections say nothing about the cost of an object */
#define LEAST_GARBAGE 200
#define LEAST_SAMPLES 3
#define GROWN	      1.25 /* by as much a heap must grow to show what the new objects take ... */
#define MOST_LATE     4.0  /* ... and more than so many times the others' is chance */
/*
 * Freeing takes as long as looking at so many objects: near, where the caches still hold what was
 * made lately; far, after a look at a heap that they do not hold: GC_FREEING_…, by what lies there. Measured on
 * CPython 3.11 and 3.13 loops, where full collections freed 0 to 500,000 objects, and by tests/workloads/follow.py.
 */
#define NEAR_OBJECTS  2.0
#define OLD_OBJECTS   3.5 /* where no young collection freed anything: its garbage has grown old */
#define FAR_HEAP      50000.0
#define LEAST_LOOKING 0.2 /* of a full collection's time, whatever it frees */

#define PENDING_PART                                                                               \
	4 /* enough collections of generation 1 make a full one due if one in so many of the heap was promoted */
#define YOUNG_OBJECT_NS 30.0 /* of one of generation 0; measured, its objects in the caches */
#define YOUNG_FIXED_NS	1000.0
#define FAR_BELOW	4 /* a threshold this far below the default was set by someone */

static bool is_full(const struct gc_event *event)
{
	return event->generation == 2 && event->heap >= 0 && event->pending >= 0;
}

double gc_left_by(const struct gc_facts *facts, size_t at)
{
	const struct gc_event *event = &facts->events.items[at];

	if (at + 1 < facts->events.count && event[1].heap >= 0)
		return (double)event[1].heap;
	return (double)event->heap + (double)event->pending;
}

static double collected_of(const struct gc_event *event)
{
	return event->collected > 0 ? (double)event->collected : 0;
}

/* What it looked at: all of that, and what it freed. */
static double looked_at(const struct gc_facts *facts, size_t at)
{
	return gc_left_by(facts, at) + collected_of(&facts->events.items[at]);
}

/* How many objects the event at index @at promoted; < 0: not known. */
static double promoted_by(const struct gc_facts *facts, size_t at)
{
	const struct gc_event *event = &facts->events.items[at];

	if (at + 1 == facts->events.count || event->generation != 1 || event->pending < 0 ||
		event[1].heap != event->heap || event[1].pending < event->pending)
		return -1;
	return (double)event[1].pending - (double)event->pending;
}

/*
 * Time per freed object: of collections of generation 1 that freed more than they left, as else most of their time went
 * into looking at what stays. 0: too few samples; -ENOMEM.
 */
static int fit_garbage(const struct gc_facts *facts, double *ret_ns)
{
	_cleanup_free_ double *ratios = calloc(facts->events.count + 1, sizeof(*ratios));
	size_t count = 0;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];

		if (event->generation == 1 && event->collected >= LEAST_GARBAGE &&
			promoted_by(facts, i) <= (double)event->collected)
			ratios[count++] = (double)event->duration_ns / (double)event->collected;
	}
	*ret_ns = count >= LEAST_SAMPLES ? stats_median_real(ratios, count) : 0;
	return 0;
}

/* Whether the event at index @at is a full collection large enough to fit to. */
static bool fits(const struct gc_facts *facts, size_t at, bool warm_only)
{
	const struct gc_event *event = &facts->events.items[at];

	return is_full(event) && looked_at(facts, at) >= LEAST_OBJECTS &&
	       (event->warm || !warm_only);
}

static size_t count_fits(const struct gc_facts *facts, bool warm_only)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->events.count; i++)
		count += fits(facts, i, warm_only);
	return count;
}

/* What young collections took for each object that they freed: to free one took no more on average. */
static double most_near_ns(const struct gc_facts *facts)
{
	double ns = (double)facts->automatic[0].ns + (double)facts->automatic[1].ns;
	double freed =
		(double)facts->automatic[0].collected + (double)facts->automatic[1].collected;

	return freed >= LEAST_GARBAGE ? ns / freed : INFINITY;
}

/* So that the model's sum over the full collections is the recording's. */
static void fit_object(const struct gc_facts *facts, bool warm_only, double freeing,
	struct gc_model *model)
{
	double ns = 0, objects = 0, garbage = 0, heap = 0, count = 0, far;

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];

		if (!fits(facts, i, warm_only))
			continue;
		ns += (double)event->duration_ns;
		objects += looked_at(facts, i);
		garbage += collected_of(event);
		heap += gc_left_by(facts, i);
		count++;
	}
	model->heap = heap / count;
	model->heap_most = model->heap;
	model->full_ns = ns / count;
	far = model->heap > FAR_HEAP ? freeing : fmin(freeing, NEAR_OBJECTS);
	model->object_ns = ns / (objects + far * garbage);
	model->far_ns = far * model->object_ns;
	if (!(model->near_ns > 0))
		model->near_ns = OLD_OBJECTS * model->object_ns;
	model->near_ns = fmin(model->near_ns, most_near_ns(facts));
	if (model->far_ns > model->near_ns)
		return;
	model->far_ns = model->near_ns;
	model->object_ns = fmax(ns - model->near_ns * garbage, LEAST_LOOKING * ns) / objects;
}

/*
 * What a full collection takes longer for each object that the heap has grown by: dictionaries that a program makes take
 * longer to look at than what imports left. The slope through those that fit.
 */
static void fit_late(const struct gc_facts *facts, struct gc_model *model)
{
	double count = 0, x = 0, y = 0, xx = 0, xy = 0, least = INFINITY, most = 0;

	for (size_t i = 0; i < facts->events.count; i++) {
		double looked = looked_at(facts, i), ns;

		if (!fits(facts, i, true))
			continue;
		ns = (double)facts->events.items[i].duration_ns -
		     model->far_ns * collected_of(&facts->events.items[i]);
		count++;
		x += looked;
		y += ns;
		xx += looked * looked;
		xy += looked * ns;
		least = fmin(least, looked);
		most = fmax(most, looked);
	}
	if (count < LEAST_SAMPLES || most < GROWN * least)
		return;
	model->late_ns = fmin(fmax(0, (count * xy - x * y) / (count * xx - x * x)),
		MOST_LATE * model->object_ns);
}

static int fit_spread(const struct gc_facts *facts, bool warm_only, struct gc_model *model)
{
	_cleanup_free_ double *ratios = calloc(facts->events.count + 1, sizeof(*ratios));
	size_t count = 0;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];

		if (fits(facts, i, warm_only))
			ratios[count++] =
				fabs(log((double)(event->duration_ns + 1) /
					 (model->object_ns * looked_at(facts, i) +
						 model->far_ns * collected_of(event) + 1)));
	}
	model->spread = exp(stats_median_real(ratios, count));
	return 0;
}

/*
 * What became of the promoted: the next event says how many were left after each full collection.
 */
static void fit_promotion(const struct gc_facts *facts, struct gc_model *model)
{
	double left = 0, gains = 0, collections = 0;

	for (size_t i = 0; i + 1 < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i], *next = event + 1;

		if (!event->warm || event->heap < 0 || event->pending < 0 || next->heap < 0 ||
			next->pending < 0)
			continue;
		if (event->generation == 2) {
			model->promoted_sum += (double)event->pending;
			model->garbage += collected_of(event);
			left += (double)next->heap - (double)event->heap;
		} else if (event->generation == 1 && next->pending >= event->pending) {
			gains += (double)next->pending - (double)event->pending;
			collections++;
		}
	}
	model->promoted = collections > 0 ? gains / collections : 0;
	if (!(model->promoted_sum > 0))
		return;
	model->growth = fmin(fmax(left, 0), model->promoted_sum);
	model->growth_share = model->growth / model->promoted_sum;
	model->garbage_share = fmin(model->garbage / model->promoted_sum, 1 - model->growth_share);
}

/*
 * What had been promoted by the last event in steps and waits for a full collection, which is no longer recorded. Where none
 * was that could say what becomes of such objects, all may stay.
 */
static void fit_due(const struct gc_facts *facts, struct gc_model *model)
{
	double staying = model->promoted_sum > 0 ? model->growth_share : 1;

	for (size_t i = facts->events.count; i--;) {
		const struct gc_event *event = &facts->events.items[i];

		if (!(event->weight > 0))
			continue;
		if (event->generation == 1 && event->pending >= 0 && event->heap >= 0) {
			model->garbage_due = model->garbage_share * (double)event->pending;
			model->growth_due = staying * (double)event->pending;
			model->heap_most =
				fmax(model->heap, (double)event->heap + model->growth_due);
		}
		return;
	}
}

/*
 * Older recordings lack the threshold; but a young collection far shorter than so many objects take was due far
 * earlier.
 */
static void fit_threshold(const struct gc_facts *facts, struct gc_model *model)
{
	const struct gc_sum *young = &facts->automatic[0];
	double suggested = young->count ? (double)young->ns / (double)young->count / YOUNG_OBJECT_NS
					: INFINITY;

	model->threshold = fmax(1, gc_threshold(facts, 0));
	if (facts->has_thresholds || suggested * FAR_BELOW >= model->threshold ||
		young->count < 100)
		return;
	model->threshold = suggested > 10 ? floor(suggested / 10) * 10 : 10;
	model->threshold_guessed = true;
}

static void add_yield(const struct gc_sum *sum, struct gc_model *model)
{
	model->garbage_in_all += (double)sum->collected;
	if (sum->unknown)
		model->garbage_known = false;
}

int gc_model_fit(const struct gc_facts *facts, double freeing, struct gc_model *ret)
{
	struct gc_model model = {.garbage_known = true, .spread = 1};
	size_t warm = count_fits(facts, true);

	if (fit_garbage(facts, &model.near_ns))
		return -ENOMEM;
	model.known = count_fits(facts, false) > 0;
	if (model.known) {
		/* What imports and loading left is less than what steps look at; how far one is from the next, few do not say. */
		fit_object(facts, warm > 0, freeing, &model);
		if (fit_spread(facts, warm >= LEAST_SAMPLES, &model))
			return -ENOMEM;
		fit_late(facts, &model);
		fit_promotion(facts, &model);
		fit_due(facts, &model);
	} else if (facts->automatic[2].count) {
		model.full_ns = (double)facts->automatic[2].ns / (double)facts->automatic[2].count;
	}
	if (facts->automatic[1].count)
		model.gen1_ns = (double)facts->automatic[1].ns / (double)facts->automatic[1].count;
	for (size_t i = 0; i < 3; i++)
		add_yield(&facts->automatic[i], &model);
	add_yield(&facts->manual, &model);
	fit_threshold(facts, &model);
	*ret = model;
	return 0;
}

/* The state of the imagined collector. */
struct imagined {
	double heap, pending; /* as it counts them */
	int32_t gen1;	      /* collections since the last full one */
	int32_t threshold;    /* of these, for a full one */
	double frozen;	      /* objects that survived before the freeze; < 0: not yet */
	double garbage_ns;    /* to free one */
	double replaced;      /* of them, replaced by new ones since */
	size_t next_full;     /* the event until which .staying holds, once .looked */
	double staying;
	bool looked;
};

static void imagine_full(const struct gc_model *model, struct imagined *state, double alive,
	double garbage, const struct gc_event *event, struct gc_outcome *outcome)
{
	double weight = (double)event->weight;
	double ns = model->object_ns * (alive + garbage) + state->garbage_ns * garbage;

	if (ns < model->gen1_ns)
		ns = model->gen1_ns;
	outcome->ns += ns * weight;
	outcome->count += weight > 0;
	if (ns * weight > outcome->max_ns)
		outcome->max_ns = ns * weight;
	if (outcome->by_step && event->step != GC_NO_STEP)
		outcome->by_step[event->step] += ns * weight;
	state->pending = 0;
	state->gen1 = 0;
}

/*
 * The share of the promoted that the next full collection found to stay: of the events up to
 * state->next_full. After the last one, what they show together.
 */
static double staying(const struct gc_model *model, const struct gc_facts *facts,
	struct imagined *state, size_t at)
{
	if (at <= state->next_full && state->looked)
		return state->staying;
	state->looked = true;
	state->staying = model->growth_share;
	for (size_t i = at; i + 1 < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		double grown = (double)event[1].heap - (double)event->heap;

		state->next_full = i;
		if (!is_full(event) || event[1].heap < 0 || !event->pending)
			continue;
		state->staying = fmin(fmax(grown / (double)event->pending, 0), 1);
		return state->staying;
	}
	state->next_full = facts->events.count;
	return state->staying;
}

/* Objects that were there by the time of @event and stay. */
static double staying_at(const struct gc_model *model, const struct gc_facts *facts,
	struct imagined *state, size_t at)
{
	const struct gc_event *event = &facts->events.items[at];

	return (double)event->heap + staying(model, facts, state, at) * (double)event->pending;
}

/* How many @event promoted. */
static double gain(const struct gc_model *model, const struct gc_event *event,
	const struct gc_event *next)
{
	if (!next || next->heap != event->heap || next->pending < event->pending)
		return model->promoted;
	return (double)next->pending - (double)event->pending;
}

/* @alive: objects of the oldest generation that came after the freeze and stay. */
static void imagine_event(const struct gc_model *model, struct imagined *state, double alive,
	const struct gc_event *event, const struct gc_event *next, struct gc_outcome *outcome)
{
	if (event->generation == 2 && event->manual) {
		imagine_full(model, state, alive, collected_of(event), event, outcome);
		state->heap = alive;
		return;
	}
	if (event->generation != 1 || event->manual)
		return;
	state->pending += gain(model, event, next);
	state->gen1++;
	if (state->gen1 <= state->threshold || state->pending < state->heap / PENDING_PART)
		return;
	imagine_full(model, state, alive, model->garbage_share * state->pending, event, outcome);
	state->heap = alive;
}

void gc_model_freeze(const struct gc_model *model, const struct gc_facts *facts, double replaced,
	double garbage_ns, struct gc_outcome *outcome)
{
	struct imagined state = {
		.frozen = -1, .garbage_ns = garbage_ns, .threshold = gc_threshold(facts, 2)};

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		const struct gc_event *next = i + 1 < facts->events.count ? event + 1 : NULL;
		double here;

		if (!event->warm || event->heap < 0 || event->pending < 0)
			continue;
		here = staying_at(model, facts, &state, i);
		if (state.frozen < 0) /* freezing does not change what it counts as its heap */
			state.frozen = state.heap = here;
		imagine_event(model, &state, fmax(here - state.frozen, 0) + state.replaced, event,
			next, outcome);
		if (event->generation == 2 && next && next->heap >= 0)
			state.replaced = fmin((double)event->heap,
				state.replaced + replaced * fmax(0, (double)event->heap +
									    (double)event->pending -
									    looked_at(facts, i)));
	}
}

double gc_model_garbage(const struct gc_model *model, const struct gc_facts *facts)
{
	return (model->garbage_in_all + model->garbage_due) / (double)facts->of->steps;
}

struct gc_outcome gc_model_manual(const struct gc_model *model, const struct gc_facts *facts,
	double every)
{
	double garbage = gc_model_garbage(model, facts) * every;
	double ns = model->object_ns * (model->heap + garbage) + model->far_ns * garbage;
	double count = (double)facts->of->steps / every;

	return (struct gc_outcome){.ns = ns * count, .max_ns = ns, .count = count};
}

/*
 * What the allocations of young objects come to, of which so many are not freed by reference count.
 */
static double needed_share(const struct gc_model *model, const struct gc_facts *facts)
{
	double objects = (double)facts->automatic[0].count * model->threshold;

	return objects > 0 ? fmin(1, (model->garbage_in_all + model->growth + model->growth_due) /
					     objects)
			   : 0;
}

/*
 * The rest is objects in flight, for which no collection comes if they are fewer than the
 * threshold: the share of them for which that holds.
 */
static double passing_share(const struct gc_model *model, const struct gc_facts *facts,
	double factor)
{
	double per_step = facts->of->steps ? (double)facts->automatic[0].count * model->threshold /
						     (double)facts->of->steps
					   : 0;

	return per_step > 0 ? fmin(1, model->threshold * factor / per_step) : 1;
}

double gc_model_young_left(const struct gc_model *model, const struct gc_facts *facts,
	double factor)
{
	double count = (double)facts->automatic[0].count, steps = (double)facts->of->steps;
	double needed = needed_share(model, facts), passing = passing_share(model, facts, factor);
	double to = model->threshold * factor;
	double flight = steps > 0 ? (1 - needed) * count * model->threshold / steps : 0;

	/* Those in flight count, too, while they are: the fewer others make one due. */
	return fmax(count * (1 - needed) * (1 - passing) / factor, 0) +
	       count * needed * model->threshold / (to - fmin(flight, 0.9 * to));
}

double gc_model_kept(const struct gc_model *model, const struct gc_facts *facts, double factor)
{
	double promoted = model->growth_share + (1 - model->growth_share) / factor;
	double needed = needed_share(model, facts), passing = passing_share(model, facts, factor);
	double young = (double)facts->automatic[0].count * (needed + (1 - needed) * (1 - passing)) /
		       factor;
	double full = (double)facts->automatic[2].count;

	return full > 0 ? fmin(promoted, young / gc_young_to_full(facts) / full) : promoted;
}

double gc_freeing_young(const struct gc_model *model, const struct gc_facts *facts)
{
	return fmin(model->near_ns * ((double)facts->automatic[0].collected +
					     (double)facts->automatic[1].collected),
		(double)facts->automatic[0].overlap_ns + (double)facts->automatic[1].overlap_ns);
}

double gc_model_young_saved(const struct gc_model *model, const struct gc_facts *facts,
	double factor)
{
	const struct gc_sum *young = &facts->automatic[0];
	double mean, fixed, passing;

	if (!young->count)
		return 0;
	mean = (double)young->ns / (double)young->count;
	fixed = fmin(0.9, YOUNG_FIXED_NS / mean);
	passing = (1 - needed_share(model, facts)) * passing_share(model, facts, factor);
	return passing + (1 - passing) * (1 - 1 / factor) * fixed;
}
