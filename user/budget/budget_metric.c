/* An attribution in; the values that can be budgeted out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrib.h"
#include "stats.h"
#include "budget_gpu.h"
#include "budget_metric.h"
#include "meaning.h"
#include "cleanup.h"

#define KNOWN 0.99 /* share of the pauses that must have the fact for it to be judged */

static const struct pause *if_any(const struct pause *pause)
{
	return pause->id ? pause : NULL;
}

static int pause_quantile(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct pause_figures *figures = &attribution->figures;

	ret->value = (double)sums_quantile(&figures->durations, metric->q);
	ret->pause = if_any(&figures->longest);
	return 0;
}

static int pause_mean(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct pause_figures *figures = &attribution->figures;

	ret->value = figures->durations.count ? (double)figures->durations.total_ns /
							(double)figures->durations.count
					      : 0;
	ret->pause = if_any(&figures->longest);
	return 0;
}

static int pause_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->figures.durations.total_ns;
	ret->pause = if_any(&attribution->figures.longest);
	return 0;
}

static int pause_count(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->figures.durations.count;
	return 0;
}

static int pause_share(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = attrib_pause_share(attribution, &ret->process);
	return 0;
}

int budget_full_count(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->figures.full;
	ret->pause = if_any(&attribution->figures.longest_full);
	return 0;
}

int budget_full_max(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->pause = if_any(&attribution->figures.longest_full);
	ret->value = ret->pause ? (double)pause_duration(ret->pause) : 0;
	return 0;
}

int budget_full_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->figures.full_ns;
	ret->pause = if_any(&attribution->figures.longest_full);
	return 0;
}

static bool has_fact(const struct runtime_meaning *meaning, const char *key)
{
	return meaning_fact(meaning, key) >= 0;
}

static bool has_stalls(const struct runtime_meaning *meaning, const char *key)
{
	return meaning->wait_count;
}

/* Adds @name to the list in @ret: "a", "a or b", "a, b or c", of which @last says that nothing follows. */
static void add_name(char *ret, size_t size, const char *name, bool last)
{
	size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s%s", !used ? "" : last ? " or " : ", ", name);
}

/* Sets ->missing to what must have run for there to be such figures at all, unless such a runtime did run. */
static void find_missing(const struct recording *recording,
	bool (*fits)(const struct runtime_meaning *meaning, const char *key), const char *key,
	struct budget_measure *ret)
{
	size_t left = 0;

	for (size_t i = 0; i < recording->runtimes.count; i++)
		if (fits(meaning_of(recording->runtimes.items[i].kind), key))
			return;
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		left += fits(*at, key);
	if (!left)
		add_name(ret->missing, sizeof(ret->missing),
			"a runtime that this gctrace was built without", true);
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if (fits(*at, key))
			add_name(ret->missing, sizeof(ret->missing), (*at)->process, !--left);
}

int budget_fact(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct fact_figures *fact = attrib_fact(attribution, metric->fact);

	find_missing(attribution->recording, has_fact, metric->fact, ret);
	if (!fact)
		return 0;
	if (!*ret->missing && (double)fact->values.count < KNOWN * (double)fact->pauses) {
		snprintf(ret->missing, sizeof(ret->missing), "%s", metric->values);
		ret->some = true;
	}
	ret->value = (double)sums_quantile(&fact->values, metric->q);
	ret->pause = if_any(&fact->pause);
	return 0;
}

static int stalls(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct recording *recording = attribution->recording;
	uint64_t total_ns = 0;

	find_missing(recording, has_stalls, NULL, ret);
	for (size_t i = 0; i < recording->stalls.count; i++) {
		const struct stall *stall = &recording->stalls.items[i];

		stats_add(&total_ns, stall_duration(stall));
		if (!ret->stall || stall_duration(stall) > stall_duration(ret->stall))
			ret->stall = stall;
	}
	ret->value = metric->q > 0 ? (double)(ret->stall ? stall_duration(ret->stall) : 0)
				   : (double)total_ns;
	return 0;
}

static double share_of(double ns, const struct track_cost *cost)
{
	return cost->time_ns ? ns / (double)cost->time_ns : 0;
}

static int stopped_share(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct track_cost *cost = &attribution->tracks.items[track];

	ret->value = share_of((double)cost->overlap_ns, cost);
	return 0;
}

static int stopped_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->tracks.items[track].overlap_ns;
	return 0;
}

static int cost_share(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct track_cost *cost = &attribution->tracks.items[track];

	ret->value = share_of((double)cost->cost.ns, cost);
	ret->low = share_of((double)cost->cost.low_ns, cost);
	ret->high = share_of((double)cost->cost.high_ns, cost);
	return 0;
}

static int cost_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	const struct cost_estimate *cost = &attribution->tracks.items[track].cost;

	ret->value = (double)cost->ns;
	ret->low = (double)cost->low_ns;
	ret->high = (double)cost->high_ns;
	return 0;
}

static int step_count(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	ret->value = (double)attribution->tracks.items[track].steps.count;
	return 0;
}

static uint64_t duration_at(const struct attribution *attribution, size_t track, size_t step)
{
	return step_duration(&attribution->steps->tracks.items[track].steps.items[step]);
}

static uint64_t cost_at(const struct attribution *attribution, size_t track, size_t step)
{
	return attribution->tracks.items[track].steps.items[step].cost_ns;
}

static uint64_t stopped_at(const struct attribution *attribution, size_t track, size_t step)
{
	return attribution->tracks.items[track].steps.items[step].overlap_ns;
}

