/* --step NAME[/N] → the steps of every process that has marks of that name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edits.h"
#include "step_priv.h"

#define MAX_NAMES 256 /* compared with one that was not found */

/* How well a symbol fits what was typed; more is better. */
enum fit { FIT_NONE, FIT_PREFIX, FIT_SIGNAL, FIT_WHOLE };

static enum fit fit_one(const struct symbol *symbol, const char *typed)
{
	char name[160];
	size_t len = strlen(symbol->signal);

	if (symbol->class == CLASS_LEARNER)
		return FIT_NONE;
	symbol_name(symbol, name, sizeof(name));
	if (!strcmp(symbol->signal, typed)) /* also for marks whose labels were too many to keep */
		return FIT_SIGNAL;
	if (!strcmp(name, typed))
		return FIT_WHOLE;
	if (symbol->label && !strncmp(typed, symbol->signal, len) && typed[len] == ':' &&
		typed[len + 1] && !strncmp(name, typed, strlen(typed)))
		return FIT_PREFIX;
	return FIT_NONE;
}

static enum fit fit_of(const struct symbol *symbol, const struct step_spec *spec)
{
	enum fit plain = fit_one(symbol, spec->name), user = fit_one(symbol, spec->recorded);

	return user > plain ? user : plain;
}

struct near {
	char name[160];
	unsigned int distance;
	uint64_t marks;
};

typedef VEC(struct near) nears;

static int compare_nears(const void *a, const void *b)
{
	const struct near *one = a, *other = b;

	if (one->distance != other->distance)
		return one->distance < other->distance ? -1 : 1;
	return (one->marks < other->marks) - (one->marks > other->marks);
}

/* Adds @symbol's name unless it is already there. The list is short. */
static int add_near(nears *list, const struct symbol *symbol, const struct step_spec *spec)
{
	struct near near = {.marks = symbol->marks}, *slot;
	unsigned int plain, user;

	symbol_name(symbol, near.name, sizeof(near.name));
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, near.name)) {
			list->items[i].marks += near.marks;
			return 0;
		}
	plain = edit_distance(spec->name, near.name, sizeof(near.name));
	user = edit_distance(spec->recorded, near.name, sizeof(near.name));
	near.distance = plain < user ? plain : user;
	slot = vec_add(list);
	if (!slot)
		return -ENOMEM;
	*slot = near;
	return 0;
}

static int compare_by_marks(const void *a, const void *b, void *arg)
{
	const struct study *study = arg;
	uint64_t one = study->symbols.items[*(const uint32_t *)a].marks;
	uint64_t other = study->symbols.items[*(const uint32_t *)b].marks;

	return (one < other) - (one > other);
}

/*
 * The names of the busiest symbols that fit, those nearest to the requested one first, as a list in
 * @text.
 */
static int list_names(struct study *study, const struct step_spec *spec, enum fit least,
	size_t most, char *text, size_t size)
{
	uint32_t *order = malloc((study->symbols.count + 1) * sizeof(*order));
	nears list = {};
	size_t used = 0;
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < study->symbols.count; i++)
		order[i] = (uint32_t)i;
	if (!r)
		qsort_r(order, study->symbols.count, sizeof(*order), compare_by_marks, study);
	for (size_t i = 0; !r && i < study->symbols.count && list.count < MAX_NAMES && i < 4096;
		i++) {
		const struct symbol *symbol = &study->symbols.items[order[i]];

		if (symbol->class == CLASS_LEARNER)
			continue;
		if (least == FIT_NONE || fit_of(symbol, spec) == least)
			r = add_near(&list, symbol, spec);
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_nears);
	*text = '\0';
	for (size_t i = 0; i < list.count && i < most && used + 164 < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
			list.items[i].name);
	vec_free(&list);
	free(order);
	return r;
}

static int not_found(struct study *study, const struct step_spec *spec, struct err *err)
{
	char names[560];

	if (!study->symbols.count)
		return err_set(err, ENOENT,
			"no mark of \"%.80s\": the recording has no step marks at all", spec->name);
	if (list_names(study, spec, FIT_NONE, 6, names, sizeof(names)))
		return err_set(err, ENOMEM, "out of memory while looking for \"%.80s\"",
			spec->name);
	return err_set(err, ENOENT, "no mark of \"%.80s\" in the recording; it has %s", spec->name,
		names);
}

static int ambiguous(struct study *study, const struct step_spec *spec, struct err *err)
{
	char names[560];

	if (list_names(study, spec, FIT_PREFIX, 6, names, sizeof(names)))
		return err_set(err, ENOMEM, "out of memory while looking for \"%.80s\"",
			spec->name);
	return err_set(err, ENOENT, "\"%.80s\" may be any of %s: write one in full", spec->name,
		names);
}

/* Whether all symbols that fit as a prefix have one name. */
static bool one_name(const struct study *study, const struct step_spec *spec)
{
	char first[160] = "", name[160];

	for (size_t i = 0; i < study->symbols.count; i++) {
		if (fit_of(&study->symbols.items[i], spec) != FIT_PREFIX)
			continue;
		symbol_name(&study->symbols.items[i], name, sizeof(name));
		if (*first && strcmp(first, name))
			return false;
		memcpy(first, name, sizeof(first));
	}
	return true;
}

