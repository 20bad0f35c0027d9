/* Sequences of calls that no framework names a step → steps by their period, never by time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

#define LONGEST	      4096 /* calls a step */
#define MAX_STRETCHES 24   /* examined for the same period */

struct sequence {
	const struct strand *strand;
	indices at, symbols;  /* events of the anchors, and what they are */
	indices begins;	      /* positions in both at which steps begin */
	struct period period; /* of the first stretch that had one */
	struct gram gram;
};

static int push(indices *list, size_t value)
{
	uint32_t *slot = vec_add(list);

	if (!slot)
		return -ENOMEM;
	*slot = (uint32_t)value;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static int read_sequence(const struct study *study, const struct strand *strand,
	struct sequence *ret)
{
	int r = anchors_collect(study, strand, &ret->at);

	ret->strand = strand;
	for (size_t i = 0; !r && i < ret->at.count; i++)
		r = push(&ret->symbols, strand->events[ret->at.items[i]].symbol);
	return r;
}

/* Where steps of @period begin between @from and @to: at its gram, or else at every period-th call. */
static int find_begins(struct sequence *sequence, size_t from, size_t to,
	const struct period *period, const struct gram *gram, indices *ret)
{
	const uint32_t *symbols = sequence->symbols.items + from;
	size_t count = to - from;
	int r = 0;

	for (size_t i = 0; !r && i < count; i += gram->length ? 1 : period->length)
		if (!gram->length || gram_at(gram, symbols, count, i))
			r = push(ret, from + i);
	return r;
}

/*
 * A begin in the middle of a stretch whose step is as long as the next one; SIZE_MAX if there is
 * none.
 */
static size_t find_model(const indices *begins, uint32_t period)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i + 2 < begins->count; i++) {
		const uint32_t *begin = &begins->items[i];

		if (begin[1] - begin[0] != period || begin[2] - begin[1] != period)
			continue;
		found = begin[0];
		if (i >= begins->count / 2)
			break;
	}
	return found;
}

/* How many symbols two sorted rows of @count have in common. */
static size_t common(const uint32_t *one, const uint32_t *other, size_t count)
{
	size_t same = 0;

	for (size_t i = 0, j = 0; i < count && j < count;)
		if (one[i] == other[j]) {
			same++;
			i++;
			j++;
		} else if (one[i] < other[j]) {
			i++;
		} else {
			j++;
		}
	return same;
}

/*
 * Whether the @count symbols at @one and at @other, of steps of @period, are about the same,
 * possibly in another order.
 */
static bool alike(const uint32_t *one, const uint32_t *other, size_t count, uint32_t period)
{
	uint32_t rows[2][LONGEST];
	size_t same = 0;

	if (count * 2 < period || count > LONGEST)
		return false;
	for (size_t i = 0; i < count; i++)
		same += one[i] == other[i];
	if (same * 10 >= count * 8)
		return true;
	memcpy(rows[0], one, count * sizeof(*one));
	memcpy(rows[1], other, count * sizeof(*other));
	qsort(rows[0], count, sizeof(*one), ascending);
	qsort(rows[1], count, sizeof(*other), ascending);
	return common(rows[0], rows[1], count) * 10 >= count * 8;
}

/*
 * Drops what begins like a step but is part of a warm-up or an evaluation. A step has the calls
 * that steps usually have, or follows one that has them.
 */
static void drop_others(const struct sequence *sequence, size_t from, size_t to, uint32_t period,
	indices *begins)
{
	const uint32_t *symbols = sequence->symbols.items;
	size_t model = find_model(begins, period), kept = 0;

	for (size_t i = 0; i < begins->count && model != SIZE_MAX; i++) {
		size_t begin = begins->items[i];
		size_t ahead = to - begin < period ? to - begin : period;
		size_t behind = begin - from < period ? begin - from : period;

		if (alike(symbols + begin, symbols + model, ahead, period) ||
			alike(symbols + begin - behind, symbols + model + period - behind, behind,
				period))
			begins->items[kept++] = (uint32_t)begin;
	}
	if (model != SIZE_MAX)
		begins->count = kept;
}

