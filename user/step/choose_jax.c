/* JAX: which compiled program, or which jitted function, is the training step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

#define NO_LABEL   UINT32_MAX
#define MAX_INPUTS 1000000000 /* anything above is nonsense */
#define OFTEN	   8	      /* called so many times as often: the other is not the step */
#define FEW_INPUTS 4
#define BINS	   16 /* of the training, in which a step's program must turn up */

#define ROUNDS_LEAST  5
#define ROUND_LONGEST 64   /* runs of one program around which another one comes */
#define CONFIDENCE    0.65 /* no claim is made */

/*
 * A program, distinguished by its inputs and, where two have the same number, by the function that
 * runs it.
 */
struct unit {
	uint32_t program; /* symbol */
	uint32_t label;	  /* symbol of the function, or NO_LABEL */
	bool any_label;	  /* all marks of the program are of it */
	uint64_t marks;
	size_t bins;
	uint32_t last_bin;
};

/* One run of a program. */
struct run_of {
	uint32_t at; /* event */
	uint32_t program, label;
};

struct programs {
	VEC(struct run_of) runs;
	VEC(struct unit) units;
};

static const struct symbol *symbol_at(const struct study *study, const struct strand *strand,
	size_t i)
{
	return &study->symbols.items[strand->events[i].symbol];
}

/* Each run with the last function called before it, if no other program ran in between. */
static int read_runs(const struct study *study, const struct strand *strand, struct programs *ret)
{
	uint32_t label = NO_LABEL;

	for (size_t i = 0; i < strand->count; i++) {
		enum step_class class = symbol_at(study, strand, i)->class;
		struct run_of *run;

		if (class == CLASS_JIT)
			label = strand->events[i].symbol;
		if (class != CLASS_EXECUTE)
			continue;
		run = vec_add(&ret->runs);
		if (!run)
			return -ENOMEM;
		*run = (struct run_of){(uint32_t)i, strand->events[i].symbol, label};
		label = NO_LABEL;
	}
	return 0;
}

/* Counts runs by program and function. */
static int count_units(struct programs *programs)
{
	struct u64map index = {};
	int r = 0;

	for (size_t i = 0; !r && i < programs->runs.count; i++) {
		const struct run_of *run = &programs->runs.items[i];
		uint64_t key = (uint64_t)run->program << 32 | run->label;
		const uint64_t *found = u64map_get(&index, key);
		struct unit *unit;

		if (found) {
			programs->units.items[*found].marks++;
			continue;
		}
		r = u64map_put(&index, key, programs->units.count);
		unit = r ? NULL : vec_add(&programs->units);
		if (unit)
			*unit = (struct unit){
				.program = run->program, .label = run->label, .marks = 1};
		else
			r = -ENOMEM;
	}
	u64map_release(&index);
	return r;
}

static int compare_units(const void *a, const void *b)
{
	const struct unit *one = a, *other = b;

	if (one->program != other->program)
		return one->program < other->program ? -1 : 1;
	if (one->marks != other->marks)
		return one->marks > other->marks ? -1 : 1;
	return (one->label > other->label) - (one->label < other->label);
}

/*
 * Joins the functions of one program unless several of them run it often: the first call of a
 * function, and what it traces, are recorded under other names.
 */
static void join_units(const struct study *study, struct programs *programs)
{
	size_t kept = 0;

	if (programs->units.count)
		qsort(programs->units.items, programs->units.count, sizeof(*programs->units.items),
			compare_units);
	for (size_t i = 0; i < programs->units.count;) {
		uint32_t program = programs->units.items[i].program;
		uint64_t marks = study->symbols.items[program].marks;
		size_t often = 0, next = i;

		for (; next < programs->units.count &&
			programs->units.items[next].program == program;
			next++)
			often += programs->units.items[next].marks * 10 >= marks &&
				 programs->units.items[next].marks >= 3;
		if (often < 2) {
			struct unit whole = programs->units.items[i];

			if (whole.marks * 2 < marks)
				whole.label = NO_LABEL;
			whole.marks = marks;
			whole.any_label = true;
			programs->units.items[kept++] = whole;
		} else {
			for (size_t j = i; j < i + often; j++)
				programs->units.items[kept++] = programs->units.items[j];
		}
		i = next;
	}
	programs->units.count = kept;
}

static bool runs_unit(const struct run_of *run, const struct unit *unit)
{
	return run->program == unit->program && (unit->any_label || run->label == unit->label);
}

