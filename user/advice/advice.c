/* Pauses and attribution in; the changes that would have helped out, best first. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "stats.h"
#include "subjects.h"
#include "parse.h"

#define LEAST_SAVED 0.1	   /* of the pauses that count: less is not worth a change */
#define LEAST_SHARE 0.0005 /* of training time */
#define TAIL_KEPT   1.25   /* the slowest steps may get so much longer by chance */
/*
 * What is left of collections takes from so many times as long in one run to so many times in another, though both do the
 * same: 5 to 95 % of 99 pairs of runs of small programs, on a busy machine (docs/steps.md).
 */
#define UNLIKE_LEAST 0.75
#define UNLIKE_MOST  1.6

void advices_release(struct advices *advices)
{
	if (advices)
		vec_free(&advices->items);
}

const struct advice_kind advice_nothing = {"nothing", 0};

const char *advice_name(const struct advice_kind *kind)
{
	return kind->name;
}

double advice_share(const struct advising *advising, double ns)
{
	return advising->subject->time_ns ? ns / (double)advising->subject->time_ns : 0;
}

const char *advice_time(const struct advising *advising)
{
	return advising->subject->track ? "of training time" : "of the traced time";
}

uint64_t advice_most(const struct advising *advising)
{
	uint64_t most = advising->subject->overlap_ns;

	stats_add(&most, advising->subject->stall_ns);
	return most;
}

static uint64_t bounded(double ns, double most)
{
	return stats_whole(fmin(ns, most));
}

struct advice *advice_add(struct advising *advising, int kind, double saves, double low,
	double high, int *ret_r)
{
	double most = (double)advice_most(advising);
	struct advice *advice;

	*ret_r = 0;
	if (saves < LEAST_SAVED * most || advice_share(advising, saves) < LEAST_SHARE)
		return NULL;
	/* That two runs differ is no harm that the change does. */
	low = fmin(low, saves);
	low = fmin(low, fmax(0, low - (UNLIKE_MOST - 1) * (most - saves)));
	high = fmax(high, saves) + (1 - UNLIKE_LEAST) * (most - saves);
	advice = vec_add(&advising->advices->items);
	if (!advice) {
		*ret_r = -ENOMEM;
		return NULL;
	}
	*advice = (struct advice){
		.kind = &advising->adviser->kinds[kind],
		.process = advising->subject->process,
		.saves_ns = bounded(saves, most),
		.saves_low_ns = bounded(low, most),
		.worse_ns = stats_whole(-low),
		.saves_high_ns = bounded(high, most),
		.grows_objects = UNKNOWN,
		.grows_bytes = UNKNOWN,
	};
	advice->saves_share = advice_share(advising, (double)advice->saves_ns);
	return advice;
}

/* "Pauses in steps fall from 6.63 s (57 % of training time) to about 2.9 s (2.1 s … 3.8 s)" */
/* Whether what there is to save is what GPUs lost, not what pauses took. */
static bool by_gpu(const struct advice_subject *subject)
{
	return subject->cost && subject->cost->by_gpu;
}

void advice_say_fall(const struct advising *advising, struct advice *advice)
{
	uint64_t before = advice_most(advising);

	snprintf(advice->estimate, sizeof(advice->estimate),
		"%s%s from %s (%s %s) to about %s (%s to %s)",
		by_gpu(advising->subject) ? "what GPUs lost to pauses" : "pauses",
		advising->subject->stall_ns ? " and waits fall"
		: by_gpu(advising->subject) ? " falls"
					    : " fall",
		FORMAT_DURATION(before), DESCRIBE_SHARE(advice_share(advising, (double)before)),
		advice_time(advising), FORMAT_DURATION(before - advice->saves_ns),
		FORMAT_DURATION(before - advice->saves_high_ns),
		FORMAT_DURATION(before - advice->saves_low_ns + advice->worse_ns));
}

/*
 * The answer when there is nothing to gain: it costs next to nothing, nothing can be computed, or no setting would
 * change it. @why: of the second, the reason.
 */
static int advise_nothing(struct advising *advising, bool harmless, const char *title,
	const char *why, struct advice **ret)
{
	const struct advice_subject *subject = advising->subject;
	struct advice *advice = vec_add(&advising->advices->items);

	if (!advice)
		return -ENOMEM;
	*advice = (struct advice){.kind = &advice_nothing,
		.process = subject->process,
		.grows_objects = UNKNOWN,
		.grows_bytes = UNKNOWN,
		.step_max_after_ns = subject->max_ns};
	snprintf(advice->title, sizeof(advice->title), "%s", title);
	snprintf(advice->estimate, sizeof(advice->estimate), "pauses %s %s (%s %s): %s",
		by_gpu(subject) ? "cost GPUs" : "take", FORMAT_DURATION(subject->overlap_ns),
		DESCRIBE_SHARE(advice_share(advising, (double)subject->overlap_ns)),
		advice_time(advising),
		harmless && advice_share(advising, (double)subject->overlap_ns) >= ATTRIB_HARMLESS
			? "next to nothing of that was lost, so there is nothing to gain"
		: harmless ? "there is nothing to gain"
		: why	   ? why
			   : "the same work would only be done at another time");
	*ret = advice;
	return 0;
}

static struct advising advising_of(const struct attribution *attribution,
	const struct subject *subject, size_t runtime, struct advices *advices)
{
	const struct advised *advised =
		runtime < subject->runtimes.count ? &subject->runtimes.items[runtime] : NULL;

	return (struct advising){attribution, &subject->about,
		advised ? advised->meaning->advice : NULL, advised ? advised->state : NULL,
		advices};
}

