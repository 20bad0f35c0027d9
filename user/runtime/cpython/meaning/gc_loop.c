/* A fitted model in; what changes to the training loop would have saved and let grow out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "gc_advice.h"
#include "gc_tail.h"
#include "stats.h"
#include "describe.h"
#include "parse.h"

#define COST_WANTED	0.01	 /* of training time, for the look at what stays */
#define GARBAGE_PART	0.2	 /* of the heap: as much garbage may be alive */
#define GARBAGE_LEAST	100000.0 /* objects; so much may be in any case */
#define RSS_PART	0.1	 /* of resident memory, where the garbage's size is known */
#define COLDER		1.5 /* a rare collection finds its objects out of cache: the most it may cost more */
#define MOST_STEPS	10000.0
#define NEXT_TO_NOTHING 100.0 /* objects that a manual collection frees */
#define MUCH_GARBAGE	50.0  /* objects a step that only the collector frees */
#define LEAST_FULL	3 /* full collections that must have found nothing before that is believed */

/* 1, 2, 5, 10, 20, … : the least that is not below, or the greatest that is not above @value. */
static double round_number(double value, bool up)
{
	static const double digits[] = {1, 2, 5, 10};
	double decade = pow(10, floor(log10(fmax(value, 1)))), best = decade;

	for (size_t i = 0; i < 4; i++) {
		if (up && digits[i] * decade >= value)
			return digits[i] * decade;
		if (digits[i] * decade <= value)
			best = digits[i] * decade;
	}
	return best;
}

/* Bytes an object of garbage, by what full collections gave back; 0: not known. */
static double garbage_bytes(const struct gc_facts *facts)
{
	return facts->shrunk_objects ? (double)facts->shrunk_bytes / (double)facts->shrunk_objects
				     : 0;
}

static double resident_bytes(const struct gc_facts *facts)
{
	return facts->of->track->steps.items[facts->of->track->steps.count / 2].rss_bytes > 0
		       ? (double)facts->of->track->steps.items[facts->of->track->steps.count / 2]
				 .rss_bytes
		       : 0;
}

/* How much garbage may be alive. */
static double garbage_allowed(const struct advising *advising)
{
	double allowed = fmax(GARBAGE_PART * gc_model(advising)->heap, GARBAGE_LEAST);
	double bytes = garbage_bytes(gc_facts(advising)), rss = resident_bytes(gc_facts(advising));

	return bytes > 0 && rss > 0 ? fmin(allowed, RSS_PART * rss / bytes) : allowed;
}

/* Every how many steps: as often as its cost allows and as rarely as its garbage does. */
static double choose_every(const struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	double step_ns = (double)advising->subject->time_ns / (double)advising->subject->steps;
	double wanted = model->object_ns * model->heap / (COST_WANTED * step_ns);
	double per_step = gc_model_garbage(model, gc_facts(advising));
	double most = per_step > 0 ? garbage_allowed(advising) / per_step : MOST_STEPS;

	wanted = round_number(wanted, true);
	most = fmin(round_number(most, false), MOST_STEPS);
	return fmax(fmin(wanted, most), 1);
}

