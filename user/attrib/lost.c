/* The steps of a track and their overlaps in; what it lost by its pauses, how that is known, and its part in each step out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"
#include "stats.h"

#define BLANK_SHARE 0.05 /* of the steps whose work is not known; with more, work is not used */
#define LEFT_MOST   0.3	 /* of the overlap, in steps that are left out */
#define OFF_CPU	    0.7 /* of its own pauses a thread is on the CPU for more, or it slept in them */
#define SURE	    3.0 /* standard deviations */
#define BALANCE                                                                                    \
	0.9 /* of the time that steps would have taken without pauses: a worker as busy may be what they wait for */
#define LITTLE 0.05 /* of the overlap */

static const char untold_few[] = "there are too few steps to compare";
static const char untold_guess[] =
	"which calls are steps is a guess; --step with the right one, or gctrace trial would tell";
static const char untold_windows[] = "the steps are windows of time, which no pause makes longer";
static const char untold_noise[] =
	"the other steps vary more than the pauses took; a longer recording, the GPU's own record or gctrace trial would tell";
static const char untold_left[] =
	"most pauses are in the first steps or between two ways of working, where no steps are like them; a longer recording would tell";

static const char untold_worker[] =
	"a worker process was busy nearly all the time, and what it had ready may have kept steps going that would have waited for it without pauses; gctrace trial would tell";

static void timeline_release(struct timeline *timeline)
{
	free(timeline->duration);
	free(timeline->overlap);
	free(timeline->work);
	free(timeline->wait);
	free(timeline->blank);
}

static int timeline_make(const struct step_track *track, const struct track_cost *cost,
	struct timeline *ret)
{
	size_t count = ret->count = track->steps.count;

	ret->duration = calloc(count + 1, sizeof(*ret->duration));
	ret->overlap = calloc(count + 1, sizeof(*ret->overlap));
	if (!ret->duration || !ret->overlap)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ret->duration[i] = (double)step_duration(&track->steps.items[i]);
		ret->overlap[i] = (double)cost->steps.items[i].overlap_ns +
				  (double)cost->steps.items[i].held_ns;
	}
	return 0;
}

static bool work_is_known(const struct step_track *track)
{
	size_t blank = 0;

	for (size_t i = 0; i < track->steps.count; i++)
		blank += track->steps.items[i].work_ns < 0;
	return (double)blank <= BLANK_SHARE * (double)track->steps.count;
}

/*
 * Whether the thread was on the CPU in its own pauses: a finalizer may sleep. If it was, steps with such pauses have as
 * much more CPU time than others, and each has at least as much as its pauses.
 */
static int runs_in_pauses(const struct timeline *timeline, const struct comparison *comparison,
	const struct track_cost *cost, bool *ret)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));
	double own = 0, near = 0, work = 0, most, chance;

	if (!residuals)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++) {
		double one = (double)cost->steps.items[i].own_ns;

		own += timeline->blank[i] ? 0 : one;
		work += !timeline->blank[i] && one > 0 ? timeline->work[i] : 0;
		near += comparison->reach && comparison->role[i] == ROLE_NEAR &&
					comparison->paused[i]
				? one
				: 0;
	}
	*ret = work > OFF_CPU * own;
	if (!*ret || !(near > 0))
		return 0;
	if (residuals_of(comparison, timeline->work, residuals))
		return -ENOMEM;
	most = lags_sum(comparison, residuals, (struct lags){0, 1});
	chance = sqrt(lags_variance(comparison, residuals, (struct lags){0, 1}));
	if (isnan(chance))
		return -ENOMEM;
	*ret = most + SURE * chance > OFF_CPU * near;
	return 0;
}

/* Splits the durations, where the work is known. 0 or -ENOMEM. */
static int split_durations(const struct step_track *track, const struct track_cost *cost,
	const struct comparison *comparison, struct timeline *timeline)
{
	bool runs;

	timeline->work = calloc(timeline->count + 1, sizeof(*timeline->work));
	timeline->wait = calloc(timeline->count + 1, sizeof(*timeline->wait));
	if (!timeline->work || !timeline->wait)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++)
		timeline->work[i] = timeline->blank[i] ? 0 : (double)track->steps.items[i].work_ns;
	if (runs_in_pauses(timeline, comparison, cost, &runs))
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++) {
		if (timeline->blank[i])
			continue;
		if (runs)
			timeline->work[i] -= (double)cost->steps.items[i].own_ns;
		timeline->wait[i] =
			timeline->duration[i] - timeline->overlap[i] - timeline->work[i];
	}
	return 0;
}

static int set_blank(const struct step_track *track, struct timeline *timeline)
{
	timeline->blank = calloc(timeline->count + 1, sizeof(*timeline->blank));
	if (!timeline->blank)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++)
		timeline->blank[i] = track->steps.items[i].work_ns < 0;
	return 0;
}

/* What steps far from pauses around each took; where there are none, the step without its pauses. */
static int set_bases(const struct timeline *timeline, const struct comparison *comparison,
	struct track_cost *cost)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));

	if (!residuals)
		return -ENOMEM;
	if (comparison->reach && residuals_of(comparison, timeline->duration, residuals))
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++) {
		double base = timeline->duration[i] - timeline->overlap[i];

		if (comparison->reach && comparison->to[i] > comparison->from[i])
			base = timeline->duration[i] - residuals[i];
		cost->steps.items[i].base_ns = stats_whole(base + 0.5);
	}
	return 0;
}

static int64_t whole_of(double ns)
{
	return ns < 0 ? -stats_count(-ns + 0.5) : stats_count(ns + 0.5);
}