/*
 * One stretch of the calls: if it has the period, takes its steps, and puts the parts that they
 * leave uncovered on the list. Other shapes with the same period are the same loop with another
 * batch; another period is something else, such as an evaluation.
 */
static int take_stretch(struct sequence *sequence, size_t from, size_t to, const uint32_t *weight,
	indices *todo)
{
	uint32_t known = sequence->period.length;
	const uint32_t *symbols = sequence->symbols.items + from;
	struct period period =
		period_find(symbols, to - from, known ? known + known / 8 + 1 : LONGEST);
	struct gram gram = {};
	indices begins = {};
	size_t last = from;
	int r;

	if (!period.length || (known && period.length != known))
		return 0;
	r = gram_find(symbols, to - from, &period, weight ? weight + from : NULL, &gram);
	if (r >= 0)
		r = find_begins(sequence, from, to, &period, &gram, &begins);
	drop_others(sequence, from, to, period.length, &begins);
	if (!known) {
		sequence->period = period;
		sequence->gram = gram;
	}
	for (size_t i = 0; !r && i < begins.count; i++) {
		size_t begin = begins.items[i];

		if (begin > last && begin - last > 8ull * period.length) {
			r = push(todo, i ? last + period.length : last);
			r = r ? r : push(todo, begin);
		}
		r = r ? r : push(&sequence->begins, begin);
		last = begin;
	}
	if (!r && begins.count && to - last > 8ull * period.length) {
		r = push(todo, last + period.length);
		r = r ? r : push(todo, to);
	}
	vec_free(&begins);
	return r;
}

static int take_all(struct sequence *sequence, const uint32_t *weight)
{
	indices todo = {};
	int r = push(&todo, 0);

	r = r ? r : push(&todo, sequence->symbols.count);
	for (size_t i = 0; !r && i + 1 < todo.count && i < 2 * MAX_STRETCHES; i += 2)
		r = take_stretch(sequence, todo.items[i], todo.items[i + 1], weight, &todo);
	vec_free(&todo);
	if (sequence->begins.count)
		qsort(sequence->begins.items, sequence->begins.count,
			sizeof(*sequence->begins.items), ascending);
	return r;
}

/* Share of the steps that have as many calls as a period. */
static double share_regular(const struct sequence *sequence)
{
	uint32_t period = sequence->period.length;
	size_t regular = 0, count = sequence->begins.count;

	for (size_t i = 0; i < count; i++) {
		size_t end =
			i + 1 < count ? sequence->begins.items[i + 1] : sequence->symbols.count;

		regular += (end - sequence->begins.items[i]) * 10 <= period * 11ull;
	}
	return count ? (double)regular / (double)count : 0;
}

static void name_sequence(const struct study *study, const struct sequence *sequence,
	struct choice *ret)
{
	const struct symbol *first =
		&study->symbols.items[sequence->symbols.items[sequence->begins.items[0]]];
	struct symbol whole = *first;
	bool several = false;

	for (size_t i = 0; i < sequence->strand->symbol_count && !several; i++) {
		const struct symbol *symbol = &study->symbols.items[sequence->strand->symbols[i]];

		several = symbol->anchor && strcmp(symbol->signal, first->signal) != 0;
	}
	whole.label = NULL;
	whole.number = UNKNOWN;
	/*
	 * With several signals, the one that begins a step names it; with one, all its calls make
	 * up the pattern.
	 */
	symbol_name(several ? first : &whole, ret->signal, sizeof(ret->signal));
	if (sequence->period.length > 1)
		note_add(ret->note, sizeof(ret->note),
			"%u calls make a step, by the pattern of their %s", sequence->period.length,
			first->class == CLASS_JIT     ? "names"
			: first->class == CLASS_GRAPH ? "handles"
			: first->class == CLASS_SYNC  ? "kinds"
						      : "shapes");
}

/* Products of matrices alone: a step makes some, and so does a loop within one, which may go round without a break. */
static void note_loops(const struct study *study, const struct sequence *sequence,
	struct choice *ret)
{
	const struct symbol *first = &study->symbols.items[sequence->symbols.items[0]];

