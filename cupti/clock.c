#include "clock.h"

#include <stddef.h>
#include <time.h>

#define READINGS 100

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

bool clock_compare(bool (*theirs)(uint64_t *ret_ns), struct clock_point *ret)
{
	struct clock_point best = {.width_ns = UINT64_MAX};

	for (unsigned int i = 0; i < READINGS; i++) {
		uint64_t before = clock_now(), value, after;

		if (!theirs(&value))
			return false;
		after = clock_now();
		if (after - before < best.width_ns)
			best = (struct clock_point){
				value, before + (after - before) / 2, after - before};
	}
	*ret = best;
	return true;
}

void clock_add(struct clock *clock, struct clock_point point)
{
	clock->points[clock->count++ % CLOCK_POINTS] = point;
}

static const struct clock_point *point_at(const struct clock *clock, unsigned int index)
{
	return &clock->points[index % CLOCK_POINTS];
}

/* What a time between @before and @after (NULL: there is none) may be wrong by: no more than they differ. */
static void note_error(struct clock *clock, const struct clock_point *before,
	const struct clock_point *after)
{
	int64_t drift = 0;
	uint64_t error;

	if (after)
		drift = (int64_t)(after->theirs_ns - after->ours_ns - before->theirs_ns +
				  before->ours_ns);
	error = before->width_ns / 2 + (drift < 0 ? -drift : drift);
	if (error > clock->error_ns)
		clock->error_ns = error;
}

uint64_t clock_ours(struct clock *clock, uint64_t theirs_ns)
{
	unsigned int oldest = clock->count > CLOCK_POINTS ? clock->count - CLOCK_POINTS : 0;
	const struct clock_point *before = NULL, *after = NULL;
	double rate;

	if (clock->same || !clock->count)
		return theirs_ns;
	for (unsigned int i = clock->count; i-- > oldest;) {
		before = point_at(clock, i);
		if (before->theirs_ns <= theirs_ns || i == oldest)
			break;
		after = before;
	}
	note_error(clock, before, after);
	if (!after || after->theirs_ns <= before->theirs_ns || theirs_ns < before->theirs_ns)
		return before->ours_ns + (theirs_ns - before->theirs_ns);
	rate = (double)(after->ours_ns - before->ours_ns) /
	       (double)(after->theirs_ns - before->theirs_ns);
	return before->ours_ns + (uint64_t)((double)(theirs_ns - before->theirs_ns) * rate);
}
