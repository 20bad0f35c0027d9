/* Collections in; what is saved by asking for cheaper ones, and by having fewer, out. */
#include <math.h>
#include <stdio.h>

#include "cleanup.h"
#include "describe.h"
#include "julia_advice.h"
#include "parse.h"
#include "stats.h"

#define LEAST	    3 /* collections that show what one takes, and what is allocated between two */
#define AHEAD	    0.8 /* of the time between two automatic collections: one's own is to come before */
#define FIRST_BYTES 40e6   /* the first automatic collection comes after 5600 KiB × 8: src/gc.c */
#define MOST_BYTES  0x1p31 /* that may be allocated without a collection */
#define CHEAPER	    0.5	   /* of a full collection, an incremental one that is worth asking for */
#define SWEEP_GROWS 2.0 /* 1.9 and 2.2 times, at four times the memory: docs/workloads-julia.md */
#define FREED	    0.9 /* of full collections' time: incremental ones come in their place */
#define TIMES	    4.0 /* so many collections become one */

/* Steps, or seconds of a program without steps. */
static double units_of(const struct advising *advising)
{
	const struct advice_subject *subject = advising->subject;

	return subject->steps ? (double)subject->steps : (double)subject->time_ns / 1e9;
}

static bool has_steps(const struct advising *advising)
{
	return advising->subject->steps;
}

/* A step at least, for less cannot be counted. */
static double whole_units(const struct advising *advising, double units)
{
	return has_steps(advising) ? fmax(1, floor(units)) : units;
}

/* "every 40 steps", "every 1.2 s" */
static void say_every(const struct advising *advising, double units, struct advice *advice)
{
	if (!has_steps(advising))
		APPEND_TO(advice->line, "every %s", FORMAT_DURATION(stats_whole(units * 1e9)));
	else if (units < 2)
		APPEND_TO(advice->line, "each step");
	else
		APPEND_TO(advice->line, "every %.0f steps", units);
	advice->every = has_steps(advising) ? stats_whole(units) : 0;
}

static const char *unit_of(const struct advising *advising)
{
	return has_steps(advising) ? "step" : "second";
}

static double mean(const struct julia_sums *sums)
{
	return sums->count > 0 ? sums->overlap / sums->count : 0;
}

/* Bytes that the program allocates per unit, by @sums of all its collections; 0: not known. */
static double rate_of(const struct advising *advising, const struct julia_sums *sums)
{
	if (sums->measured < LEAST || sums->measured * 2 < sums->count)
		return 0;
	return sums->allocated / sums->measured * sums->count / units_of(advising);
}

#define OLD_GARBAGE                                                                                \
	"incremental collections leave old garbage: a GC.gc() now and then, as after an epoch, "   \
	"frees it"

/* GC.gc() every so often: GC.gc(false), no more often than that and than an automatic one would come. */
static int advise_cheaper(struct advising *advising, const struct julia_sums *full)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums all = julia_sum(events, julia_all);
	struct julia_sums incremental = julia_sum(events, julia_incremental);
	double units = units_of(advising), rate = rate_of(advising, &all), period, every, one;
	bool known = incremental.count >= LEAST;
	struct advice *advice;
	int r;

	if (full->count < LEAST || !(units > 0))
		return 0;
	period = units / full->count;
	every = whole_units(advising, fmax(period, rate > 0 ? AHEAD * FIRST_BYTES / rate : 0));
	/* GC.gc() collects twice. */
	one = known ? mean(&incremental) : mean(full) / 2;
	advice = advice_add(advising, ADVICE_EVERY, full->overlap - units / every * one,
		full->overlap - units / every * fmin(2 * one, mean(full)),
		full->overlap - (known ? units / every * one / 2 : 0), &r);
	if (!advice)
		return r;
	if (rate > 0)
		advice->grows_bytes = stats_count(rate * fmax(0, every - period));
	snprintf(advice->title, sizeof(advice->title), "Call GC.gc(false) in place of GC.gc()");
	snprintf(advice->line, sizeof(advice->line), "GC.gc(false)  # ");
	say_every(advising, every, advice);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %.0f full collections of %s were asked for; %s %s",
		full->count, FORMAT_DURATION(stats_whole(mean(full))),
		known ? "an incremental one takes" : "no incremental one was seen, so a guess:",
		FORMAT_DURATION(stats_whole(one)));
	snprintf(advice->risk, sizeof(advice->risk), OLD_GARBAGE);
	return 0;
}

/* Automatic collections are full by the collector's own choice; what is asked for is as asked. */
static int advise_ahead(struct advising *advising, const struct julia_sums *full)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums all = julia_sum(events, julia_automatic);
	struct julia_sums incremental = julia_sum(events, julia_incremental);
	double units = units_of(advising), every, after;
	struct advice *advice;
	int r;

	if (full->count < LEAST || incremental.count < LEAST || !(units > 0) ||
		mean(&incremental) > CHEAPER * mean(full))
		return 0;
	every = AHEAD * units / all.count;
	if (has_steps(advising) &&
		every < 1) /* several in each step: there is no place ahead of them */
		return 0;
	every = whole_units(advising, every);
	after = units / every * mean(&incremental);
	advice = advice_add(advising, ADVICE_EVERY, all.overlap - after,
		fmax(0, all.overlap - 2 * after) / 2, all.overlap - after / 2, &r);
	if (!advice)
		return r;
	snprintf(advice->title, sizeof(advice->title),
		"Ask for incremental collections, ahead of automatic full ones");
	snprintf(advice->line, sizeof(advice->line), "GC.gc(false)  # ");
	say_every(advising, every, advice);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": of %.0f automatic collections %.0f were full, %s each; an incremental one takes "
		"%s",
		all.count, full->count, FORMAT_DURATION(stats_whole(mean(full))),
		FORMAT_DURATION(stats_whole(mean(&incremental))));
	snprintf(advice->risk, sizeof(advice->risk), OLD_GARBAGE);
	return 0;
}

