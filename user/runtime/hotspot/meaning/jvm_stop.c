/* The safepoints of a JVM in; what is saved by stopping sooner, or not for metadata, out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm_advice.h"
#include "stats.h"
#include "cleanup.h"
#include "describe.h"
#include "parse.h"
#include "u64map.h"

#define LEAST_TTSP  0.3	     /* of the stopped time: less is not what to look at */
#define LATE_NS	    1000000  /* a time to safepoint that is long */
#define USUAL_NS    200000.0 /* what is left of it with a poll in every loop */
#define LEAST_KNOWN 0.8	     /* of the stopped time, whose time to safepoint is known */

/* What all safepoints waited for the last thread: sums of overlaps. */
struct reaching {
	double stopped_ns, known_ns, ttsp_ns;
	double above_median_ns, above_usual_ns;
	/* Of long ones, where it is known how long the last thread ran of it, and where it is not. */
	double told_ns, untold_ns;
	/* Of those in which it ran for long, all; half way to what it ran; and what that is, beyond the median. */
	double loops_ns, loops_above_usual_ns, likely_ns, ran_above_median_ns;
	uint64_t median_ns;
	uint32_t late;	/* frame that was late for most of it; 0: not known */
	double late_ns; /* of it */
};

/* For how long the last thread went on without a poll, as far as it is known. */
static double late_for(const struct jvm_event *event)
{
	return (double)(event->late_ran_ns < 0 ? event->ttsp_ns : event->late_ran_ns);
}

/* Adds up by frame. 0 or -ENOMEM. */
static int find_late(const struct jvm_facts *jvm, struct reaching *ret)
{
	struct u64map sums = {};
	int r = 0;

	for (size_t i = 0; i < jvm->events.count && !r; i++) {
		const struct jvm_event *event = &jvm->events.items[i];
		const uint64_t *found;
		uint64_t sum;

		if (!event->late || event->ttsp_ns < LATE_NS || late_for(event) < LATE_NS)
			continue;
		found = u64map_get(&sums, event->late);
		sum = found ? *found : 0;
		stats_add(&sum, (uint64_t)late_for(event));
		if ((double)sum > ret->late_ns) {
			ret->late_ns = (double)sum;
			ret->late = event->late;
		}
		r = u64map_put(&sums, event->late, sum);
	}
	u64map_release(&sums);
	return r;
}

/*
 * A thread that had to wait for a processor comes as soon as it has one: no poll would bring it sooner. One that runs on
 * without a poll, and loses its processor meanwhile, waits for it several times instead of once at most.
 */
static void add_late(const struct jvm_event *event, double usual_ns, struct reaching *ret)
{
	double ttsp_ns = (double)event->ttsp_ns, ran_ns = (double)event->late_ran_ns;
	double weight = (double)event->weight;

	if (event->ttsp_ns < LATE_NS)
		return;
	if (event->late_ran_ns < 0) {
		ret->untold_ns += weight * ttsp_ns;
		return;
	}
	ret->told_ns += weight * ttsp_ns;
	if (ran_ns < LATE_NS)
		return;
	ret->loops_ns += weight * ttsp_ns;
	ret->loops_above_usual_ns += weight * fmax(0, ttsp_ns - usual_ns);
	ret->likely_ns += weight * fmax(0, (ran_ns + ttsp_ns) / 2 - usual_ns);
	ret->ran_above_median_ns += weight * fmax(0, ran_ns - (double)ret->median_ns);
}

static int reaching_read(const struct jvm_facts *jvm, struct reaching *ret)
{
	_cleanup_free_ uint64_t *times = calloc(jvm->events.count + 1, sizeof(*times));
	size_t count = 0;

	*ret = (struct reaching){};
	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		ret->stopped_ns += jvm_event_overlap(event);
		if (event->ttsp_ns < 0)
			continue;
		ret->known_ns += jvm_event_overlap(event);
		times[count++] = (uint64_t)event->ttsp_ns;
	}
	ret->median_ns = stats_median(times, count);
	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];
		double usual_ns = fmin(USUAL_NS, (double)ret->median_ns);
		double ns = (double)event->ttsp_ns;

		if (ns < 0)
			continue;
		add_late(event, usual_ns, ret);
		ret->ttsp_ns += (double)event->weight * ns;
		ret->above_median_ns +=
			(double)event->weight * fmax(0, ns - (double)ret->median_ns);
		ret->above_usual_ns += (double)event->weight * fmax(0, ns - usual_ns);
	}
	return find_late(jvm, ret);
}

