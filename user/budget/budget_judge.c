/* A budget and an attribution in; kept, broken or refused, and the sentence for it, out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attrib.h"
#include "stats.h"
#include "budget.h"
#include "budget_metric.h"
#include "describe.h"
#include "meaning.h"
#include "parse.h"

#define EPSILON 1e-9 /* relative: what decimal units lose in conversion breaks no budget */

static bool is_kept(const struct budget *budget, double value)
{
	double slack = budget->or_equal ? EPSILON * budget->limit : -EPSILON * budget->limit;

	if (budget->at_least)
		return budget->or_equal ? value >= budget->limit - slack
					: value > budget->limit - slack;
	return budget->or_equal ? value <= budget->limit + slack : value < budget->limit + slack;
}

/* What was lost may be below 0 by chance: that is shown as 0. */
static void show_value(enum budget_unit unit, double value, char *text, size_t size)
{
	value = value > 0 ? value : 0;
	if (unit == BUDGET_TIME)
		format_duration(stats_whole(value + 0.5), text, size);
	else if (unit == BUDGET_SHARE)
		describe_share(value, text, size);
	else
		describe_count(stats_whole(value), text, size);
}

/* Whether a figure per step may be judged. */
static bool refuse(const struct budget *budget, const struct attribution *attribution,
	struct budget_result *ret)
{
	const struct steps *steps = attribution->steps;

	if (!steps->tracks.count) {
		snprintf(ret->why, sizeof(ret->why), "%s needs steps, and there are none%s%.200s",
			budget->metric->name, *steps->note ? ": " : "", steps->note);
		return true;
	}
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct step_track *track = &steps->tracks.items[i];
		const char *name = DESCRIBE_PROCESS(attribution->recording, track->process);

		if (!track->measured) {
			snprintf(ret->why, sizeof(ret->why),
				"%s needs steps, and those of %s are windows of time: choose a "
				"signal "
				"with --step",
				budget->metric->name, name);
			return true;
		}
		if (!(track->confidence >= STEP_CONFIDENT)) {
			snprintf(ret->why, sizeof(ret->why),
				"the %zu steps of %s are known with confidence %.2f only, below "
				"%.1f: "
				"record more of them, or choose a signal with --step",
				(size_t)track->steps.count, name, track->confidence,
				STEP_CONFIDENT);
			return true;
		}
	}
	return false;
}

/* Whether a figure of what was lost may not be judged, for a track of which that cannot be told. */
static bool refuse_untold(const struct budget *budget, const struct attribution *attribution,
	const char *stopped, struct budget_result *ret)
{
	for (size_t i = 0; i < attribution->tracks.count; i++) {
		const struct step_track *track = &attribution->steps->tracks.items[i];

		if (attrib_told(&attribution->tracks.items[i]))
			continue;
		ret->untold = true;
		snprintf(ret->why, sizeof(ret->why),
			"%s cannot be told of %s: %.280s. What can be judged is %s: %s",
			budget->metric->name,
			DESCRIBE_PROCESS(attribution->recording, track->process),
			DESCRIBE_UNTOLD(&attribution->tracks.items[i]), budget->metric->stopped,
			stopped);
		return true;
	}
	return false;
}

/* The value of the track that is furthest on the wrong side. */
static int measure(const struct budget *budget, const struct attribution *attribution,
	struct budget_measure *ret, size_t *ret_track)
{
	const struct budget_metric *metric = budget->metric;
	size_t count = metric->steps ? attribution->tracks.count : 1;

	for (size_t i = 0; i < count; i++) {
		struct budget_measure one = {.step = ATTRIB_NONE};
		int r = metric->measure(attribution, i, metric, &one);

		if (r)
			return r;
		if (i && (budget->at_least ? one.value >= ret->value : one.value <= ret->value))
			continue;
		*ret = one;
		*ret_track = i;
	}
	return 0;
}

/* Appends text, as much as fits. */
#define APPEND(ret, ...)                                                                           \
	do {                                                                                       \
		size_t used_ = strlen((ret)->why);                                                 \
		snprintf((ret)->why + used_, sizeof((ret)->why) - used_, __VA_ARGS__);             \
	} while (0)

static double seconds_in(const struct attribution *attribution, uint64_t time_ns)
{
	uint64_t start_ns = attribution->recording->start_ns;

	return time_ns > start_ns ? (double)(time_ns - start_ns) / 1e9 : 0;
}

static void say_trigger(const struct attribution *attribution, uint32_t stack,
	struct budget_result *ret)
{
	uint32_t frame = attrib_trigger(attribution->stacks, stack);