static void say_manual(struct advising *advising, struct advice *advice,
	const struct gc_outcome *outcome)
{
	double bytes = garbage_bytes(gc_facts(advising));

	snprintf(advice->title, sizeof(advice->title), "Collect by hand every %llu steps",
		(unsigned long long)advice->every);
	if (gc_facts(advising)->manual.count * 2 > advising->subject->steps)
		snprintf(advice->line, sizeof(advice->line),
			"if step %% %llu == 0: gc.collect()  # instead of collecting so often",
			(unsigned long long)advice->every);
	else
		snprintf(advice->line, sizeof(advice->line),
			"gc.disable()  # before the loop; in it: if step %% %llu == 0: "
			"gc.collect()",
			(unsigned long long)advice->every);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": one full collection of about %s%s%s every %llu steps, in all ranks at once",
		FORMAT_DURATION(stats_whole(outcome->max_ns)),
		advice->step_max_after_ns > stats_whole(outcome->max_ns) ? ", later up to " : "",
		advice->step_max_after_ns > stats_whole(outcome->max_ns)
			? FORMAT_DURATION(advice->step_max_after_ns)
			: "",
		(unsigned long long)advice->every);
	if (advice->grows_objects)
		snprintf(advice->risk, sizeof(advice->risk),
			"%s objects of garbage (%.0f a step) are alive at most",
			DESCRIBE_COUNT((uint64_t)advice->grows_objects),
			(double)advice->grows_objects / (double)advice->every);
	else
		snprintf(advice->risk, sizeof(advice->risk),
			"small: nothing was freed in the steps");
	if (advice->grows_objects && bytes > 0)
		APPEND_TO(advice->risk, ", some %s by what full collections gave back",
			DESCRIBE_BYTES(bytes * (double)advice->grows_objects));
	else if (advice->grows_objects)
		APPEND_TO(advice->risk,
			"; how many bytes that is, the recording does not say: watch memory");
	if (advice->grows_objects && gc_holds_tensors(advising))
		APPEND_TO(advice->risk, "; tensors among them keep their GPU memory until then");
	gc_say_inherited(advising, advice);
}

/* 0 or -ENOMEM. */
static int say_manual_tail(const struct advising *advising, const struct gc_outcome *outcome,
	struct advice *advice)
{
	const struct gc_facts *facts = gc_facts(advising);
	_cleanup_free_ double *by_step = NULL;
	struct gc_tail tail;

	if (!gc_tail_known(facts))
		return 0;
	by_step = calloc(facts->of->track->steps.count, sizeof(*by_step));
	if (!by_step)
		return -ENOMEM;
	for (size_t i = 0; i < facts->of->track->steps.count; i += advice->every)
		by_step[i] = outcome->max_ns;
	if (gc_tail_of(facts, 1, by_step, &tail))
		return -ENOMEM;
	gc_tail_say(&tail, 0, advice);
	gc_tail_say_risk(&tail, advice);
	return 0;
}

int advise_manual(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double every, longest, before = (double)facts->of->overlap_ns, bytes = garbage_bytes(facts);
	struct gc_outcome outcome;
	struct advice *advice;
	int r;

	if (!model->known || !model->garbage_known || !facts->of->steps ||
		(!facts->collected && !facts->of->forked_collected))
		return 0;
	every = choose_every(advising);
	if (every < 2)
		return 0;
	outcome = gc_model_manual(model, facts, every);
	longest = outcome.max_ns + model->object_ns * (model->heap_most - model->heap);
	advice = advice_add(advising, ADVICE_MANUAL, before - outcome.ns,
		/* At worst there is one for each part of N steps, at best the last comes after the end. */
		before - fmax(COLDER, model->spread) * longest * ceil(outcome.count),
		before - outcome.ns / model->spread * (1 - fmin(1, 1 / outcome.count)), &r);
	if (!advice)
		return r;
	advice->every = (uint64_t)every;
	advice->grows_objects = stats_count(gc_model_garbage(model, facts) * every);
	if (bytes > 0)
		advice->grows_bytes = stats_count(bytes * (double)advice->grows_objects);
	advice->step_max_after_ns = stats_whole(longest);
	say_manual(advising, advice, &outcome);
	return say_manual_tail(advising, &outcome, advice);
}