/* Takes every mark, or every N-th, as a step. */
static int take_every(struct study *study, const struct strand *strand, uint32_t every,
	struct choice *ret)
{
	size_t kept = 0;
	int r = anchors_collect(study, strand, &ret->at);

	for (size_t i = 0; !r && i < ret->at.count; i += every)
		ret->at.items[kept++] = ret->at.items[i];
	ret->at.count = kept;
	return r ? r : 1;
}

/* Takes the marks of the learner that has most of them. */
static int take_most(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r = anchors_collect(study, strand, &ret->at);

	if (!r)
		r = turns_keep_most(study, strand, &ret->at);
	if (!r)
		note_add(ret->note, sizeof(ret->note),
			"they take no turns: each mark was taken for a step");
	return r < 0 ? r : 1;
}

static int take_pattern(struct study *study, const struct strand *strand, enum step_class class,
	size_t symbols, struct choice *ret)
{
	int r = symbols > 1 ? choose_sequence(study, strand, NULL, ret) : 0;

	ret->class = class;
	ret->prior = class_prior(class); /* how many make a step is inferred, as without a name */
	if (r)
		return r;
	ret->prior = 1;
	ret->regular = symbols > 1 ? 0.5 : 1;
	if (symbols > 1)
		note_add(ret->note, sizeof(ret->note),
			"no regular pattern: each mark was taken for a step");
	return take_every(study, strand, 1, ret);
}

/* The steps of one strand by its anchors, all of one signal. 1, 0 or -ENOMEM. */
static int choose_named(struct study *study, const struct strand *strand,
	const struct step_spec *spec, enum fit fit, enum step_class class, size_t symbols,
	struct choice *ret)
{
	int r;

	if (spec->most)
		r = take_most(study, strand, ret);
	else if (spec->every || class == CLASS_REQUEST)
		r = take_every(study, strand, spec->every ? spec->every : 1, ret);
	else if (class == CLASS_UPDATE)
		r = steps_of_updates(study, strand, ret);
	else if (class == CLASS_BACKWARD)
		r = steps_of_backwards(study, strand, ret);
	else if (class == CLASS_USER)
		r = steps_of_user(study, strand, ret);
	else if (class == CLASS_EXECUTE && fit == FIT_SIGNAL && symbols > 1)
		r = choose_execute(study, strand, ret);
	else if (class == CLASS_JIT && fit == FIT_SIGNAL && symbols > 1)
		r = choose_jit(study, strand, ret);
	else
		return take_pattern(study, strand, class, symbols, ret);
	ret->class = class;
	ret->prior = 1;
	return r;
}

/* Makes the symbols of @strand that fit that well its anchors. Returns how many. */
static size_t anchors_named(struct study *study, const struct strand *strand,
	const struct step_spec *spec, enum fit fit, struct symbol **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		symbol->anchor = symbol->used && fit_of(symbol, spec) == fit;
		if (symbol->anchor && !count++)
			*ret = symbol;
	}
	return count;
}

static int choose_strand(struct study *study, const struct strand *strand,
	const struct step_spec *spec, enum fit fit, choices *list)
{
	struct choice choice = {.strand = strand, .regular = -1}, *slot;
	struct symbol *first = NULL;
	size_t symbols = anchors_named(study, strand, spec, fit, &first);
	int r;

	if (!symbols)
		return 0;
	r = choose_named(study, strand, spec, fit, first->class, symbols, &choice);
	if (spec->every || spec->most || fit != FIT_SIGNAL || !*choice.signal) {
		struct symbol whole = *first;

		if (fit == FIT_SIGNAL && symbols > 1) {
			whole.label = NULL;
			whole.number = UNKNOWN;
		}
		symbol_name(&whole, choice.signal, sizeof(choice.signal));
	}
	if (first->thinned)
		note_add(choice.note, sizeof(choice.note),
			"several calls in a row share one mark: there one step stands for several");
	if (first->let_go_ns)
		note_add(choice.note, sizeof(choice.note),
			"it fired too often and was let go before the end: the steps stop there");
	slot = r > 0 && choice.at.count ? vec_add(list) : NULL;
	if (slot)
		*slot = choice;
	else
		choice_release(&choice);
	return r < 0 ? r : r && choice.at.count && !slot ? -ENOMEM : 0;
}

int steps_named(struct study *study, const struct step_spec *spec, struct steps *ret,
	struct err *err)
{
	enum fit fit = FIT_NONE;
	choices list = {};
	int r = 0;

	for (size_t i = 0; i < study->symbols.count; i++) {
		enum fit its = fit_of(&study->symbols.items[i], spec);

		fit = its > fit ? its : fit;
	}
	if (fit == FIT_NONE)
		return not_found(study, spec, err);
	if (fit == FIT_PREFIX && !one_name(study, spec))
		return ambiguous(study, spec, err);
	for (size_t i = 0; !r && i < study->strands.count; i++)
		r = choose_strand(study, &study->strands.items[i], spec, fit, &list);
	if (!r)
		r = tracks_add(study, &list, ret);
	choices_release(&list);
	return r ? err_set(err, ENOMEM, "out of memory while finding steps") : 0;
}