	if (frame)
		APPEND(ret, ", triggered in %s", DESCRIBE_FRAME(attribution->stacks, frame));
}

/* A metric of a fact is about a part of the pause: it need not be the longest pause that has the longest part. */
static void say_pause(const struct attribution *attribution, const struct budget_metric *metric,
	const struct pause *pause, struct budget_result *ret)
{
	const struct runtime_meaning *meaning = pause->class->of;
	int place = meaning_fact(meaning, FACT_OPERATION);
	bool named = place >= 0 && pause->facts[place];

	APPEND(ret, "; the longest, %s%s%sof %s (%.48s)", metric->fact ? "in a " : "",
		metric->fact ? meaning->pause : "", metric->fact ? " " : "",
		FORMAT_DURATION(pause_duration(pause)),
		named ? strtab_get(attribution->stacks->strings, (uint32_t)pause->facts[place])
		      : pause->class->words);
	APPEND(ret, ", began %.3f s into the recording", seconds_in(attribution, pause->start_ns));
	say_trigger(attribution, pause->stack, ret);
}

static void say_stall(const struct attribution *attribution, const struct stall *stall,
	struct budget_result *ret)
{
	APPEND(ret, "; the longest, %s, began %.3f s into the recording",
		meaning_wait(attribution->recording, stall),
		seconds_in(attribution, stall->start_ns));
	say_trigger(attribution, stall->stack, ret);
}

static void say_step(const struct attribution *attribution, size_t track, uint32_t index,
	struct budget_result *ret)
{
	const struct step *step = &attribution->steps->tracks.items[track].steps.items[index];
	const struct step_cost *cost = &attribution->tracks.items[track].steps.items[index];

	APPEND(ret, "; the worst is step %u, %.3f s into the recording, of %s with pauses of %s",
		index, seconds_in(attribution, step->start_ns),
		FORMAT_DURATION(step_duration(step)), FORMAT_DURATION(cost->overlap_ns));
	if (cost->worst != ATTRIB_NONE)
		say_trigger(attribution, attribution->charges.items[cost->worst].stack, ret);
}

/* Names the line that costs most, where no single step or pause explains the figure: of all processes, not of one. */
static void say_costliest_line(const struct attribution *attribution, struct budget_result *ret)
{
	if (!attribution->triggers.count || !attribution->triggers.items[0].frame)
		return;
	APPEND(ret, "; %s%s of pauses were triggered in %s",
		attribution->recording->runtimes.count > 1 ? "in all processes " : "",
		FORMAT_DURATION(attribution->triggers.items[0].pause_ns),
		DESCRIBE_FRAME(attribution->stacks, attribution->triggers.items[0].frame));
}

/*
 * "estimated, 95 % interval 3.2–5.1 %, in which the limit lies": how a figure of what was lost is known. "" for others,
 * and where nothing was stopped.
 */
static void know(const struct budget *budget, const struct track_cost *cost,
	const struct budget_measure *found, char *text, size_t size)
{
	bool ends = found->low < found->high;

	*text = '\0';
	if (budget->metric->stopped && cost->overlap_ns)
		snprintf(text, size, "%s%s%s", describe_source(attrib_source(cost)),
			ends ? DESCRIBE_INTERVAL(cost, budget->metric->unit == BUDGET_SHARE) : "",
			ends && found->low <= budget->limit && budget->limit <= found->high
				? ", in which the limit lies"
				: "");
}

static void say_broken(const struct budget *budget, const struct attribution *attribution,
	const struct budget_measure *found, size_t track, const char *known,
	struct budget_result *ret)
{
	const struct budget_metric *metric = budget->metric;
	char limit[32];

	show_value(metric->unit, budget->limit, limit, sizeof(limit));
	APPEND(ret, "%s is %s", metric->name, ret->value_text);
	if (*known)
		APPEND(ret, " (%s)", known);
	APPEND(ret, ", %s %s", budget->at_least ? "not above" : "not below", limit);
	if (metric->steps)
		APPEND(ret, " in %s",
			DESCRIBE_PROCESS(attribution->recording,
				attribution->steps->tracks.items[track].process));
	else if (found->process)
		APPEND(ret, " in %s", DESCRIBE_PROCESS(attribution->recording, found->process));
	if (*found->basis)
		APPEND(ret, ": %s", found->basis);
	else if (found->pause)
		say_pause(attribution, metric, found->pause, ret);
	else if (found->stall)
		say_stall(attribution, found->stall, ret);
	else if (found->step != ATTRIB_NONE)
		say_step(attribution, track, found->step, ret);
	else if (strcmp(metric->name, "step.count"))
		say_costliest_line(attribution, ret);
	if (!metric->steps && !*found->basis && attribution->figures.exits)
		APPEND(ret, " (%llu at %s not counted)",
			(unsigned long long)attribution->figures.exits,
			meaning_exit(attribution->figures.exits_of)->any);
}

