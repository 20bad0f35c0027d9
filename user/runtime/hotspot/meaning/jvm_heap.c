/* Young and full collections of a JVM in; what other sizes of its heap would have saved out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jvm_advice.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

#define MIB	    1048576.0
#define GIB	    1073741824.0
#define LEAST_YOUNG 3	/* young collections of known sizes that show an allocation */
#define LEAST_FIT   8	/* that show how their length goes with it, … */
#define VARIED	    0.2 /* … if it varies by so much, deviation ÷ mean, … */
#define UNSURE	    0.8 /* … and the answer's 95 % interval is narrower than this */
#define BEYOND	    0.1 /* the fit is used beyond the sizes that it rests on */
/*
 * The share of a young collection's length that goes with what was allocated, where the recording
 * does not tell. USUAL_SHARE is a guess. DL4J has a wrapper on the heap for each array, which often
 * outlives a collection: fits gave 0.98 and more for perceptrons, 0.16 to 1.26 for an LSTM (ND4J
 * 1.0.0-M2.1, docs/steps.md).
 */
#define USUAL_SHARE 0.4
#define DL4J_SHARE  0.9

#define SURVIVORS     1.25 /* eden and two survivor spaces, of eden */
#define OLD_SPARE     1.5 /* of the most that a collection left: room for what is old, at least … */
#define LEAST_OLD     (32 * MIB)
#define ROUNDED	      (16 * MIB) /* by as much jvm_size() rounds up, or by this share: */
#define ROUNDED_SHARE 0.1

/* The young collections for want of room, and how their length goes with what was allocated. */
struct young {
	double count, overlap_ns, duration_ns, allocated; /* the last two: means */
	double most_left;				  /* bytes, by any collection */
	double share, low, high; /* of the length, that goes with what was allocated */
	bool fitted;
};

/* Sums for a straight line through (allocated, duration). */
struct line {
	double n, x, y, xx, xy, yy;
};

static void line_add(struct line *line, double x, double y)
{
	line->n++;
	line->x += x;
	line->y += y;
	line->xx += x * x;
	line->xy += x * y;
	line->yy += y * y;
}

/* @line is of what is left without @fixed, a share of the length. */
static void fit_share(const struct line *line, bool dl4j, double fixed, struct young *young)
{
	double mean_x = line->x / line->n, mean_y = line->y / line->n, rest = 1 - fixed;
	double sxx = line->xx - line->n * mean_x * mean_x;
	double sxy = line->xy - line->n * mean_x * mean_y;
	double syy = line->yy - line->n * mean_y * mean_y;
	double slope, error, share;

	young->share = rest * (dl4j ? DL4J_SHARE : USUAL_SHARE);
	young->low = 0;
	young->high = rest;
	if (line->n < LEAST_FIT || !(mean_y > 0) || sqrt(sxx / line->n) < VARIED * mean_x)
		return;
	slope = sxy / sxx;
	error = 2 * sqrt(fmax(0, syy - slope * sxy) / (line->n - 2) / sxx) * mean_x / mean_y;
	share = slope * mean_x / mean_y;
	if (fmin(1, share + error) - fmax(0, share - error) > UNSURE)
		return;
	young->fitted = true;
	young->share = rest * fmin(1, fmax(0, share));
	young->low = rest * fmin(1, fmax(0, share - error - BEYOND));
	young->high = rest * fmax(0, fmin(1, share + error + BEYOND));
}