static int64_t inputs_of(const struct study *study, uint32_t program)
{
	int64_t number = study->symbols.items[program].number;

	return number < 0 ? 0 : number < MAX_INPUTS ? number : MAX_INPUTS;
}

static int64_t inputs(const struct study *study, const struct unit *unit)
{
	return inputs_of(study, unit->program);
}

static int name_score(const struct study *study, const struct unit *unit)
{
	return unit->label == NO_LABEL ? 0
				       : function_score(study->symbols.items[unit->label].label);
}

/* For each unit, in how many of BINS equal parts of the runs of @pace it runs. */
static int spread_units(struct programs *programs, const struct unit *pace)
{
	struct u64map index = {};
	uint64_t passed = 0;
	int r = 0;

	for (size_t i = 0; !r && i < programs->units.count; i++) {
		struct unit *unit = &programs->units.items[i];

		unit->bins = 0;
		unit->last_bin = UINT32_MAX;
		r = u64map_put(&index,
			(uint64_t)unit->program << 32 | (unit->any_label ? NO_LABEL : unit->label),
			i);
	}
	for (size_t i = 0; !r && i < programs->runs.count; i++) {
		const struct run_of *run = &programs->runs.items[i];
		const uint64_t *found = u64map_get(&index, (uint64_t)run->program << 32 | NO_LABEL);
		uint32_t bin = (uint32_t)(passed * BINS / (pace->marks + 1));
		struct unit *unit;

		passed += runs_unit(run, pace);
		if (!found)
			found = u64map_get(&index, (uint64_t)run->program << 32 | run->label);
		if (!found)
			continue;
		unit = &programs->units.items[*found];
		unit->bins += unit->last_bin != bin;
		unit->last_bin = bin;
	}
	u64map_release(&index);
	return r;
}

/* The busiest of those with at least @least inputs. */
static const struct unit *busiest(const struct study *study, const struct programs *programs,
	double least)
{
	const struct unit *best = NULL;

	for (size_t i = 0; i < programs->units.count; i++) {
		const struct unit *unit = &programs->units.items[i];

		if (unit->marks >= 3 && (double)inputs(study, unit) >= least &&
			(!best || unit->marks > best->marks))
			best = unit;
	}
	return best;
}

/* Throughout the training, and not just now and then. */
static bool recurs(const struct unit *unit, const struct unit *pace)
{
	size_t bins = unit->marks < BINS ? unit->marks : BINS;

	if (pace->marks < BINS)
		bins = pace->marks < bins ? pace->marks : bins;
	return unit->marks >= 3 && unit->bins * 2 >= bins && unit->marks * 65 >= pace->marks;
}

/*
 * Whether @one is called only now and then compared with @other, like an average of the weights or
 * a summary. An update of gradients accumulated over that many calls would have a name that says
 * so.
 */
static bool is_rare_beside(const struct study *study, const struct unit *one,
	const struct unit *other)
{
	return one->marks * OFTEN < other->marks &&
	       (name_score(study, one) < 2 || name_score(study, one) <= name_score(study, other));
}

/*
 * Of two programs that both recur, whether @one is more likely the step: the one with more inputs,
 * because the step takes parameters, optimizer state and batch. If they have about as many, the one
 * whose name says so, then the busier one.
 */
static bool better(const struct study *study, const struct unit *one, const struct unit *other)
{
	double its = (double)inputs(study, one), others = (double)inputs(study, other);
	int score = name_score(study, one), other_score = name_score(study, other);

	if ((score <= -2) != (other_score <= -2)) /* a name of something else */
		return score > other_score;
	if (is_rare_beside(study, one, other) || is_rare_beside(study, other, one))
		return one->marks > other->marks;
	if (its < 0.75 * others || others < 0.75 * its)
		return its > others;
	if (score != other_score)
		return score > other_score;
	if (one->marks * 2 < other->marks || other->marks * 2 < one->marks)
		return one->marks > other->marks;
	return its != others ? its > others : one->marks > other->marks;
}