	if (first->class == CLASS_CALL)
		note_add(ret->note, sizeof(ret->note),
			"a loop within a step may make the same calls: if N of these are one step, say --step %.100s/M, M being %u N",
			ret->signal, sequence->period.length);
}

int choose_sequence(struct study *study, const struct strand *strand, const uint32_t *weight,
	struct choice *ret)
{
	struct sequence sequence = {};
	int r = read_sequence(study, strand, &sequence);

	if (!r && sequence.symbols.count >= 6)
		r = take_all(&sequence, weight);
	if (!r && sequence.period.length) {
		ret->regular = share_regular(&sequence) * sequence.period.match;
		ret->regular *= sequence.gram.length ? 1 : 0.8;
	}
	/* One call again and again: how many of them make a step is unknowable. */
	if (!r && sequence.period.length > 1 && sequence.begins.count >= 3) {
		name_sequence(study, &sequence, ret);
		note_loops(study, &sequence, ret);
		for (size_t i = 0; !r && i < sequence.begins.count; i++)
			r = push(&ret->at, sequence.at.items[sequence.begins.items[i]]);
		r = r ? r : 1;
	}
	vec_free(&sequence.at);
	vec_free(&sequence.symbols);
	vec_free(&sequence.begins);
	return r;
}

int choose_class(struct study *study, const struct strand *strand, enum step_class class,
	struct choice *ret)
{
	uint64_t marks = anchors_set(study, strand, CLASS_BIT(class));

	ret->class = class;
	ret->prior = class_prior(class);
	return marks < 6 ? 0 : choose_sequence(study, strand, NULL, ret);
}

/* Makes each mark of the anchors, which are @only, a step. 1 or -ENOMEM. */
static int take_each(struct study *study, const struct strand *strand, const struct symbol *only,
	struct choice *ret)
{
	struct symbol whole = *only;
	int r = anchors_collect(study, strand, &ret->at);

	whole.number =
		whole.class == CLASS_GRAPH ? UNKNOWN : whole.number; /* another in each run */
	symbol_name(&whole, ret->signal, sizeof(ret->signal));
	ret->regular = 1;
	return r ? r : 1;
}

/*
 * One collective per step, as of a model whose gradients fit into one bucket, marks steps; but that
 * is not certain.
 */
int choose_single(struct study *study, const struct strand *strand, struct choice *ret)
{
	const struct symbol *only = NULL;
	int r;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (!symbol->anchor)
			continue;
		if (only)
			return 0;
		only = symbol;
	}
	if (!only || only->marks < 3)
		return 0;
	r = take_each(study, strand, only, ret);
	ret->prior *= 0.8;
	note_add(ret->note, sizeof(ret->note),
		"all its marks are alike, so that each was taken for a step: if N make one, say "
		"--step %.80s/N",
		ret->signal);
	return r;
}

/* The range whose name says most clearly that it is a step, as of NVTX; NULL: none does. */
static struct symbol *find_step_range(struct study *study, const struct strand *strand)
{
	struct symbol *best = NULL;
	int score = 0;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (symbol->class != CLASS_RECORD || !may_anchor(symbol) || symbol->marks < 3 ||
			function_score(symbol->label) <= score)
			continue;
		score = function_score(symbol->label);
		best = symbol;
	}
	return best;
}

int choose_record(struct study *study, const struct strand *strand, struct choice *ret)
{
	struct symbol *range = find_step_range(study, strand);
	int r;

	if (range) {
		ret->class = CLASS_RECORD;
		ret->prior = class_prior(CLASS_JIT); /* likewise known by a name that people gave */
		anchors_clear(study, strand);
		range->anchor = true;
		return take_each(study, strand, range, ret);
	}
	r = choose_class(study, strand, CLASS_RECORD, ret);
	return r ? r : choose_single(study, strand, ret);
}

int choose_collective(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r = choose_class(study, strand, CLASS_COLLECTIVE, ret);

	return r ? r : choose_single(study, strand, ret);
}

int choose_call(struct study *study, const struct strand *strand, struct choice *ret)
{
	return choose_class(study, strand, CLASS_CALL, ret);
}
