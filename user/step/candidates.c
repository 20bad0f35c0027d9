/* Every signal that was considered → what doctor --steps shows of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

#define MAX_CANDIDATES 40
#define SAMPLE	       4096 /* intervals used for the variation and the marks per step */

/* What one symbol did, compared with the steps of its process. */
struct regularity {
	uint32_t per_step; /* 0: no usual number */
	double share;	   /* of the steps that have it */
	double variation;
};

static double rate_of(const struct symbol *symbol)
{
	uint64_t until = symbol->last_ns;

	if (symbol->marks < 2 || until <= symbol->first_ns)
		return 0;
	return (double)(symbol->marks - 1) * 1e9 / (double)(until - symbol->first_ns);
}

/* Whether people would call @symbol what they call @id. */
static bool is_of(const struct study *study, uint32_t symbol, uint32_t id)
{
	return symbol == id ||
	       symbols_same(&study->symbols.items[symbol], &study->symbols.items[id]);
}

/* Counts the calls of @id in each of the first steps of @track. */
static int against_steps(const struct study *study, const struct strand *strand, uint32_t id,
	const struct step_track *track, struct regularity *ret)
{
	size_t steps = track->steps.count < SAMPLE ? track->steps.count : SAMPLE, step = 0;
	uint32_t *counts = calloc(steps + 1, sizeof(*counts));
	uint64_t values[SAMPLE];
	size_t same = 0;

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < strand->count && step < steps; i++) {
		uint64_t time_ns = strand->events[i].time_ns;

		while (step < steps && time_ns >= track->steps.items[step].end_ns)
			step++;
		if (step < steps && is_of(study, strand->events[i].symbol, id) &&
			time_ns >= track->steps.items[step].start_ns)
			counts[step] =
				count_up(counts[step], event_calls(study, &strand->events[i]));
	}
	for (size_t i = 0; i < steps; i++)
		values[i] = counts[i];
	ret->per_step = (uint32_t)median_of(values, steps);
	for (size_t i = 0; i < steps; i++)
		same += counts[i] == ret->per_step;
	ret->share = steps ? (double)same / (double)steps : 0;
	if (ret->share < 0.6)
		ret->per_step = 0;
	free(counts);
	return 0;
}

/* The variation of the distances between its marks, those of one step taken together. */
static double variation(const struct study *study, const struct strand *strand, uint32_t id,
	uint32_t per_step)
{
	uint64_t values[SAMPLE], last = 0;
	size_t count = 0, seen = 0;

	for (size_t i = 0; i < strand->count && count < SAMPLE; i++) {
		if (!is_of(study, strand->events[i].symbol, id) ||
			seen++ % (per_step ? per_step : 1))
			continue;
		if (last)
			values[count++] = strand->events[i].time_ns - last;
		last = strand->events[i].time_ns;
	}
	return variation_of(values, count);
}

static void say_why(const struct symbol *symbol, const struct step_track *track,
	struct step_candidate *candidate)
{
	char *why = candidate->why;
	size_t size = sizeof(candidate->why);

	if (symbol->chosen)
		snprintf(why, size, "chosen");
	else if (symbol->class == CLASS_REQUEST)
		snprintf(why, size, "a server's, which may overlap: steps only if named");
	else if (symbol->let_go_ns)
		snprintf(why, size, "let go at %.0f/s", candidate->per_second);
	else if (symbol->marks < 3)
		snprintf(why, size, "too few marks");
	else if (track && track->tid != candidate->tid)
		snprintf(why, size, "thread %u of the process was chosen", track->tid);
	else if (candidate->per_step == 1)
		snprintf(why, size, "as regular, but %.80s is more reliable", track->signal);
	else if (candidate->per_step)
		snprintf(why, size, "%u a step", candidate->per_step);
	else
		snprintf(why, size, "no regular pattern");
}

/* Symbol @id with the calls of those of the same name. */
static struct symbol whole_of(const struct study *study, uint32_t id)
{
	struct symbol whole = study->symbols.items[id];
	const struct strand *strand = &study->strands.items[whole.strand];

