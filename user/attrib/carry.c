/*
 * Steps far from pauses, and how long the thread waited in each, in; a finding that allows for what pauses did and was not
 * over when the next one came, out.
 *
 * A queue runs empty, or full, while the thread is stopped. Once the thread waits for it again, all is as it would have
 * been without the pause. Where the next pause comes before that, far steps have less waiting than they would have had: at
 * most as much less as all far steps have than those before which the thread did wait again.
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
	double longer, deviation; /* of their mean, against that of all far ones */
};

/* Of far steps, or, if @near, of all. */
static struct again waits_again(const struct comparison *comparison, const double *wait,
	const double *longer, double least, bool near)
{
	double since = INFINITY, sum = 0, far = (double)comparison->far_count;
	struct again found = {};

	for (size_t i = 0; i < comparison->count; i++) {
		bool is_far = comparison->role[i] == ROLE_FAR;

		if (since >= least && !comparison->paused[i] &&
			(is_far || (near && comparison->role[i] == ROLE_NEAR))) {
			sum += longer[i];
			found.steps++;
			found.far += is_far;
		}
		since = comparison->paused[i] ? 0 : since + wait[i];
	}
	if (!found.steps)
		return found;
	found.longer = fmax(sum / (double)found.steps, 0);
	found.deviation = sqrt(long_variance(comparison, longer, comparison->reach) *
			       (1 / (double)found.steps + (near ? 1 : -1) / far));
	return found;
}

int carry_over(const struct timeline *timeline, const struct comparison *comparison,
	const double *wait, struct finding *finding)
{
	_cleanup_free_ double *longer = calloc(timeline->count + 1, sizeof(*longer));
	double near = 0, carried, error, least;
	struct again again;

	if (!longer || residuals_of(comparison, wait, longer))
		return -ENOMEM;
	least = least_wait(comparison, wait);
	if (isnan(least))
		return -ENOMEM;
	for (size_t i = 0; i < comparison->count; i++)
		near += comparison->role[i] == ROLE_NEAR;
	again = waits_again(comparison, wait, longer, least, false);
	if (again.far == comparison->far_count)
		return 0;
	if (again.far < ENOUGH)
		again = waits_again(comparison, wait, longer, least, true);
	if (!again.steps && near * least <= NEVER * comparison->paused_ns)
		return 0;
	carried = near * again.longer;
	error = near * again.deviation;
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