/* False: the recording does not tell sizes. */
static bool young_read(const struct advising *advising, struct young *ret)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	int64_t left = UNKNOWN; /* by the collection before */
	double fixed_ns = 0;	/* times to safepoint: they do not go with what was allocated */
	struct line line = {};

	*ret = (struct young){};
	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];
		bool young = event->class == HOTSPOT_YOUNG && event->why == JVM_WHY_ALLOCATION;

		if (event->class == HOTSPOT_OTHER)
			continue;
		ret->most_left = fmax(ret->most_left, (double)event->heap_after);
		if (young) {
			ret->count++;
			ret->overlap_ns += jvm_event_overlap(event);
		}
		if (young && left >= 0 && event->heap_before > left) {
			double ttsp_ns =
				fmin(fmax(0, (double)event->ttsp_ns), (double)event->duration_ns);

			fixed_ns += ttsp_ns;
			line_add(&line, (double)(event->heap_before - left),
				(double)event->duration_ns - ttsp_ns);
		}
		if (event->heap_after >= 0 ||
			(event->class != HOTSPOT_STEP && event->class != HOTSPOT_UNKNOWN))
			left = event->heap_after;
	}
	if (line.n < LEAST_YOUNG || line.n * 2 < ret->count)
		return false;
	ret->allocated = line.x / line.n;
	ret->duration_ns = (line.y + fixed_ns) / line.n;
	fit_share(&line, advice_of_dl4j(advising),
		fixed_ns > 0 ? fixed_ns / (line.y + fixed_ns) : 0, ret);
	return true;
}

static bool generational(const struct jvm_facts *jvm)
{
	return !strcmp(jvm->collector, "Serial") || !strcmp(jvm->collector, "Parallel") ||
	       !strcmp(jvm->collector, "G1");
}

/*
 * A young generation of @size, in a heap that leaves the old one what it has, or what it needs: more full collections
 * would cost more than fewer young ones save. Returns how large the heap must be.
 */
static double young_line(const struct jvm_facts *jvm, const struct young *young, double size,
	struct advice *advice)
{
	double needs = fmax(LEAST_OLD, OLD_SPARE * young->most_left);
	double has = (double)jvm->heap_max - SURVIVORS * young->allocated;

	snprintf(advice->line, sizeof(advice->line), "-X%s%s",
		strcmp(jvm->collector, "G1") ? "mn" : "X:NewSize=", JVM_SIZE(size));
	size += fmax(ROUNDED, ROUNDED_SHARE * size); /* jvm_size() rounds up */
	if (!jvm->heap_max || size + needs <= (double)jvm->heap_max)
		return size + needs;
	APPEND_TO(advice->line, " -Xmx%s", JVM_SIZE(size + fmax(needs, has)));
	return size + fmax(needs, has);
}

/*
 * Young collections become rarer as the room between them grows; of their length, one share grows
 * as what was allocated does, the rest stays.
 */
int advise_young(struct advising *advising)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	struct advice *advice;
	struct young young;
	double factor, saved, heap;
	int r;

	if (!generational(jvm) || !young_read(advising, &young))
		return 0;
	factor = 4 * young.allocated <= 2 * GIB ? 4 : 2;
	saved = young.overlap_ns * (1 - 1 / factor);
	advice = advice_add(advising, ADVICE_YOUNG, saved * (1 - young.share),
		saved * (1 - young.high), saved * (1 - young.low), &r);
	if (!advice)
		return r;
	advice->grows_bytes = stats_count((factor - 1) * young.allocated);
	snprintf(advice->title, sizeof(advice->title), "Give eden %.0f × the room", factor);
	heap = young_line(jvm, &young, SURVIVORS * factor * young.allocated, advice);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %.0f young collections of %s, one each %s allocated; ",
		young.count, FORMAT_DURATION(stats_whole(young.duration_ns)),
		DESCRIBE_BYTES(young.allocated));
	if (young.fitted)
		APPEND_TO(advice->estimate,
			"of their length %.0f %% goes with that, as they differ",
			100 * young.share);
	else
		APPEND_TO(advice->estimate,
			"how much of their length goes with that they do not tell: %.0f %% assumed",
			100 * young.share);
	snprintf(advice->risk, sizeof(advice->risk),
		"each young collection that is left is longer, and the heap needs about %s more: "
		"below an -Xmx of %s full collections would become more%s",
		DESCRIBE_BYTES((factor - 1) * young.allocated), JVM_SIZE(heap),
		strcmp(jvm->collector, "G1") ? "" : "; G1 may miss its goal for pauses");
	return 0;
}

/* Full collections for want of room. */
struct fulls {
	double count, overlap_ns, most_before, left_first, left_last, left;
};