int advise_disable(struct advising *advising)
{
	const struct gc_facts *facts = gc_facts(advising);
	double before = (double)facts->of->overlap_ns;
	struct advice *advice;
	int r;

	/*
	 * That nothing was garbage is known only once all generations have been looked at, more than once: what is
	 * dropped later lies in the oldest. What the workload asks for itself it would go on to ask for. Forked
	 * processes inherit the setting.
	 */
	if (facts->manual.overlap_ns || !gc_model(advising)->garbage_known || facts->collected ||
		facts->of->forked_collected || !facts->automatic[0].count ||
		facts->automatic[2].count < LEAST_FULL)
		return 0;
	advice = advice_add(advising, ADVICE_DISABLE, before, 0.95 * before, before, &r);
	if (!advice)
		return r;
	advice->grows_objects = 0;
	snprintf(advice->title, sizeof(advice->title),
		"Turn the collector off: it never freed anything");
	snprintf(advice->line, sizeof(advice->line), "gc.disable()  # before the loop");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %s collections, of which %s full, freed nothing at all",
		DESCRIBE_COUNT(facts->automatic[0].count + facts->automatic[1].count +
			       facts->automatic[2].count),
		DESCRIBE_COUNT(facts->automatic[2].count));
	snprintf(advice->risk, sizeof(advice->risk),
		"reference cycles that other code makes later are never freed: watch memory, and "
		"trace again "
		"when libraries change");
	gc_say_inherited(advising, advice);
	return 0;
}

/* A manual collection's line, and what it brought. */
struct manual_line {
	uint32_t frame; /* 0: no stack was taken */
	uint64_t count, overlap_ns, ns, collected, max_ns;
	bool collected_known;
};

#define LINES 8 /* of a workload that collect by hand; further ones are not looked at */

struct manual_lines {
	struct manual_line items[LINES];
	size_t count;
};

/* NULL: there are too many. */
static struct manual_line *line_of(struct manual_lines *lines, uint32_t frame)
{
	for (size_t i = 0; i < lines->count; i++)
		if (lines->items[i].frame == frame)
			return &lines->items[i];
	if (lines->count == LINES)
		return NULL;
	lines->items[lines->count] = (struct manual_line){.frame = frame, .collected_known = true};
	return &lines->items[lines->count++];
}

static void find_lines(const struct gc_facts *facts, struct manual_lines *lines)
{
	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];
		uint64_t overlap_ns = stats_whole(gc_event_overlap(event) + 0.5);
		struct manual_line *line =
			event->manual && overlap_ns ? line_of(lines, event->trigger) : NULL;

		if (!line)
			continue;
		line->count++;
		stats_add(&line->overlap_ns, overlap_ns);
		stats_add(&line->ns, event->duration_ns);
		if (overlap_ns > line->max_ns)
			line->max_ns = overlap_ns;
		line->collected_known &= event->collected >= 0;
		stats_add(&line->collected,
			(uint64_t)(event->collected > 0 ? event->collected : 0));
	}
}

/*
 * What would be left: freeing what it freed, and the full collections that then come by themselves.
 */
static double automatic_instead(const struct advising *advising, const struct manual_line *line)
{
	const struct gc_facts *facts = gc_facts(advising);
	double young = fmax((double)facts->automatic[0].count, (double)line->count);

	return (1 + young / gc_young_to_full(facts)) * (double)line->ns / (double)line->count +
	       gc_model(advising)->near_ns * (double)line->collected;
}

static void say_remove(struct advising *advising, const struct manual_line *line,
	struct advice *advice)
{
	const char *where = DESCRIBE_FRAME(advising->attribution->stacks, line->frame);
	bool alone = !gc_facts(advising)->automatic[0].count;

	snprintf(advice->title, sizeof(advice->title), "Drop the gc.collect() %s%s",
		*where ? "in " : "in the loop", where);
	snprintf(advice->line, sizeof(advice->line), "%s# remove: gc.collect()%s%s",
		alone ? "gc.enable()  " : "", *where ? "  in " : "", where);
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate, ": %s collections by hand, of %s each, freed %.1f objects each",
		DESCRIBE_COUNT(line->count), FORMAT_DURATION(line->ns / line->count),
		(double)line->collected / (double)line->count);
	snprintf(advice->risk, sizeof(advice->risk),
		"none for memory%s: what they freed, the automatic collections free too; unless they "
		"are there "
		"to release what finalizers hold",
		alone ? " with gc.enable(), as none came by itself and the collector may be off"
		      : "");
}

