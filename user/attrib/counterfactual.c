/* The steps of a track and their overlaps in; what each would have taken without pauses out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "counterfactual.h"

/*
 * Of the pauses' time: more noise, and a second look at the slow steps says less than their
 * overlaps do.
 */
#define NOISE_BORNE 0.25

static void set_costs(const struct step_track *track, struct track_cost *cost)
{
	for (size_t i = 0; i < track->steps.count; i++) {
		struct step_cost *step = &cost->steps.items[i];
		uint64_t duration_ns = step_duration(&track->steps.items[i]);
		uint64_t excess_ns = duration_ns > step->base_ns ? duration_ns - step->base_ns : 0;

		step->cost_ns = excess_ns < step->overlap_ns ? excess_ns : step->overlap_ns;
	}
}

/* Without a base the whole pause counts as cost: the upper bound. */
static void set_overlaps(const struct step_track *track, struct track_cost *cost)
{
	for (size_t i = 0; i < track->steps.count; i++) {
		struct step_cost *step = &cost->steps.items[i];

		step->base_ns = step_duration(&track->steps.items[i]) - step->overlap_ns;
		step->cost_ns = step->overlap_ns;
	}
	cost->base = BASE_NONE;
	cost->source = COST_UNTOLD;
	cost->untold = "there are too few steps to compare";
}

static int population_of(const struct step_track *track, struct track_cost *cost,
	const uint64_t *limit_ns, struct population *ret)
{
	*ret = (struct population){.track = track, .cost = cost};
	ret->steps = calloc(track->steps.count + 1, sizeof(*ret->steps));
	if (!ret->steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < track->steps.count; i++)
		if (!limit_ns ||
			step_is_slow(&cost->steps.items[i], &track->steps.items[i], limit_ns[i]))
			ret->steps[ret->count++] = i;
	return 0;
}

static void population_release(struct population *population)
{
	free(population->steps);
}

/* The state to restore if a second pass proves no better. */
struct first_look {
	uint64_t *base_ns, *limit_ns; /* as population.steps */
};

static int first_look_keep(const struct population *population, const uint64_t *limit_ns,
	struct first_look *ret)
{
	ret->base_ns = calloc(population->count + 1, sizeof(*ret->base_ns));
	ret->limit_ns = calloc(population->count + 1, sizeof(*ret->limit_ns));
	if (!ret->base_ns || !ret->limit_ns)
		return -ENOMEM;
	for (size_t i = 0; i < population->count; i++) {
		ret->base_ns[i] = population_cost(population, i)->base_ns;
		ret->limit_ns[i] = limit_ns[population->steps[i]];
	}
	return 0;
}

static void first_look_restore(const struct population *population, const struct first_look *look,
	uint64_t *limit_ns)
{
	for (size_t i = 0; i < population->count; i++) {
		population_cost(population, i)->base_ns = look->base_ns[i];
		limit_ns[population->steps[i]] = look->limit_ns[i];
	}
}

static void first_look_release(struct first_look *look)
{
	free(look->base_ns);
	free(look->limit_ns);
}

/* Whether the overlap of these steps exceeds the noise between them. */
static bool stands_out(const struct population *population, const uint64_t *limit_ns)
{
	double overlap = 0, variance = 0;

	for (size_t i = 0; i < population->count; i++) {
		double sigma = (double)limit_ns[population->steps[i]] / OUTLIER_SIGMAS;

		overlap += (double)population_cost(population, i)->overlap_ns;
		variance += sigma * sigma;
	}
	return sqrt(variance) < NOISE_BORNE * overlap;
}

/*
 * By how much the cost may be overestimated. A reference step that itself has pauses enters with their full length
 * subtracted. If longer pauses turn out to cost less than their length, so may these, and whatever is compared
 * with them is overestimated by that much.
 */
static double overestimate_of(const struct population *population,
	const struct reference *reference, const uint64_t *limit_ns)
{
	double known = 0, paid = 0, longer = 0;
	size_t own = 0;

	for (size_t i = 0; i < population->count; i++) {
		const struct step_cost *cost = population_cost(population, i);
		double overlap = (double)cost->overlap_ns, excess;

		if (own < reference->count && reference->step[own] == population->steps[i]) {
			known += overlap;
			own++;
			continue;
		}
		excess = (double)population_duration(population, i) - (double)cost->base_ns;
		if (fabs(excess - overlap / 2) >
			overlap / 2 + (double)limit_ns[population->steps[i]])
			continue;
		paid += excess;
		longer += overlap;
	}
	if (!(longer > 0) || !own)
		return 0;
	return (1 - fmin(fmax(paid / longer, 0), 1)) * known / (double)own *
	       (double)population->count;
}

/*
 * Steps with pauses that are slower than their base and their pauses explain do other work as well, such as
 * reading a shard, which allocates. They are compared with the lighter ones among themselves.
 */
static int judge_slow_steps(const struct step_track *track, struct track_cost *cost,
	uint64_t *limit_ns, double *overestimate_ns)
{
	_cleanup_(reference_release) struct reference reference = {};
	_cleanup_(population_release) struct population slow = {};
	_cleanup_(first_look_release) struct first_look look = {};
	enum cost_base base;
	int r = population_of(track, cost, limit_ns, &slow);

	if (r || slow.count < 2 * STEPS_NEEDED)
		return r;
	r = first_look_keep(&slow, limit_ns, &look);
	if (!r)
		r = reference_choose(&slow, &reference, &base);
	if (r)
		return r;
	reference_bases(&slow, &reference);
	reference_limits(&slow, &reference, limit_ns);
	if (stands_out(&slow, limit_ns))
		*overestimate_ns += overestimate_of(&slow, &reference, limit_ns);
	else
		first_look_restore(&slow, &look, limit_ns);
	return 0;
}

int counterfactual_track(const struct step_track *track, struct track_cost *cost)
{
	_cleanup_(reference_release) struct reference reference = {};
	_cleanup_(population_release) struct population all = {};
	_cleanup_free_ uint64_t *limit_ns = NULL;
	double overestimate_ns;
	int r;

	if (track->steps.count < STEPS_NEEDED || !track->measured) {
		set_overlaps(track, cost);
		return 0;
	}
	limit_ns = calloc(track->steps.count, sizeof(*limit_ns));
	r = limit_ns ? population_of(track, cost, NULL, &all) : -ENOMEM;
	if (!r)
		r = reference_choose(&all, &reference, &cost->base);
	if (r)
		return r;
	reference_bases(&all, &reference);
	reference_limits(&all, &reference, limit_ns);
	overestimate_ns =
		cost->base == BASE_REMAINDER ? overestimate_of(&all, &reference, limit_ns) : 0;
	r = judge_slow_steps(track, cost, limit_ns, &overestimate_ns);
	if (r)
		return r;
	set_costs(track, cost);
	return estimate_cost(track, &reference, limit_ns, overestimate_ns, cost);
}