/* Whose share it is, and what the figure leaves out although the report's totals include it; how it is known. */
static void say_basis(const struct budget *budget, const struct attribution *attribution,
	const struct budget_measure *found, const char *known, const char *stopped,
	struct budget_result *ret)
{
	uint64_t exits = attribution->figures.exits;
	char left_out[64] = "";

	if (*found->basis) {
		snprintf(ret->basis, sizeof(ret->basis), "%s", found->basis);
		return;
	}
	if (exits && !budget->metric->steps)
		snprintf(left_out, sizeof(left_out), "%llu at %s not counted",
			(unsigned long long)exits,
			meaning_exit(attribution->figures.exits_of)->any);
	if (found->process)
		snprintf(ret->basis, sizeof(ret->basis), "of the time %s was traced%s%s",
			DESCRIBE_PROCESS(attribution->recording, found->process),
			*left_out ? "; " : "", left_out);
	else if (*known)
		snprintf(ret->basis, sizeof(ret->basis), "%s; %s is %s", known,
			budget->metric->stopped, stopped);
	else
		snprintf(ret->basis, sizeof(ret->basis), "%s", left_out);
}

/* Of a figure of what was lost: that of what was stopped, as a text. 0 or -ENOMEM. */
static int measure_stopped(const struct budget *budget, const struct attribution *attribution,
	char *text, size_t size)
{
	struct budget beside = *budget;
	struct budget_measure found = {.step = ATTRIB_NONE};
	size_t track;
	int r;

	*text = '\0';
	if (!budget->metric->stopped)
		return 0;
	beside.metric = budget_metric_find(budget->metric->stopped);
	r = measure(&beside, attribution, &found, &track);
	if (!r)
		show_value(beside.metric->unit, found.value, text, size);
	return r;
}

/* Of what could be measured. */
static void conclude(const struct budget *budget, const struct attribution *attribution,
	const struct budget_measure *found, size_t track, const char *stopped,
	struct budget_result *ret)
{
	char known[128] = "";

	ret->known = true;
	ret->value = found->value;
	ret->outcome = is_kept(budget, found->value) ? BUDGET_KEPT : BUDGET_BROKEN;
	show_value(budget->metric->unit, found->value, ret->value_text, sizeof(ret->value_text));
	if (budget->metric->steps)
		know(budget, &attribution->tracks.items[track], found, known, sizeof(known));
	say_basis(budget, attribution, found, known, stopped, ret);
	if (ret->outcome == BUDGET_BROKEN)
		say_broken(budget, attribution, found, track, known, ret);
}

/* Whether the limit lies where the value may be, as part of it is not known. */
static bool refuse_unsure(const struct budget *budget, const struct budget_measure *found,
	struct budget_result *ret)
{
	char least[32], most[32];

	if (!found->bounded || is_kept(budget, found->least) == is_kept(budget, found->most))
		return false;
	show_value(budget->metric->unit, found->least, least, sizeof(least));
	show_value(budget->metric->unit, found->most, most, sizeof(most));
	ret->untold = true;
	snprintf(ret->why, sizeof(ret->why), "%s is between %s and %s, as records are missing (%s)",
		budget->metric->name, least, most, found->basis);
	return true;
}

int budget_judge(const struct budget *budget, const struct attribution *attribution,
	struct budget_result *ret)
{
	struct budget_result result = {.outcome = BUDGET_REFUSED};
	struct budget_measure found = {.step = ATTRIB_NONE};
	char stopped[32];
	size_t track = 0;
	int r;

	if (budget->metric->steps && refuse(budget, attribution, &result)) {
		*ret = result;
		return 0;
	}
	r = measure_stopped(budget, attribution, stopped, sizeof(stopped));
	if (r)
		return r;
	if (budget->metric->stopped && refuse_untold(budget, attribution, stopped, &result)) {
		*ret = result;
		return 0;
	}
	r = measure(budget, attribution, &found, &track);
	if (r)
		return r;
	if (*found.missing) {
		result.untold = found.untold;
		snprintf(result.why, sizeof(result.why), "%s needs %s%s", budget->metric->name,
			found.missing,
			found.some ? ", and this recording does not have them all" : "");
	} else if (!refuse_unsure(budget, &found, &result)) {
		conclude(budget, attribution, &found, track, stopped, &result);
	}
	*ret = result;
	return 0;
}