#define NOT_KNOWN "What would help is not known"

/* Why, and what the pauses were as far as that says where else to look: each runtime may know something of it. */
static int explain(const struct attribution *attribution, const struct subject *subject,
	struct advices *advices)
{
	const char *title = "No setting of the collector would save much", *why = NULL;
	struct advising advising = advising_of(attribution, subject, 0, advices);
	struct advice *advice;
	int r;

	if (!subject->runtimes.count) {
		title = NOT_KNOWN;
		why = "gctrace has no model of this runtime's collector";
	}
	for (size_t i = 0; i < subject->runtimes.count; i++) {
		advising = advising_of(attribution, subject, i, advices);
		if (advising.adviser->blind && advising.adviser->blind(&advising, &title))
			why = advising.adviser->blind(&advising, &title);
	}
	r = advise_nothing(&advising, false, title, why, &advice);
	for (size_t i = 0; i < subject->runtimes.count && !r; i++) {
		advising = advising_of(attribution, subject, i, advices);
		if (advising.adviser->say_parts)
			advising.adviser->say_parts(&advising, advice);
	}
	return r;
}

/* As the verdict has it: a report that says to look elsewhere advises nothing. */
static bool is_harmless(const struct advising *advising)
{
	if (advising->subject->cost)
		return attrib_harmless(advising->subject->cost);
	return advice_share(advising, (double)advice_most(advising)) < ATTRIB_HARMLESS;
}

/* What was seen of it is harmless; what was not seen need not be. */
static bool is_whole(const struct recording *recording)
{
	return !recording_drop_total(recording) && !recording_missed_total(recording);
}

/* Why one that is harmless is not to be left alone, as the end of a sentence; NULL: it is. */
static const char *not_all(const struct advising *advising)
{
	const struct attribution *attribution = advising->attribution;

	if (!is_whole(attribution->recording))
		return "but not all of them were seen";
	if (advising->subject->cost && !attrib_elsewhere_harmless(attribution))
		return "but processes without steps paused for longer, which no advice is about";
	return NULL;
}

static int advise(const struct attribution *attribution, const struct subject *subject,
	struct advices *advices)
{
	struct advising advising = advising_of(attribution, subject, 0, advices);
	size_t before = advices->items.count;
	struct advice *advice;
	int r = 0;

	if (is_harmless(&advising) && not_all(&advising))
		return advise_nothing(&advising, false, NOT_KNOWN, not_all(&advising), &advice);
	if (is_harmless(&advising))
		return advise_nothing(&advising, true, "Leave the collector alone", NULL, &advice);
	for (size_t i = 0; i < subject->runtimes.count && !r; i++) {
		advising = advising_of(attribution, subject, i, advices);
		if (subject->runtimes.items[i].overlap_ns || subject->about.stall_ns)
			r = advising.adviser->advise(&advising);
	}
	if (r || advices->items.count > before)
		return r;
	return explain(attribution, subject, advices);
}

/* What it saves, less for what it risks, and the less the longer it makes the slowest steps. */
static double worth(const struct advice *advice)
{
	double tail = advice->tail > TAIL_KEPT ? advice->tail : 1;

	return advice->kind->worth * advice->saves_share / tail;
}

static int best_first(const void *a, const void *b)
{
	double one = worth(a), other = worth(b);

	if (one != other)
		return one < other ? 1 : -1;
	return ((const struct advice *)a)->process < ((const struct advice *)b)->process ? -1 : 1;
}

/* What acts on one trigger comes before switches of the whole runtime that act on it, whatever these save. */
static void narrow_first(struct advices *advices)
{
	struct advice *items = advices->items.items;

	for (size_t i = 1; i < advices->items.count; i++) {
		struct advice moved = items[i];
		size_t to = 0;

		while (to < i && !(items[to].kind->broad && items[to].trigger == moved.trigger &&
					 items[to].process == moved.process))
			to++;
		if (to == i || moved.kind->broad || !moved.trigger)
			continue;
		memmove(&items[to + 1], &items[to], (i - to) * sizeof(*items));
		items[to] = moved;
	}
}

/* Ranks of one training get the same advice: once is enough, from the one that gains most. */
static void drop_repeated(struct advices *advices)
{
	size_t kept = 0;

	for (size_t i = 0; i < advices->items.count; i++) {
		const struct advice *advice = &advices->items.items[i];
		bool repeated = advice->kind == &advice_nothing && advices->items.count > 1;

		for (size_t j = 0; j < kept; j++)
			repeated |= advices->items.items[j].kind == advice->kind &&
				    advices->items.items[j].trigger == advice->trigger;
		if (!repeated)
			advices->items.items[kept++] = *advice;
	}
	if (!kept && advices->items.count)
		kept = 1;
	advices->items.count = kept;
}

int advice_compute(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct advices *ret, struct err *err)
{
	struct subjects subjects = {};
	struct advices advices = {};
	int read = subjects_gather(attribution, next, source, &subjects, err);
	int r = read == -ENOMEM ? read : 0;

	for (size_t i = 0; i < subjects.items.count && !r; i++)
		r = advise(attribution, &subjects.items.items[i], &advices);
	subjects_release(&subjects);
	if (r) {
		advices_release(&advices);
		return err_set(err, ENOMEM, "out of memory while looking for advice");
	}
	if (advices.items.count)
		qsort(advices.items.items, advices.items.count, sizeof(struct advice), best_first);
	narrow_first(&advices);
	drop_repeated(&advices);
	*ret = advices;
	return read;
}
