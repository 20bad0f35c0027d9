/*
 * Intervals that contain more than a step: an evaluation, a warm-up, a compilation. In: where steps
 * begin. Out: where those end that are followed by something else.
 */
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"
#include "surplus.h"

/* A signal that is too hot is let go, and tried again 10, 20, 40 … s later. */
#define LET_GO_NS 9900000000ull
#define HOT_NS	  4000000000ull /* before which it had at least … */
#define HOT_MARKS 8000		/* … so many marks in this thread */

#define REACH	   16 /* intervals on either side that define what is usual */
#define EXTRA	   3  /* calls beyond the usual, at least */
#define MANY	   10 /* and more than MANY_TIMES the usual: certainly where the time went */
#define MANY_TIMES 5

static uint64_t start_of(const struct choice *choice, size_t i)
{
	return choice->strand->events[choice->at.items[i]].time_ns;
}

/* The median duration of the whole intervals around @i. */
uint64_t surplus_typical(const struct choice *choice, size_t i)
{
	uint64_t durations[2 * REACH + 1];
	size_t count = 0, last = choice->at.count - 1;
	size_t from = i > REACH ? i - REACH : 0, to = i + REACH;

	/* As many as possible, at the ends too. */
	if (to >= last)
		from = last > 2 * REACH ? last - 2 * REACH : 0;
	for (size_t j = from; j < last && count < 2 * REACH + 1; j++)
		durations[count++] = start_of(choice, j + 1) - start_of(choice, j);
	return median_of(durations, count);
}

/* The usual count of each column around @i, not counting @i itself. */
static void usual_counts(const struct kinds *kinds, size_t i, size_t count, uint32_t *ret)
{
	size_t from = i > REACH / 2 ? i - REACH / 2 : 0;
	size_t to = i + REACH / 2 + 1 < count ? i + REACH / 2 + 1 : count;

	for (uint32_t column = 0; column < kinds->columns; column++) {
		uint64_t values[REACH + 1];
		size_t n = 0;

		for (size_t j = from; j < to; j++)
			if (j != i)
				values[n++] = kinds_counts(kinds, kinds->of.items[j])[column];
		ret[column] = (uint32_t)median_of(values, n);
	}
}

/*
 * The columns in which interval @i has far more than usual, as bits. *ret_many: so many more that
 * this alone decides.
 */
static uint32_t surplus_columns(const struct kinds *kinds, size_t i, size_t count, bool *ret_many)
{
	const uint16_t *counts = kinds_counts(kinds, kinds->of.items[i]);
	uint32_t usual[MAX_COLUMNS], columns = 0;

	*ret_many = false;
	usual_counts(kinds, i, count, usual);
	for (uint32_t column = 0; column < kinds->columns; column++) {
		uint32_t extra =
			counts[column] > usual[column] ? counts[column] - usual[column] : 0;

		if (extra < EXTRA || extra * 2 < usual[column])
			continue;
		columns |= 1u << column;
		*ret_many |= extra >= MANY && counts[column] >= MANY_TIMES * usual[column];
	}
	return columns;
}

/* The longest time in interval @i without a call of @columns. */
static uint64_t longest_gap(const struct study *study, const struct choice *choice, size_t i,
	uint32_t columns)
{
	const struct strand_event *events = choice->strand->events;
	uint64_t last = start_of(choice, i), longest = 0;

	for (size_t j = choice->at.items[i]; j <= choice->at.items[i + 1]; j++) {
		uint8_t column = study->column[events[j].symbol];

		if (j < choice->at.items[i + 1] && !(column && columns & 1u << (column - 1)))
			continue;
		if (events[j].time_ns - last > longest)
			longest = events[j].time_ns - last;
		last = events[j].time_ns;
	}
	return longest;
}

bool surplus_let_go(const struct study *study, const struct strand *strand, const indices *at,
	size_t i)
{
	const struct strand_event *events = strand->events;
	size_t from = at->items[i], to = i + 1 < at->count ? at->items[i + 1] : strand->count;
	const char *signal = study->symbols.items[events[from].symbol].signal;
	size_t last = from, marks = 0;
	uint64_t until;

	/* The last mark of the signal, of any label, before the time without one. */
	for (size_t j = from + 1; j < to; j++) {
		if (events[j].time_ns - events[last].time_ns >= LET_GO_NS)
			break;
		if (!strcmp(study->symbols.items[events[j].symbol].signal, signal))
			last = j;
	}
	until = to < strand->count ? events[to].time_ns : events[strand->count - 1].time_ns;
	if (until - events[last].time_ns < LET_GO_NS)
		return false;
	for (size_t j = last + 1; j-- && events[last].time_ns - events[j].time_ns <= HOT_NS;)
		marks += !strcmp(study->symbols.items[events[j].symbol].signal, signal);
	return marks >= HOT_MARKS;
}

/*
 * A step loses only time that is filled with calls which a step does not make: one that was merely
 * slow, because of a pause or a profiler, stays as long as it was.
 */
static uint64_t end_of(const struct study *study, const struct choice *choice,
	const struct kinds *kinds, size_t i, uint64_t nearby, size_t *ret_let_go)
{
	uint64_t start = start_of(choice, i), next = start_of(choice, i + 1), typical;
	uint32_t columns;
	bool many;

	if ((next - start) / 4 * 3 <= nearby) /* the usual case, which needs no median of its own */
		return next;
	typical = surplus_typical(choice, i);
	if (!typical || (next - start) / 3 * 2 <= typical)
		return next;
	if (next - start >= LET_GO_NS && surplus_let_go(study, choice->strand, &choice->at, i)) {
		++*ret_let_go;
		return start + typical;
	}
	columns = surplus_columns(kinds, i, choice->at.count - 1, &many);
	if (!columns)
		return next;
	if (!many && longest_gap(study, choice, i, columns) > (next - start - typical) / 2)
		return next;
	return start + typical;
}

int surplus_ends(struct study *study, const struct choice *choice, uint64_t *ret,
	size_t *ret_let_go)
{
	const uint32_t merged = CLASS_BIT(CLASS_CALL) | CLASS_BIT(CLASS_COLLECTIVE) |
				CLASS_BIT(CLASS_UPDATE) | CLASS_BIT(CLASS_BACKWARD) |
				CLASS_BIT(CLASS_ZERO);
	uint64_t nearby = 0;
	struct kinds kinds;
	int r = kinds_build(study, choice->strand, &choice->at, CLASS_ALL, merged, &kinds);

	*ret_let_go = 0;
	for (size_t i = 0; !r && i + 1 < choice->at.count; i++) {
		if (i % REACH == 0)
			nearby = surplus_typical(choice, i);
		ret[i] = end_of(study, choice, &kinds, i, nearby, ret_let_go);
	}
	kinds_release(&kinds);
	return r;
}