/*
 * Whether pauses may have given a worker the time that it is slower than the thread: then steps that never wait would have,
 * without them, and less was lost than is seen.
 */
static bool may_hide(const struct track_cost *cost, const struct finding *finding)
{
	double time = (double)cost->time_ns, lost = (double)cost->cost.ns;

	return !finding->waits && lost > LITTLE * (double)cost->overlap_ns &&
	       cost->worker_busy * time >= BALANCE * (time - lost);
}

/*
 * From the pauses that were looked at to all of them. Those in steps that are left out are taken to cost the same share;
 * those too short to matter, of which @small is the sum, less, unless nothing is hidden. Both may cost all or nothing.
 */
static void set_cost(const struct finding *finding, double looked_at, double left, double small,
	struct track_cost *cost)
{
	double share = fmin(fmax(finding->ns / looked_at, 0), 1), others = left + small;

	cost->cost.ns = whole_of(finding->ns + share * left + share_of_short(share) * small);
	cost->cost.low_ns = whole_of(finding->low + (finding->all ? others : 0));
	cost->cost.high_ns = whole_of(finding->high + others);
	cost->untold = finding->untold;
	/* An interval wider than what was stopped says nothing of it. */
	if (!cost->untold && (double)(cost->cost.high_ns - cost->cost.low_ns) > looked_at + others)
		cost->untold = untold_noise;
	if (!cost->untold && may_hide(cost, finding))
		cost->untold = untold_worker;
	if (!cost->untold)
		return;
	if (!finding->unbounded && cost->cost.high_ns > 0 &&
		(double)cost->cost.high_ns < looked_at + others)
		cost->most_ns = (uint64_t)cost->cost.high_ns;
	cost->cost = (struct cost_estimate){};
	cost->source = COST_UNTOLD;
}

/*
 * Each step gets the same share of its overlap, so that they add up to the track's cost; no step has more than it
 * lasted, or less than nothing. Where the cost is untold, the overlap stands for it.
 */
static void share_out(const struct timeline *timeline, struct track_cost *cost)
{
	double share = 1;

	if (cost->source != COST_UNTOLD && cost->overlap_ns)
		share = (double)cost->cost.ns / ((double)cost->overlap_ns + (double)cost->held_ns);
	for (size_t i = 0; i < timeline->count; i++) {
		struct step_cost *step = &cost->steps.items[i];

		if (share == 1)
			step->cost_ns = step->overlap_ns;
		else
			step->cost_ns = stats_whole(fmin(share * (double)step->overlap_ns + 0.5,
				timeline->duration[i]));
	}
}

/* What of its pauses did not make a step longer, as its thread then waited less in it. 0 or -ENOMEM. */
static int set_hidden(const struct timeline *timeline, const struct comparison *comparison,
	const struct finding *finding, struct track_cost *cost)
{
	_cleanup_free_ double *residuals = calloc(timeline->count + 1, sizeof(*residuals));

	if (!residuals || residuals_of(comparison, timeline->wait, residuals))
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++) {
		struct step_cost *step = &cost->steps.items[i];
		double usual = timeline->wait[i] - residuals[i], share;

		if (!step->overlap_ns || timeline->blank[i] ||
			comparison->to[i] == comparison->from[i])
			continue;
		share = fmin(fmax(-residuals[i], 0), fmax(usual, 0)) / timeline->overlap[i];
		share = fmin(fmax(share, finding->untold ? 0 : finding->hidden), 1);
		step->hidden_ns = stats_whole(share * (double)step->overlap_ns);
	}
	return 0;
}

static int find(const struct step_track *track, struct timeline *timeline, struct track_cost *cost,
	struct comparison *comparison)
{
	bool known = work_is_known(track);
	double whole = (double)cost->overlap_ns + (double)cost->held_ns;
	struct finding found = {};
	int r = known ? set_blank(track, timeline) : 0;

	if (!r)
		r = comparison_make(timeline, comparison);
	if (!r && known)
		r = split_durations(track, cost, comparison, timeline);
	if (r || !(whole > 0))
		return r;
	cost->source = known ? COST_MEASURED : COST_ESTIMATED;
	if (comparison->reach && comparison->left_ns <= LEFT_MOST * whole) {
		r = known ? measure_lost(timeline, comparison, &found)
			  : estimate_lost(timeline, comparison, &found);
		if (!r && known)
			r = set_hidden(timeline, comparison, &found, cost);
		set_cost(&found, comparison->paused_ns, comparison->left_ns, comparison->small_ns,
			cost);
		return r;
	}
	found.untold = comparison->reach ? untold_left : untold_dense;
	found.unbounded = true;
	if (known)
		measure_dense(timeline, &found);
	set_cost(&found, whole, 0, 0, cost);
	return 0;
}

int lost_find(const struct step_track *track, struct track_cost *cost)
{
	_cleanup_(comparison_release) struct comparison comparison = {};
	_cleanup_(timeline_release) struct timeline timeline = {};
	int r = timeline_make(track, cost, &timeline);

	cost->base = BASE_NONE;
	cost->source = COST_UNTOLD;
	cost->untold = !step_track_confident(track) ? untold_guess
		       : track->measured	    ? untold_few
						    : untold_windows;
	if (!r && track->steps.count >= STEPS_NEEDED && track->measured &&
		step_track_confident(track)) {
		cost->source = COST_MEASURED;
		cost->untold = NULL;
		r = find(track, &timeline, cost, &comparison);
	}
	if (!r)
		r = set_bases(&timeline, &comparison, cost);
	if (r)
		return r;
	if (comparison.reach)
		cost->base = BASE_LIGHT_STEPS;
	share_out(&timeline, cost);
	return 0;
}