/* The unit that is the step. 1, 0: none recurs, -ENOMEM. */
static int pick_unit(const struct study *study, struct programs *programs, struct unit *ret)
{
	const struct unit *best = NULL;
	int64_t most = 0;

	for (size_t i = 0; i < programs->units.count; i++)
		if (programs->units.items[i].marks >= 3 &&
			inputs(study, &programs->units.items[i]) > most)
			most = inputs(study, &programs->units.items[i]);
	/*
	 * A program of unusual size from the warm-up does not recur: look again among the smaller
	 * ones.
	 */
	while (!best && most > 0) {
		const struct unit *pace = busiest(study, programs, (double)most / 2);
		int64_t next = 0;

		if (!pace || spread_units(programs, pace))
			return pace ? -ENOMEM : 0;
		for (size_t i = 0; i < programs->units.count; i++) {
			const struct unit *unit = &programs->units.items[i];
			int64_t its = inputs(study, unit);

			if (its * 2 >= most && its <= most && recurs(unit, pace)) {
				if (!best || better(study, unit, best))
					best = unit;
			} else if (its < most && its > next && unit->marks >= 3) {
				next = its;
			}
		}
		most = next;
	}
	if (best)
		*ret = *best;
	return best != NULL;
}

/*
 * Collects the runs of the step's program, and of others of about its size by the same function,
 * compiled for another shape. A step begins where the function was called, if that is known.
 */
static int collect_runs(const struct study *study, const struct strand *strand,
	const struct programs *programs, const struct unit *step, indices *at)
{
	size_t call = SIZE_MAX, i = 0;

	for (size_t run = 0; run < programs->runs.count; run++) {
		const struct run_of *its = &programs->runs.items[run];
		int64_t number = inputs_of(study, its->program);
		uint32_t *slot;

		for (; i < its->at; i++)
			if (strand->events[i].symbol == step->label)
				call = i;
		if (!runs_unit(its, step) &&
			(step->label == NO_LABEL || its->label != step->label ||
				number * 2 < inputs(study, step)))
			continue;
		slot = vec_add(at);
		if (!slot)
			return -ENOMEM;
		*slot = call == SIZE_MAX ? its->at : (uint32_t)call;
		call = SIZE_MAX;
	}
	return 0;
}

/*
 * The calls of the step's function, if they match its runs one to one: the first call, and the
 * first after a change of shape, run the program in a way that is not seen.
 */
static bool calls_match(const struct study *study, const struct unit *step, size_t ran)
{
	uint64_t calls;

	if (step->label == NO_LABEL)
		return false;
	calls = study->symbols.items[step->label].marks;
	return calls * 100 >= (uint64_t)ran * 99 && calls * 50 <= (uint64_t)ran * 51 + 150;
}

static int take_unit(struct study *study, const struct strand *strand,
	const struct programs *programs, const struct unit *step, struct choice *ret)
{
	int r = collect_runs(study, strand, programs, step, &ret->at);
	const struct symbol *program = &study->symbols.items[step->program];

	if (r)
		return r;
	anchors_clear(study, strand);
	study->symbols.items[step->program].anchor = true;
	symbol_name(program, ret->signal, sizeof(ret->signal));
	if (calls_match(study, step, ret->at.count)) {
		study->symbols.items[step->program].anchor = false;
		study->symbols.items[step->label].anchor = true;
		symbol_name(&study->symbols.items[step->label], ret->signal, sizeof(ret->signal));
		note_add(ret->note, sizeof(ret->note),
			"the function runs the program with the most inputs that recurs "
			"(jax:execute:%lld)",
			(long long)program->number);
		r = anchors_collect(study, strand, &ret->at);
	}
	ret->class = CLASS_EXECUTE;
	ret->prior = class_prior(CLASS_EXECUTE);
	return r ? r : 1;
}

/*
 * With so few inputs it may be any operation: only a pattern of all of them, if there is one, shows
 * the step.
 */
static int take_operations(struct study *study, const struct strand *strand,
	const struct programs *programs, const struct unit *step, struct choice *ret)
{
	int r;

	anchors_set(study, strand, CLASS_BIT(CLASS_EXECUTE) | CLASS_BIT(CLASS_JIT));
	r = choose_sequence(study, strand, NULL, ret);
	ret->class = CLASS_EXECUTE;
	ret->prior = class_prior(CLASS_CALL);
	if (!r) {
		r = take_unit(study, strand, programs, step, ret);
		ret->prior = class_prior(CLASS_CALL);
	}
	return r;
}

/* After how many runs of @step comes one of @other, always about; 0: in no such rhythm, or in rows, as in an evaluation. */
static uint32_t find_rhythm(const struct programs *programs, const struct unit *step,
	const struct unit *other)
{
	uint32_t tally[ROUND_LONGEST + 1] = {}, best = 0, between = 0, distances = 0;

	for (size_t i = 0; i < programs->runs.count; i++) {
		const struct run_of *run = &programs->runs.items[i];

		if (runs_unit(run, other)) {
			tally[between > ROUND_LONGEST ? 0 : between]++;
			distances++;
			between = 0;
		} else {
			between += runs_unit(run, step);
		}
	}
	for (uint32_t i = 0; i <= ROUND_LONGEST; i++)
		best = tally[i] > tally[best] ? i : best;
	return best > 1 && distances >= ROUNDS_LEAST && tally[best] * 10 >= distances * 9 ? best
											  : 0;
}