int advise_every(struct advising *advising)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums asked = julia_sum(events, julia_asked_full);
	struct julia_sums automatic = julia_sum(events, julia_automatic_full);
	int r = advise_cheaper(advising, &asked);

	/* One line of this kind: that with more to save. */
	return r || asked.overlap >= automatic.overlap ? r : advise_ahead(advising, &automatic);
}

/*
 * The old objects that marking looks at again stay the same however much is allocated; finalizers go with what is, and
 * sweeping more than that: beyond the first interval free pages go back to the kernel (lazy_freed_pages in src/gc.c).
 * How much of marking goes with what is young is not recorded: none (the estimate) to half.
 */
static void say_enable(struct advising *advising, const struct julia_sums *all, double every,
	double rate, struct advice *advice)
{
	const double bytes = every * rate;

	if (has_steps(advising)) {
		snprintf(advice->title, sizeof(advice->title),
			"Disable the collector between collections of your own");
		snprintf(advice->line, sizeof(advice->line),
			"GC.enable(true); GC.gc(false); GC.enable(false)  # ");
		say_every(advising, every, advice);
	} else {
		snprintf(advice->title, sizeof(advice->title),
			"Disable the collector round what must not pause");
		snprintf(advice->line, sizeof(advice->line),
			"GC.enable(false); …; GC.enable(true); GC.gc(false)  # round up to %s",
			FORMAT_DURATION(stats_whole(every * 1e9)));
	}
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %.0f automatic collections marked for %s in all, one each %s allocated",
		all->count, FORMAT_DURATION(stats_whole(all->mark)),
		DESCRIBE_BYTES(all->allocated / all->measured));
	snprintf(advice->risk, sizeof(advice->risk),
		"between two of them memory grows by %s, %s a %s, without end where the line is not "
		"reached, and fresh memory costs page faults; " OLD_GARBAGE,
		DESCRIBE_BYTES(bytes), DESCRIBE_BYTES(rate), unit_of(advising));
}

/*
 * What they take however much is allocated, but for the wait for a late thread, against which there is other advice. Where
 * marking is not told apart it is half of collecting.
 */
static double steady_of(const struct julia_sums *sums)
{
	return sums->overlap - sums->ttsp - sums->sweep - sums->post -
	       (sums->core - sums->marked) / 2;
}

int advise_enable(struct advising *advising)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums all = julia_sum(events, julia_automatic);
	struct julia_sums full = julia_sum(events, julia_automatic_full);
	struct julia_sums incremental = julia_sum(events, julia_automatic_incremental);
	const struct julia_sums *left = incremental.count >= LEAST ? &incremental : &all;
	double units = units_of(advising), rate = rate_of(advising, &all), every, saved, steady;
	struct advice *advice;
	int r;

	if (all.count < LEAST || !(rate > 0) || !(units > 0))
		return 0;
	every = whole_units(advising, fmin(TIMES * units / all.count, MOST_BYTES / rate));
	saved = 1 - units / every / all.count; /* of all collections */
	if (every * rate > MOST_BYTES || !(saved > 0))
		return 0;
	steady = steady_of(&all) - units / every * steady_of(left) / left->count;
	/* The last of them may come after the end. */
	advice = advice_add(advising, ADVICE_ENABLE, steady - (SWEEP_GROWS - 1) * all.sweep,
		steady / 2 - 2 * (SWEEP_GROWS - 1) * all.sweep,
		full.count > 0 ? all.overlap : saved * all.overlap + mean(&all), &r);
	if (!advice)
		return r;
	advice->grows_bytes = stats_count(every * rate - all.allocated / all.measured);
	say_enable(advising, &all, every, rate, advice);
	return 0;
}

/* Above its limit Julia collects all of the heap again and again. Without the option it is the machine's memory. */
int advise_heap_hint(struct advising *advising)
{
	const struct julia_events *events = julia_events(advising);
	struct julia_sums full = julia_sum(events, julia_automatic_full);
	const double hint = (double)events->heap_hint;
	double left = 0, known = 0, kept;
	struct advice *advice;
	int r;

	for (size_t i = 0; i < events->events.count; i++) {
		const struct julia_event *event = &events->events.items[i];

		if (!julia_automatic_full(event) || event->after < 0)
			continue;
		left += (double)event->after;
		known++;
	}
	if (events->minor < 9 || !events->heap_hint || full.count < LEAST || known * 2 < full.count)
		return 0;
	left /= known;
	if (left < hint / 2) /* it is not the limit that makes them full */
		return 0;
	kept = left < hint ? (hint - left) / (2 * hint - left) : 0;
	advice = advice_add(advising, ADVICE_HEAP_HINT, FREED * (1 - kept) * full.overlap,
		(1 - sqrt(kept)) * full.overlap / 2, full.overlap, &r);
	if (!advice)
		return r;
	advice->grows_bytes = stats_count(hint);
	snprintf(advice->title, sizeof(advice->title), "Raise the limit of the heap");
	snprintf(advice->line, sizeof(advice->line), "--heap-size-hint=%.0fM", ceil(hint / 0x1p19));
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %.0f full collections left %s, where it allows %s",
		full.count, DESCRIBE_BYTES(left), DESCRIBE_BYTES(hint));
	snprintf(advice->risk, sizeof(advice->risk),
		"takes up to %s more memory; if what stays grows from one collection to the next, it "
		"only comes later",
		DESCRIBE_BYTES(hint));
	return 0;
}