static bool fulls_read(const struct jvm_facts *jvm, struct fulls *ret)
{
	size_t known = 0;

	*ret = (struct fulls){};
	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		ret->most_before = fmax(ret->most_before, (double)event->heap_before);
		if (event->class != HOTSPOT_FULL || event->why != JVM_WHY_ALLOCATION)
			continue;
		ret->count++;
		ret->overlap_ns += jvm_event_overlap(event);
		if (event->heap_after < 0 || event->heap_before < event->heap_after)
			continue;
		if (!known++)
			ret->left_first = (double)event->heap_after;
		ret->left_last = (double)event->heap_after;
		ret->left += (double)event->heap_after;
	}
	if (known < 2 || (double)known * 2 < ret->count)
		return false;
	ret->left /= (double)known;
	return ret->most_before > ret->left;
}

/* A full collection comes when what the last one freed is used up, and looks at what stays. */
int advise_heap(struct advising *advising)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	struct advice *advice;
	struct fulls fulls;
	double size, kept;
	int r;

	if (!fulls_read(jvm, &fulls))
		return 0;
	size = 2 * fmax(fulls.most_before, (double)jvm->heap_max);
	kept = (fulls.most_before - fulls.left) / (size - fulls.left);
	advice = advice_add(advising, ADVICE_HEAP, (1 - kept) * fulls.overlap_ns,
		(1 - sqrt(kept)) * fulls.overlap_ns / 2, fulls.overlap_ns, &r);
	if (!advice)
		return r;
	advice->grows_bytes = stats_count(size - fulls.most_before);
	snprintf(advice->title, sizeof(advice->title), "Give the heap more room");
	snprintf(advice->line, sizeof(advice->line), "-Xms%s -Xmx%s", JVM_SIZE(size),
		JVM_SIZE(size));
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %.0f full collections for want of room; they left %s of %s",
		fulls.count, DESCRIBE_BYTES(fulls.left), DESCRIBE_BYTES(fulls.most_before));
	snprintf(advice->risk, sizeof(advice->risk), "takes up to %s more memory%s",
		DESCRIBE_BYTES(size - fulls.most_before),
		fulls.left_last > 1.2 * fulls.left_first
			? "; what stays grows from one to the next: if that goes on, it only comes "
			  "later"
			: "");
	return 0;
}

/* Threads that waited until a concurrent collector had freed something. */
int advise_stalls(struct advising *advising)
{
	const struct advice_subject *facts = advising->subject;
	const struct jvm_facts *jvm = jvm_facts(advising);
	const struct explicit_calls *calls = &advising->attribution->explicit_calls;
	double waited = 0, count = 0, saves;
	struct advice *advice;
	int r;

	for (size_t i = 0; i < calls->sums.count; i++) {
		const struct stall_sum *sum = &calls->sums.items[i];

		if (sum->process != facts->process ||
			(sum->kind != STALL_ALLOCATION && sum->kind != STALL_PACING))
			continue;
		waited += (double)sum->training_ns;
		count += (double)sum->count;
	}
	saves = fmin(waited, (double)facts->stall_ns);
	if (!jvm->heap_max || !(saves > 0))
		return 0;
	advice = advice_add(advising, ADVICE_HEAP, saves / 2, 0, saves, &r);
	if (!advice)
		return r;
	advice->grows_bytes = stats_count(0.5 * (double)jvm->heap_max);
	snprintf(advice->title, sizeof(advice->title), "Give the heap more room");
	snprintf(advice->line, sizeof(advice->line), "-Xmx%s",
		JVM_SIZE(1.5 * (double)jvm->heap_max));
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		"; a guess: %.0f times a thread found no memory left and waited for the collector, "
		"the "
		"training thread %s in all",
		count, FORMAT_DURATION(stats_whole(saves)));
	snprintf(advice->risk, sizeof(advice->risk),
		"takes up to %s more memory; more threads for the collector (-XX:ConcGCThreads) "
		"are the "
		"other way, if processors are free",
		DESCRIBE_BYTES(0.5 * (double)jvm->heap_max));
	return 0;
}