static int of_steps(const struct attribution *attribution, size_t track, double q,
	uint64_t (*at)(const struct attribution *attribution, size_t track, size_t step),
	struct budget_measure *ret)
{
	size_t count = attribution->tracks.items[track].steps.count;
	_cleanup_free_ uint64_t *values = calloc(count + 1, sizeof(*values));
	uint64_t most = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		values[i] = at(attribution, track, i);
		if (values[i] < most || (values[i] == most && ret->step != ATTRIB_NONE))
			continue;
		most = values[i];
		ret->step = (uint32_t)i;
	}
	ret->value = (double)stats_quantile(values, count, q);
	return 0;
}

static int step_time(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	return of_steps(attribution, track, metric->q, duration_at, ret);
}

static int step_stopped(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	return of_steps(attribution, track, metric->q, stopped_at, ret);
}

static int step_cost(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	return of_steps(attribution, track, metric->q, cost_at, ret);
}

static const struct budget_metric of_pauses[] = {
	{"pause.max", "the longest pause", BUDGET_TIME, false, 1, pause_quantile},
	{"pause.p50", "the median pause", BUDGET_TIME, false, 0.5, pause_quantile},
	{"pause.p95", "95 % of the pauses are not longer", BUDGET_TIME, false, 0.95,
		pause_quantile},
	{"pause.p99", "99 % of the pauses are not longer", BUDGET_TIME, false, 0.99,
		pause_quantile},
	{"pause.mean", "the mean pause", BUDGET_TIME, false, 0, pause_mean},
	{"pause.total", "all pauses together", BUDGET_TIME, false, 0, pause_total},
	{"pause.count", "how many pauses", BUDGET_COUNT, false, 0, pause_count},
	{"pause.share",
		"pauses of the process that pauses most, of the time for which it was traced",
		BUDGET_SHARE, false, 0, pause_share},
	{"full.count", "how many pauses with a full collection", BUDGET_COUNT, false, 0,
		budget_full_count},
	{"full.max", "the longest pause with a full collection", BUDGET_TIME, false, 0,
		budget_full_max},
	{"full.total", "all pauses with a full collection together", BUDGET_TIME, false, 0,
		budget_full_total},
};

/* These come after those of the runtimes. */
static const struct budget_metric of_waits_and_steps[] = {
	{"ttsp.max", "the longest time to safepoint", BUDGET_TIME, false, 1, budget_fact, FACT_TTSP,
		"times to safepoint"},
	{"ttsp.p99", "99 % of the times to safepoint are not longer", BUDGET_TIME, false, 0.99,
		budget_fact, FACT_TTSP, "times to safepoint"},
	{"stall.max",
		"the longest time that one thread waited for the collector, calls for a "
		"collection included",
		BUDGET_TIME, false, 1, stalls},
	{"stall.total", "all such waits together", BUDGET_TIME, false, 0, stalls},
	{"stopped.share", "pauses in steps, of training time: a fact", BUDGET_SHARE, true, 0,
		stopped_share},
	{"stopped.total", "pauses in steps, as a time", BUDGET_TIME, true, 0, stopped_total},
	{"cost.share", "what was lost to them, of training time, where that can be told",
		BUDGET_SHARE, true, 0, cost_share, .stopped = "stopped.share"},
	{"cost.total", "what was lost to them, as a time", BUDGET_TIME, true, 0, cost_total,
		.stopped = "stopped.total"},
	{"cost.counterfactual", "another name for cost.share", BUDGET_SHARE, true, 0, cost_share,
		.stopped = "stopped.share"},
	{"step.p50", "the median step", BUDGET_TIME, true, 0.5, step_time},
	{"step.p95", "95 % of the steps are not longer", BUDGET_TIME, true, 0.95, step_time},
	{"step.p99", "99 % of the steps are not longer", BUDGET_TIME, true, 0.99, step_time},
	{"step.max", "the longest step", BUDGET_TIME, true, 1, step_time},
	{"step.stopped.max", "the most that pauses stopped one step", BUDGET_TIME, true, 1,
		step_stopped},
	{"step.stopped.p99", "99 % of the steps are stopped no longer", BUDGET_TIME, true, 0.99,
		step_stopped},
	{"step.cost.max", "the most that was lost to the pauses of one step", BUDGET_TIME, true, 1,
		step_cost, .stopped = "step.stopped.max"},
	{"step.cost.p99", "99 % of the steps lose no more", BUDGET_TIME, true, 0.99, step_cost,
		.stopped = "step.stopped.p99"},
	{"step.count", "how many steps", BUDGET_COUNT, true, 0, step_count},
};

const struct budget_metric *budget_metric_at(size_t at)
{
	if (at < ARRAY_SIZE(of_pauses))
		return &of_pauses[at];
	at -= ARRAY_SIZE(of_pauses);
	for (const struct runtime_meaning *const *own = runtime_meanings; *own; own++) {
		if (at < (*own)->metric_count)
			return &(*own)->metrics[at];
		at -= (*own)->metric_count;
	}
	if (at < ARRAY_SIZE(of_waits_and_steps))
		return &of_waits_and_steps[at];
	return budget_gpu_at(at - ARRAY_SIZE(of_waits_and_steps));
}

const struct budget_metric *budget_metric_find(const char *name)
{
	const struct budget_metric *metric;

	for (size_t i = 0; (metric = budget_metric_at(i)); i++)
		if (!strcmp(name, metric->name))
			return metric;
	return NULL;
}