/*
 * Another program of about its size that takes turns with the step's, of which one comes after every so many runs of the
 * other, as an outer update comes after inner ones: either may be what the user calls a step, unless a name says so.
 */
static void judge_rhythm(const struct study *study, const struct programs *programs,
	const struct unit *step, struct choice *ret)
{
	for (size_t i = 0; i < programs->units.count; i++) {
		const struct unit *other = &programs->units.items[i];
		bool merged = other->label != NO_LABEL && other->label == step->label;
		uint32_t outer, inner;
		char part[16];

		if (other->program == step->program || name_score(study, other) <= -2 ||
			inputs(study, other) * 2 < inputs(study, step))
			continue;
		outer = find_rhythm(programs, step, other);
		inner = outer ? 0 : find_rhythm(programs, other, step);
		if (!outer && !inner)
			continue;
		if (name_score(study, step) <= name_score(study, other))
			ret->prior = CONFIDENCE;
		if (inner && !merged) { /* the level within has a function of its own */
			note_add(ret->note, sizeof(ret->note),
				"before each of them another program of about its size runs %u times, which may be a step as well",
				inner);
			continue;
		}
		snprintf(part, sizeof(part), "%u", outer + inner + merged);
		levels_add(&ret->levels, ret->signal, part,
			ret->at.count / (outer + inner + merged));
		note_add(ret->note, sizeof(ret->note),
			"after every %s of them comes another program of about its size: if these are one step, say --step %.100s/%s (%zu steps)",
			part, ret->signal, part, ret->at.count / (outer + inner + merged));
	}
}

int choose_execute(struct study *study, const struct strand *strand, struct choice *ret)
{
	struct programs programs = {};
	struct unit step = {};
	int r = read_runs(study, strand, &programs);

	if (!r)
		r = count_units(&programs);
	if (!r) {
		join_units(study, &programs);
		r = pick_unit(study, &programs, &step);
	}
	if (r > 0 && inputs(study, &step) <= FEW_INPUTS && name_score(study, &step) <= 0)
		r = take_operations(study, strand, &programs, &step, ret);
	else if (r > 0)
		r = take_unit(study, strand, &programs, &step, ret);
	if (r > 0 && step.marks)
		judge_rhythm(study, &programs, &step, ret);
	vec_free(&programs.runs);
	vec_free(&programs.units);
	return r;
}

/* The function whose name says so and that is called most. */
static bool anchor_by_name(struct study *study, const struct strand *strand)
{
	struct symbol *best = NULL;
	uint64_t busiest_marks = 0;

	for (size_t i = 0; i < strand->symbol_count; i++) {
		struct symbol *symbol = &study->symbols.items[strand->symbols[i]];

		if (!symbol->used || symbol->class != CLASS_JIT || !symbol->label ||
			symbol->marks < 3)
			continue;
		busiest_marks = busiest_marks ? busiest_marks : symbol->marks;
		if (function_score(symbol->label) > (best ? function_score(best->label) : 0) &&
			symbol->marks * 65 >= busiest_marks)
			best = symbol;
	}
	anchors_clear(study, strand);
	if (best)
		best->anchor = true;
	return best != NULL;
}

/* Without programs: the names of the functions, else the pattern of their calls. */
int choose_jit(struct study *study, const struct strand *strand, struct choice *ret)
{
	int r;

	if (anchor_by_name(study, strand)) {
		const struct strand_event *first;

		r = anchors_collect(study, strand, &ret->at);
		if (r)
			return r;
		first = &strand->events[ret->at.items[0]];
		symbol_name(&study->symbols.items[first->symbol], ret->signal, sizeof(ret->signal));
		r = 1;
	} else if (anchors_set(study, strand, CLASS_BIT(CLASS_JIT)) >= 3) {
		ret->prior = class_prior(CLASS_CALL); /* no name says which is a step */
		r = choose_sequence(study, strand, NULL, ret);
		r = r ? r : choose_single(study, strand, ret);
		ret->class = CLASS_JIT;
		return r;
	} else {
		r = 0;
	}
	ret->class = CLASS_JIT;
	ret->prior = class_prior(CLASS_JIT);
	return r;
}