	for (size_t i = 0; i < strand->symbol_count; i++) {
		const struct symbol *other = &study->symbols.items[strand->symbols[i]];

		if (strand->symbols[i] == id || !symbols_same(other, &whole))
			continue;
		whole.marks += other->marks;
		whole.chosen |= other->chosen;
		whole.first_ns =
			other->first_ns < whole.first_ns ? other->first_ns : whole.first_ns;
		whole.last_ns = other->last_ns > whole.last_ns ? other->last_ns : whole.last_ns;
	}
	return whole;
}

/* Whether a symbol of its name, that of most calls, stands for @id. */
static bool is_listed(const struct study *study, uint32_t id)
{
	const struct symbol *symbol = &study->symbols.items[id];
	const struct strand *strand = &study->strands.items[symbol->strand];

	if (symbol->class == CLASS_LEARNER) /* marks nothing by itself */
		return true;
	for (size_t i = 0; i < strand->symbol_count && strand->symbols[i] != id; i++)
		if (symbols_same(&study->symbols.items[strand->symbols[i]], symbol))
			return true;
	return false;
}

static int describe(struct study *study, const struct steps *steps, uint32_t id,
	struct step_candidate *ret)
{
	const struct symbol whole = whole_of(study, id), *symbol = &whole;
	const struct strand *strand = &study->strands.items[symbol->strand];
	const struct step_track *track = steps_track(steps, strand->process);
	struct regularity regular = {};
	int r = 0;

	*ret = (struct step_candidate){
		.process = strand->process,
		.tid = strand->tid,
		.marks = symbol->marks,
		.per_second = rate_of(symbol),
		.chosen = symbol->chosen,
	};
	symbol_name(symbol, ret->signal, sizeof(ret->signal));
	if (track && track->tid == strand->tid && symbol->used) {
		r = against_steps(study, strand, id, track, &regular);
		ret->per_step = regular.per_step;
		ret->confidence = class_prior(symbol->class) * regular.share *
				  (track->steps.count < 20 ? (double)track->steps.count / 20 : 1);
		if (!ret->per_step)
			ret->confidence = 0;
	}
	if (may_anchor(symbol))
		ret->variation = variation(study, strand, id, ret->per_step);
	if (symbol->chosen && track) {
		ret->confidence = track->confidence;
		if (track->tid == strand->tid)
			ret->per_step = ret->per_step ? ret->per_step : track->per_step;
	}
	say_why(symbol, track, ret);
	return r;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct step_candidate *one = a, *other = b;

	if (one->chosen != other->chosen)
		return one->chosen ? -1 : 1;
	if (one->confidence != other->confidence)
		return one->confidence > other->confidence ? -1 : 1;
	if (one->marks != other->marks)
		return one->marks > other->marks ? -1 : 1;
	return strcmp(one->signal, other->signal);
}

/* Which symbols are worth a line: the chosen first, then the better classes, then the busier. */
static int compare_worth(const void *a, const void *b, void *arg)
{
	const struct study *study = arg;
	const struct symbol *one = &study->symbols.items[*(const uint32_t *)a];
	const struct symbol *other = &study->symbols.items[*(const uint32_t *)b];
	double priors[2] = {class_prior(one->class), class_prior(other->class)};

	if (one->chosen != other->chosen)
		return one->chosen ? -1 : 1;
	if ((one->marks < 3) != (other->marks < 3))
		return one->marks < 3 ? 1 : -1;
	if (priors[0] != priors[1])
		return priors[0] > priors[1] ? -1 : 1;
	if (one->marks != other->marks)
		return one->marks > other->marks ? -1 : 1;
	return (one > other) - (one < other);
}

int candidates_list(struct study *study, struct steps *ret)
{
	size_t count = study->symbols.count;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < count; i++)
		order[i] = (uint32_t)i;
	if (!r)
		qsort_r(order, count, sizeof(*order), compare_worth, study);
	for (size_t i = 0; !r && i < count && ret->candidates.count < MAX_CANDIDATES; i++) {
		struct step_candidate *candidate;

		if (is_listed(study, order[i]))
			continue;
		candidate = vec_add(&ret->candidates);
		r = candidate ? describe(study, ret, order[i], candidate) : -ENOMEM;
	}
	if (ret->candidates.count)
		qsort(ret->candidates.items, ret->candidates.count, sizeof(*ret->candidates.items),
			compare_candidates);
	free(order);
	return r;
}
