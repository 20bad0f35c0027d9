/* Figures of several runs in; rows with what they are before and after, judged, out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "compare_priv.h"

struct comparing {
	struct compare_run *const *runs;
	size_t count[2];
	const struct compare_rule *rule;
	const struct compare_figure **figures; /* of the row at hand, of each run */
	struct comparisons *ret;
};

struct compare_figure *compare_add(struct compare_run *run, const char *name, const char *unit,
	double value)
{
	struct compare_figure *figure = vec_add(&run->figures);

	if (!figure)
		return NULL;
	snprintf(figure->name, sizeof(figure->name), "%s", name);
	snprintf(figure->unit, sizeof(figure->unit), "%s", unit);
	figure->value = isfinite(value) ? value : NAN;
	figure->own = NAN;
	return figure;
}

static const struct compare_figure *find(const struct compare_run *run,
	const struct compare_figure *wanted)
{
	for (size_t i = 0; i < run->figures.count; i++) {
		const struct compare_figure *figure = &run->figures.items[i];

		if (figure->use == wanted->use && !strcmp(figure->name, wanted->name) &&
			!strcmp(figure->of, wanted->of))
			return figure;
	}
	return NULL;
}

static void relate(struct comparison *item)
{
	item->change = item->before != 0  ? (item->after - item->before) / fabs(item->before)
		       : item->after == 0 ? 0
		       : item->after > 0  ? INFINITY
					  : -INFINITY;
}

/* Fills in .each and the means over the sides. 0 or -ENOMEM. */
static int gather(struct comparing *comparing, const struct compare_figure *wanted,
	struct comparison *item)
{
	double sums[2] = {};

	item->known = true;
	for (size_t i = 0; i < comparing->count[0] + comparing->count[1]; i++) {
		const struct compare_figure *figure = find(comparing->runs[i], wanted);
		double *value = vec_add(&item->each);

		if (!value)
			return -ENOMEM;
		comparing->figures[i] = figure;
		*value = figure ? figure->value : wanted->absent_is_0 ? 0 : NAN;
		sums[i >= comparing->count[0]] += *value;
		item->known &= isfinite(*value);
	}
	if (!item->known)
		return 0;
	item->before = sums[0] / (double)comparing->count[0];
	item->after = sums[1] / (double)comparing->count[1];
	relate(item);
	return 0;
}

static bool all_have(const struct comparing *comparing)
{
	for (size_t i = 0; i < comparing->count[0] + comparing->count[1]; i++)
		if (!comparing->figures[i])
			return false;
	return true;
}

/* 0 or -ENOMEM. */
static int add_row(struct comparing *comparing, const struct compare_figure *wanted)
{
	struct comparison *item = vec_add(&comparing->ret->items);
	const size_t before = comparing->count[0];
	const struct compare_side sides[2] = {
		{comparing->figures, (const struct compare_run *const *)comparing->runs, before},
		{comparing->figures + before,
			(const struct compare_run *const *)comparing->runs + before,
			comparing->count[1]},
	};

	if (!item)
		return -ENOMEM;
	snprintf(item->name, sizeof(item->name), "%s", wanted->name);
	snprintf(item->of, sizeof(item->of), "%s", wanted->of);
	snprintf(item->unit, sizeof(item->unit), "%s", wanted->unit);
	if (gather(comparing, wanted, item))
		return -ENOMEM;
	if (item->known && !*item->of && all_have(comparing))
		compare_judge(sides, comparing->rule, item);
	comparing->ret->breach |= item->breach;
	return 0;
}

static bool has_row(const struct comparisons *comparisons, const struct compare_figure *figure)
{
	for (size_t i = 0; i < comparisons->items.count; i++)
		if (!strcmp(comparisons->items.items[i].name, figure->name) &&
			!strcmp(comparisons->items.items[i].of, figure->of))
			return true;
	return false;
}

/* Rows in the order of the first run that has them; calls before their callers, as each run has them. */
static int add_rows(struct comparing *comparing, const char *name)
{
	const struct comparisons *ret = comparing->ret;
	enum compare_use not = ret->comparable ? USE_WITHOUT_STEPS : USE_WITH_STEPS;

	for (size_t i = 0; i < comparing->count[0] + comparing->count[1]; i++)
		for (size_t j = 0; j < comparing->runs[i]->figures.count; j++) {
			const struct compare_figure *figure = &comparing->runs[i]->figures.items[j];

			if (figure->use == not || has_row(ret, figure) ||
				(name ? strcmp(figure->name, name) : *figure->of))
				continue;
			if (add_row(comparing, figure))
				return -ENOMEM;
		}
	return 0;
}

static int add_all(struct comparing *comparing)
{
	static const char *const counts[] = {
		"collections", "calls", "calls.by", "stalls", "stalls.total"};
	int r = add_rows(comparing, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(counts) && !r; i++)
		r = add_rows(comparing, counts[i]);
	return r;
}

int compare(struct compare_run *const *runs, size_t before, size_t after,
	const struct compare_rule *rule, struct comparisons *ret, struct err *err)
{
	_cleanup_free_ const struct compare_figure **figures =
		calloc(before + after, sizeof(const struct compare_figure *));
	struct comparisons found = {.comparable = true,
		.runs = {before, after},
		.confidence = before == 1 && after == 1 ? 0.95 : 0.9};
	struct comparing comparing = {runs, {before, after}, rule, figures, &found};

	for (size_t i = 0; i < before + after; i++) {
		size_t *warm_up = &found.warm_up[i >= before];

		found.comparable &= !runs[i]->lacks;
		*warm_up = runs[i]->warm_up > *warm_up ? runs[i]->warm_up : *warm_up;
	}
	if (!figures || add_all(&comparing)) {
		comparisons_release(&found);
		return err_set(err, ENOMEM, "out of memory while comparing");
	}
	compare_verdict(&found, runs, rule);
	*ret = found;
	return 0;
}

void comparisons_release(struct comparisons *comparisons)
{
	if (!comparisons)
		return;
	for (size_t i = 0; i < comparisons->items.count; i++)
		vec_free(&comparisons->items.items[i].each);
	vec_free(&comparisons->items);
}
