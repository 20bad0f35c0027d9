/*
 * Steps far from pauses, and how long the thread waited in each, in; a finding that allows for what pauses did and was not
 * over when the next one came, out.
 *
 * A queue runs empty, or full, while the thread is stopped. Once the thread waits for it again, all is as it would have
 * been without the pause. Where the next pause comes before that, steps have less waiting than they would have had: near
 * ones and far ones, each at most by as much as those wait longer before which the thread did wait again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "lost.h"
#include "stats.h"

/* Of the overlap: of what may be carried half is taken, and is right to 5 %; more is not told. */
#define CARRIED_MOST 0.1

#define BELOW  100 /* one wait in so many is below what the clock explains */
#define ENOUGH 24  /* far steps */
#define SIGMAS 2.0 /* within which that is known */

#define PACE_LAGS   5	/* steps after a pause in which a thread that catches up does not wait */
#define PACE_SIGMAS 3.0 /* by which a step is longer that has waiting in it */

static const char untold_carried[] =
	"the next pause comes before the thread has waited again, so what it would have waited without them is not seen; gctrace trial would tell";

/*
 * From how long a wait on a thread has waited: its usual wait of a step, or if that is more what the clock of its CPU time
 * may be off by, as waits below 0 show. 0: it never waits. NAN when memory is out.
 */
static double least_wait(const struct comparison *comparison, const double *wait)
{
	_cleanup_free_ double *sorted = calloc(comparison->count + 1, sizeof(*sorted));
	double usual = 0;
	size_t count = 0;

	if (!sorted)
		return NAN;
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->role[i] != ROLE_LEFT_OUT && !comparison->paused[i]) {
			sorted[count++] = wait[i];
			usual += wait[i];
		}
	stats_sort_real(sorted, count);
	return fmax(usual / (double)count, -sorted[count / BELOW]);
}

/* Steps before which the thread has waited again: by how much longer it waits in them, and how surely. */
struct again {
	size_t steps, far;	  /* the latter: of them, far ones */
	size_t missing;		  /* far ones before which it has not, since the first pause */
	size_t runs;		  /* of such steps */
	double longer, deviation; /* of their mean, against that of all far ones */
};

struct run {
	double sum, steps; /* of steps on end */
};

/*
 * The later half of the steps before the first pause, which no pause has touched: they tell even where they are left out
 * for being among the first.
 */
static bool begins(const struct comparison *comparison, size_t i)
{
	return comparison->lag[i] == UINT32_MAX && 2 * i < comparison->count &&
	       comparison->lag[2 * i] != UINT32_MAX;
}

/* The variance of a mean over @runs, from how they differ. */
static double variance_of(const struct run *runs, size_t count, double mean, double steps)
{
	double squares = 0;

	if (count < 2)
		return 0;
	for (size_t i = 0; i < count; i++) {
		double one = runs[i].sum - mean * runs[i].steps;

		squares += one * one;
	}
	return (1 + 3 / (double)count) * squares * (double)count / (double)(count - 1) /
	       (steps * steps);
}

/* Of far steps, or, if @near, of all: then their own variance counts, too, as they are few. @runs: room for one a step. */
static struct again waits_again(const struct comparison *comparison, const double *wait,
	const double *longer, double least, bool near, struct run *runs)
{
	double since = 0, sum = 0, far = (double)comparison->far_count;
	struct again found = {};
	bool in = false;

	for (size_t i = 0; i < comparison->count; i++) {
		bool is_far = comparison->role[i] == ROLE_FAR;
		bool again = since >= least && !comparison->paused[i];

		if (is_far && !again && comparison->lag[i] != UINT32_MAX)
			found.missing++;
		if (again && (is_far || (near && comparison->role[i] == ROLE_NEAR) ||
				     begins(comparison, i))) {
			if (!in)
				runs[found.runs++] = (struct run){};
			runs[found.runs - 1].sum += longer[i];
			runs[found.runs - 1].steps++;
			sum += longer[i];
			found.steps++;
			found.far += is_far;
			in = true;
		} else {
			in = false;
		}
		since = comparison->paused[i] ? 0 : since + wait[i];
	}
	if (!found.steps)
		return found;
	found.longer = fmax(sum / (double)found.steps, 0);
	found.deviation = sqrt(fmax(long_variance(comparison, longer, comparison->reach) *
					    (1 / (double)found.steps + (near ? 1 : -1) / far),
		near * variance_of(runs, found.runs, sum / (double)found.steps,
			       (double)found.steps)));
	return found;
}

int carry_over(const struct timeline *timeline, const struct comparison *comparison,
	const double *wait, struct finding *finding)
{
	_cleanup_free_ double *longer = calloc(timeline->count + 1, sizeof(*longer));
	_cleanup_free_ struct run *runs = calloc(timeline->count + 1, sizeof(*runs));
	double near = 0, open, carried, error, least;
	struct again again;

	if (!longer || !runs || residuals_of(comparison, wait, longer))
		return -ENOMEM;
	least = least_wait(comparison, wait);
	if (isnan(least))
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++)
		near += comparison->role[i] == ROLE_NEAR;
	again = waits_again(comparison, wait, longer, least, false, runs);
	finding->waits =
		2 * again.missing <= comparison->far_count &&
		(near + (double)comparison->far_count) * least > NEVER * comparison->paused_ns;
	if (!again.missing)
		return 0;
	if (again.far < ENOUGH)
		again = waits_again(comparison, wait, longer, least, true, runs);
	if (!again.steps && near * least <= NEVER * comparison->paused_ns)
		return 0;
	open = near + (double)again.missing;
	carried = open * again.longer;
	/* What durations vary by for other reasons would leave nothing told if it counted for far steps, too. */
	error = (timeline->wait ? open : near) * again.deviation;
	if (!finding->untold &&
		(!again.steps || carried + SIGMAS * error > CARRIED_MOST * comparison->paused_ns))
		finding->untold = untold_carried;
	finding->all &= !(carried + error > 0);
	finding->ns -= carried / 2;
	finding->low -= carried + SIGMAS * error;
	return 0;
}

int carry_over_durations(const struct timeline *timeline, const struct comparison *comparison,
	struct finding *finding)
{
	_cleanup_free_ double *wait = calloc(timeline->count + 1, sizeof(*wait));
	_cleanup_free_ double *after = calloc(timeline->count + 1, sizeof(*after));
	size_t count = 0;
	double pace;

	if (!wait || !after)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->count; i++)
		if (comparison->role[i] == ROLE_NEAR && comparison->lag[i] &&
			comparison->lag[i] < PACE_LAGS)
			after[count++] = timeline->duration[i];
	if (!count)
		return 0;
	pace = stats_median_real(after, count);
	for (size_t i = 0; i < count; i++)
		after[i] = fabs(after[i] - pace);
	pace += PACE_SIGMAS * 1.4826 * stats_median_real(after, count);
	for (size_t i = 0; i < timeline->count; i++)
		wait[i] = fmax(timeline->duration[i] - pace, 0);
	return carry_over(timeline, comparison, wait, finding);
}