/* Whether what made threads late is known of most of it. */
static bool is_told(const struct reaching *reaching)
{
	return reaching->told_ns > reaching->untold_ns;
}

static void say_ttsp(const struct advising *advising, const struct reaching *reaching,
	struct advice *advice)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	bool told = is_told(reaching);

	snprintf(advice->title, sizeof(advice->title), "Let counted loops stop at safepoints");
	snprintf(advice->line, sizeof(advice->line), "-XX:+UseCountedLoopSafepoints%s",
		jvm->release >= 10 ? " -XX:LoopStripMiningIter=1000" : "");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %s of it is the time until all threads had stopped, median %s",
		FORMAT_DURATION(stats_whole(reaching->ttsp_ns)),
		FORMAT_DURATION(reaching->median_ns));
	if (told)
		APPEND_TO(advice->estimate, ", %s of it for one that ran on for 1 ms or more",
			FORMAT_DURATION(stats_whole(reaching->loops_ns)));
	if (reaching->late)
		APPEND_TO(advice->estimate, "; %s came out of %s",
			told ? "most often it" : "the last thread",
			DESCRIBE_FRAME(advising->attribution->stacks, reaching->late));
	else if (!told)
		APPEND_TO(advice->estimate, "; which thread came last is not known");
	if (!told)
		APPEND_TO(advice->estimate, "; whether it ran meanwhile is not known: a guess");
	snprintf(advice->risk, sizeof(advice->risk),
		"counted loops run a little slower for the polls; -XX:+UseG1GC has them by "
		"default%s",
		told ? "" : "; useless if threads are late because processors are short");
}

int advise_ttsp(struct advising *advising)
{
	struct reaching reaching;
	struct advice *advice;
	double saves, low = 0, high;
	int r;

	if (!*jvm_facts(advising)->collector || jvm_facts(advising)->polls_in_loops)
		return 0;
	if (reaching_read(jvm_facts(advising), &reaching))
		return -ENOMEM;
	if (reaching.known_ns < LEAST_KNOWN * reaching.stopped_ns ||
		reaching.ttsp_ns < LEAST_TTSP * reaching.stopped_ns)
		return 0;
	saves = reaching.above_usual_ns / 2;
	high = reaching.above_usual_ns;
	if (is_told(&reaching)) {
		saves = reaching.likely_ns;
		low = reaching.ran_above_median_ns;
		high = reaching.loops_above_usual_ns + reaching.untold_ns;
	}
	advice = advice_add(advising, ADVICE_TTSP, saves, low, high, &r);
	if (!advice)
		return r;
	advice->trigger = reaching.late;
	say_ttsp(advising, &reaching, advice);
	return 0;
}

/* The first threshold is about 20 MB of class metadata, and is raised by collecting. */
int advise_metaspace(struct advising *advising)
{
	const struct jvm_facts *jvm = jvm_facts(advising);
	double overlap_ns = 0, count = 0;
	struct advice *advice;
	int r;

	for (size_t i = 0; i < jvm->events.count; i++) {
		const struct jvm_event *event = &jvm->events.items[i];

		if (event->why != JVM_WHY_METADATA)
			continue;
		overlap_ns += jvm_event_overlap(event);
		count++;
	}
	advice = advice_add(advising, ADVICE_METASPACE, 0.9 * overlap_ns, 0.5 * overlap_ns,
		overlap_ns, &r);
	if (!advice)
		return r;
	advice->grows_bytes = 0;
	snprintf(advice->title, sizeof(advice->title), "Do not collect to load classes");
	snprintf(advice->line, sizeof(advice->line), "-XX:MetaspaceSize=256m");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %.0f were asked for because class metadata had reached a threshold", count);
	snprintf(advice->risk, sizeof(advice->risk),
		"small: classes that could be unloaded stay until 256 MB of metadata are there");
	return 0;
}