static int remove_line(struct advising *advising, const struct manual_line *line)
{
	double each = (double)line->collected / (double)line->count, instead;
	struct advice *advice;
	int r;

	if (line->count < 3 || !line->collected_known ||
		each > fmax(NEXT_TO_NOTHING, 0.001 * gc_model(advising)->heap))
		return 0;
	instead = automatic_instead(advising, line);
	advice = advice_add(advising, ADVICE_REMOVE, (double)line->overlap_ns - instead / 4,
		(double)line->overlap_ns - instead, (double)line->overlap_ns, &r);
	if (!advice)
		return r;
	advice->trigger = line->frame;
	advice->grows_objects = stats_count(each * gc_young_to_full(gc_facts(advising)));
	advice->step_max_after_ns = line->max_ns;
	say_remove(advising, line, advice);
	return 0;
}

int advise_remove(struct advising *advising)
{
	struct manual_lines lines = {};
	int r = 0;

	find_lines(gc_facts(advising), &lines);
	for (size_t i = 0; i < lines.count && !r; i++)
		r = remove_line(advising, &lines.items[i]);
	return r;
}

/* The line at which most garbage was found: where the collector happened to be due. */
static uint32_t where_noticed(const struct attribution *attribution)
{
	const struct trigger_cost *most = NULL;

	for (size_t i = 0; i < attribution->triggers.count; i++) {
		const struct trigger_cost *one = &attribution->triggers.items[i];

		if (one->frame && one->collected > 0 && (!most || one->collected > most->collected))
			most = one;
	}
	return most ? most->frame : 0;
}

/* What full collections, and those by hand, took to find and to free what they freed. */
static double freeing_old(const struct gc_model *model, const struct gc_facts *facts)
{
	double each = model->object_ns + model->far_ns, ns = 0;

	for (size_t i = 0; i < facts->events.count; i++) {
		const struct gc_event *event = &facts->events.items[i];

		if ((event->generation == 2 || event->manual) && event->collected > 0)
			ns += fmin(each * (double)event->collected * (double)event->weight,
				gc_event_overlap(event));
	}
	return ns;
}

int advise_cycles(struct advising *advising)
{
	const struct gc_model *model = gc_model(advising);
	const struct gc_facts *facts = gc_facts(advising);
	double freeing = gc_freeing_young(model, facts) + freeing_old(model, facts);
	double per_step = facts->of->steps ? model->garbage_in_all / (double)facts->of->steps : 0;
	const struct attribution *attribution = advising->attribution;
	struct advice *advice;
	int r;

	if (!model->known || per_step < MUCH_GARBAGE)
		return 0;
	advice = advice_add(advising, ADVICE_CYCLES, freeing, freeing / 2,
		(double)facts->of->overlap_ns, &r);
	if (!advice)
		return r;
	advice->trigger = where_noticed(attribution);
	advice->grows_objects = 0;
	snprintf(advice->title, sizeof(advice->title),
		"Break the reference cycles that the steps leave behind");
	snprintf(advice->line, sizeof(advice->line),
		"import collections, gc; gc.set_debug(gc.DEBUG_SAVEALL); gc.collect(); "
		"print(collections.Counter(map(type, gc.garbage)).most_common(9)); "
		"gc.set_debug(0); gc.garbage.clear()");
	advice_say_fall(advising, advice);
	APPEND_TO(advice->estimate,
		": %.0f objects a step are freed by the collector alone, and no setting "
		"saves that work",
		per_step);
	snprintf(advice->risk, sizeof(advice->risk),
		"none for memory, but which code makes the cycles is "
		"not recorded: the line prints the commonest types of garbage, once");
	if (gc_holds_tensors(advising))
		APPEND_TO(advice->risk,
			"; until they are freed, tensors in such cycles also keep their GPU memory");
	if (advice->trigger)
		APPEND_TO(advice->risk,
			": most were found while %s ran, whose allocation was due, not "
			"necessarily the culprit",
			DESCRIBE_FRAME(attribution->stacks, advice->trigger));
	return 0;
}
