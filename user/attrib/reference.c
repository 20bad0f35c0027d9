/* Steps with their overlaps in; those that the others are held against, and bases, out. */
#include <errno.h>
#include <stdlib.h>

#include "stats.h"
#include "cleanup.h"
#include "counterfactual.h"

#define LIGHT_SHARE	 100 /* a light step's pauses are less than one part in so many of a step */
#define PAUSE_FREE_SHARE 10  /* one step in so many without any pause: only those are light */
#define SIGMA_OF_MAD	 1.4826
#define OUTLIER_SHARE	 0.01 /* of the base: no deviation smaller than it makes an outlier */

void reference_release(struct reference *reference)
{
	free(reference->step);
	free(reference->value_ns);
	free(reference->deviation_ns);
	vec_free(&reference->regimes.starts);
}

/*
 * The most that a reference step may spend in pauses: none, or next to none, if there are enough
 * such steps; else the median around it, and each stands for itself less its pauses. It is never
 * held against the step's own duration: steps that are long by chance would be preferred.
 */
enum reference_kind { PAUSE_FREE, LIGHT, LIGHTER_HALF };

/* @most, as population->steps. 0 or -ENOMEM. */
static int set_most(enum reference_kind kind, const struct population *population, uint64_t *most)
{
	_cleanup_free_ uint64_t *values = calloc(population->count, sizeof(*values));
	struct stats_window window = {};

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < population->count; i++)
		values[i] = kind == LIGHT ? population_duration(population, i)
					  : population_cost(population, i)->overlap_ns;
	for (size_t i = 0; i < population->count; i++) {
		size_t from, to;

		stats_window_place(i, 0, population->count, &from, &to);
		stats_window_move(&window, values, from, to);
		most[i] = stats_window_median(&window) / (kind == LIGHT ? LIGHT_SHARE : 1);
	}
	return 0;
}

static size_t count_reference(const struct population *population, const uint64_t *most)
{
	size_t found = 0;

	for (size_t i = 0; i < population->count; i++)
		found += population_cost(population, i)->overlap_ns <= most[i];
	return found;
}

/* Fills @most, zeroed, for the strictest kind of which there are enough. 0 or -ENOMEM. */
static int choose_kind(const struct population *population, uint64_t *most, enum cost_base *ret)
{
	size_t pause_free = count_reference(population, most);

	*ret = BASE_LIGHT_STEPS;
	if (pause_free >= STEPS_NEEDED && pause_free >= population->count / PAUSE_FREE_SHARE)
		return 0;
	if (set_most(LIGHT, population, most))
		return -ENOMEM;
	if (count_reference(population, most) >= STEPS_NEEDED)
		return 0;
	*ret = BASE_REMAINDER;
	return set_most(LIGHTER_HALF, population, most);
}

static uint64_t remainder_of(const struct population *population, size_t i)
{
	return population_duration(population, i) - population_cost(population, i)->overlap_ns;
}

int reference_choose(const struct population *population, struct reference *ret,
	enum cost_base *base)
{
	_cleanup_free_ uint64_t *most = calloc(population->count + 1, sizeof(*most));
	size_t count;

	if (!most || choose_kind(population, most, base))
		return -ENOMEM;
	count = count_reference(population, most);
	ret->step = calloc(count + 1, sizeof(*ret->step));
	ret->value_ns = calloc(count + 1, sizeof(*ret->value_ns));
	ret->deviation_ns = calloc(count + 1, sizeof(*ret->deviation_ns));
	if (!ret->step || !ret->value_ns || !ret->deviation_ns)
		return -ENOMEM;
	for (size_t i = 0; i < population->count; i++) {
		if (population_cost(population, i)->overlap_ns > most[i])
			continue;
		ret->step[ret->count] = population->steps[i];
		ret->value_ns[ret->count++] = remainder_of(population, i);
	}
	return regimes_find(ret->value_ns, ret->count, &ret->regimes);
}

/* From step to step: which reference steps surround it. */
struct reference_cursor {
	const struct reference *reference;
	size_t next;   /* the first reference step that is not before the step */
	size_t regime; /* never goes back */
};

static size_t regime_end(const struct reference_cursor *cursor, size_t regime)
{
	const struct regimes *regimes = &cursor->reference->regimes;

	return regime + 1 < regimes->starts.count ? regimes->starts.items[regime + 1]
						  : cursor->reference->count;
}

/* Between two regimes a step belongs to the one that its time without pauses resembles. */
static size_t choose_centre(const struct reference_cursor *cursor, uint32_t step, uint64_t value_ns)
{
	const struct reference *reference = cursor->reference;
	size_t next = cursor->next;

	if (next == reference->count)
		return next - 1;
	if (!next || reference->step[next] == step || next < regime_end(cursor, cursor->regime) ||
		stats_distance(reference->value_ns[next], value_ns) <
			stats_distance(reference->value_ns[next - 1], value_ns))
		return next;
	return next - 1;
}

/* The window of reference steps around @step. */
static void cursor_place(struct reference_cursor *cursor, uint32_t step, uint64_t value_ns,
	size_t *ret_from, size_t *ret_to)
{
	size_t centre;

	while (cursor->next < cursor->reference->count &&
		cursor->reference->step[cursor->next] < step)
		cursor->next++;
	centre = choose_centre(cursor, step, value_ns);
	while (regime_end(cursor, cursor->regime) <= centre)
		cursor->regime++;
	if (centre < cursor->reference->regimes.starts.items[cursor->regime])
		centre = cursor->reference->regimes.starts.items[cursor->regime];
	stats_window_place(centre, cursor->reference->regimes.starts.items[cursor->regime],
		regime_end(cursor, cursor->regime), ret_from, ret_to);
}

void reference_bases(const struct population *population, struct reference *reference)
{
	struct reference_cursor cursor = {.reference = reference};
	struct stats_window window = {};
	size_t own = 0;

	for (size_t i = 0; i < population->count; i++) {
		struct step_cost *cost = population_cost(population, i);
		size_t from, to;

		cursor_place(&cursor, population->steps[i], remainder_of(population, i), &from,
			&to);
		stats_window_move(&window, reference->value_ns, from, to);
		cost->base_ns = stats_window_median(&window);
		if (own < reference->count && reference->step[own] == population->steps[i]) {
			reference->deviation_ns[own] =
				stats_distance(reference->value_ns[own], cost->base_ns);
			own++;
		}
	}
}

void reference_limits(const struct population *population, const struct reference *reference,
	uint64_t *limit_ns)
{
	struct reference_cursor cursor = {.reference = reference};
	struct stats_window window = {};

	for (size_t i = 0; i < population->count; i++) {
		double mad, share = OUTLIER_SHARE * (double)population_cost(population, i)->base_ns;
		size_t from, to;

		cursor_place(&cursor, population->steps[i], remainder_of(population, i), &from,
			&to);
		stats_window_move(&window, reference->deviation_ns, from, to);
		mad = OUTLIER_SIGMAS * SIGMA_OF_MAD * (double)stats_window_median(&window);
		limit_ns[population->steps[i]] = stats_whole(mad > share ? mad : share);
	}
}
