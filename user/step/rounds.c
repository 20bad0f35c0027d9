/*
 * Loops around the steps: a learner that trains on what it has played, and plays again. In: the tracks, and the pauses. Out:
 * tracks whose steps are perhaps not what their user calls a step are trusted less, and say after how many of them the
 * other work comes.
 */
#include <errno.h>
#include <stdlib.h>

#include "step_priv.h"

#define LONG_TIMES   3 /* the median work: other work was done as well */
#define ROUNDS_LEAST 5
#define SHARE_NOTED  0.05 /* of all work that is other work: worth saying */
#define SHARE_CAPPED                                                                               \
	0.1 /* more than an evaluation without losses, or a checkpoint, usually takes */
#define CONFIDENCE 0.65

struct round {
	size_t length, place; /* steps, and which of them are long; 0: there is none */
	double share;	      /* of the work that is other work */
};

/*
 * What the thread did in each step but the last one, without pauses; UNKNOWN if not known. Nor is it where it took no longer
 * than the pauses in it and in the step before: it may be what they leave behind, callbacks at their end and cold caches. Returns
 * how many are known.
 */
static size_t own_work(const struct step_track *track, const uint64_t *paused_ns, int64_t *ret,
	uint64_t *ret_known)
{
	size_t known = 0;

	for (size_t i = 0; i + 1 < track->steps.count; i++) {
		int64_t work_ns = track->steps.items[i].work_ns;
		int64_t here_ns = paused_ns ? (int64_t)paused_ns[i] : 0;
		int64_t before_ns = paused_ns && i ? (int64_t)paused_ns[i - 1] : 0;

		ret[i] = UNKNOWN;
		if (work_ns < 0 ||
			(here_ns + before_ns && work_ns - here_ns <= here_ns + before_ns))
			continue;
		ret[i] = work_ns - here_ns;
		ret_known[known++] = (uint64_t)ret[i];
	}
	return known;
}

/* The median distance between long steps; 0: there are few. */
static size_t usual_distance(const int64_t *own, size_t count, uint64_t least, uint64_t *distances)
{
	size_t found = 0, last = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (own[i] < 0 || (uint64_t)own[i] < least)
			continue;
		if (last != SIZE_MAX)
			distances[found++] = i - last;
		last = i;
	}
	return found + 1 < ROUNDS_LEAST ? 0 : (size_t)median_of(distances, found);
}

/* The round of @length, if long steps come at one place of it mostly, and hardly elsewhere. */
static struct round judge(const int64_t *own, size_t count, uint64_t median, size_t length,
	uint32_t *tally)
{
	struct round round = {};
	size_t place = 0, all = 0, due = 0;
	double other = 0, total = 0;

	for (size_t i = 0; i < count; i++)
		if (own[i] >= 0 && (uint64_t)own[i] >= LONG_TIMES * median) {
			all++;
			tally[i % length]++;
		}
	for (size_t i = 0; i < length; i++)
		place = tally[i] > tally[place] ? i : place;
	for (size_t i = 0; i < count; i++) {
		total += own[i] > 0 ? (double)own[i] : 0;
		if (i % length != place || own[i] < 0)
			continue;
		due++;
		other += (uint64_t)own[i] > median ? (double)((uint64_t)own[i] - median) : 0;
	}
	if (tally[place] < ROUNDS_LEAST || tally[place] * 4 < due * 3 || tally[place] * 2 < all)
		return round;
	round.length = length;
	round.place = place;
	round.share = total > 0 ? other / total : 0;
	return round;
}

/* Whether so many steps are long that they may be those of rounds; pauses may be what makes them long, or some of them. */
static int any_long(const struct step_track *track, bool *ret)
{
	size_t count = track->steps.count - 1, known, found = 0;
	int64_t *own = calloc(count, sizeof(*own));
	uint64_t *values = calloc(count, sizeof(*values)), median;
	int r = own && values ? 0 : -ENOMEM;

	*ret = false;
	if (!r) {
		known = own_work(track, NULL, own, values);
		median = known * 2 >= count ? median_of(values, known) : 0;
		for (size_t i = 0; i < count && median; i++)
			found += own[i] >= 0 && (uint64_t)own[i] >= LONG_TIMES * median;
		*ret = found >= ROUNDS_LEAST;
	}
	free(values);
	free(own);
	return r;
}

/* @paused_ns: in each step. 0 or -ENOMEM. */
static int find_round(const struct step_track *track, const uint64_t *paused_ns, struct round *ret)
{
	size_t count = track->steps.count - 1, length, known = 0;
	int64_t *own = calloc(count, sizeof(*own));
	uint64_t *values = calloc(count, sizeof(*values)), median;
	uint32_t *tally = NULL;
	int r = own && values ? 0 : -ENOMEM;

	*ret = (struct round){};
	if (!r)
		known = own_work(track, paused_ns, own, values);
	if (!r && known * 2 >= count) {
		median = median_of(values, known);
		length = median ? usual_distance(own, count, LONG_TIMES * median, values) : 0;
		if (length > 1) {
			tally = calloc(length, sizeof(*tally));
			if (tally)
				*ret = judge(own, count, median, length, tally);
			else
				r = -ENOMEM;
		}
	}
	free(tally);
	free(values);
	free(own);
	return r;
}

static bool may_have_rounds(const struct step_track *track)
{
	return track->rounds && track->confidence >= STEP_CONFIDENT &&
	       track->steps.count > 2 * ROUNDS_LEAST;
}

static void add_pause(const struct step_track *track, const struct pause *pause,
	uint64_t *paused_ns)
{
	size_t first = vec_first(&track->steps, end_ns, pause->start_ns + 1);

	for (size_t i = first; i < track->steps.count; i++) {
		const struct step *step = &track->steps.items[i];
		uint64_t from = step->start_ns > pause->start_ns ? step->start_ns : pause->start_ns;
		uint64_t to = step->end_ns < pause->end_ns ? step->end_ns : pause->end_ns;

		if (step->start_ns >= pause->end_ns)
			break;
		paused_ns[i] += to > from ? to - from : 0;
	}
}

/* How much of the time other work takes: where a device's work hides it, that is less than its share of the work. */
static double share_of_time(const struct step_track *track, const uint64_t *paused_ns,
	const struct round *round)
{
	double other = 0, total = 0;

	for (size_t i = 0; i + 1 < track->steps.count; i++) {
		uint64_t lasts_ns = step_duration(&track->steps.items[i]);

		lasts_ns = lasts_ns > paused_ns[i] ? lasts_ns - paused_ns[i] : 0;
		total += (double)lasts_ns;
		if (i % round->length == round->place && lasts_ns > track->period_ns)
			other += (double)(lasts_ns - track->period_ns);
	}
	return total > 0 ? other / total : 0;
}

static void say(const struct round *round, struct step_track *track)
{
	size_t marks = round->length * track->per_step;

	if (round->share < SHARE_NOTED)
		return;
	note_add(track->note, sizeof(track->note),
		"after every %zu of them comes other work, %.0f %% of all: if these are one step, say "
		"--step %.100s/%zu (%zu steps)",
		round->length, round->share * 100, track->signal, marks,
		(track->steps.count + round->length - 1) / round->length);
	if (round->share >= SHARE_CAPPED)
		track->confidence = CONFIDENCE;
}

/* Reads the pauses of the track's process into @paused_ns. 0 or -errno. */
static int read_paused(const struct recording *recording, const struct step_track *track,
	steps_next_fn next, void *source, uint64_t *paused_ns, struct err *err)
{
	struct pause pause;
	int r;

	while ((r = next(source, &pause, err)) > 0) {
		const struct runtime *runtime = recording_runtime(recording, pause.runtime);

		if (runtime && runtime->process == track->process)
			add_pause(track, &pause, paused_ns);
	}
	return r;
}

int steps_rounds(const struct recording *recording, struct step_track *track, steps_next_fn next,
	void *source, struct err *err)
{
	struct round round = {};
	uint64_t *paused_ns;
	bool any = false;
	double share;
	int r = may_have_rounds(track) ? any_long(track, &any) : 0;

	if (r || !any)
		return r ? err_set(err, ENOMEM, "out of memory while finding steps") : 0;
	paused_ns = calloc(track->steps.count, sizeof(*paused_ns));
	if (!paused_ns)
		return err_set(err, ENOMEM, "out of memory while finding steps");
	r = read_paused(recording, track, next, source, paused_ns, err);
	if (!r && find_round(track, paused_ns, &round))
		r = err_set(err, ENOMEM, "out of memory while finding steps");
	if (!r && round.length) {
		share = share_of_time(track, paused_ns, &round);
		round.share = share < round.share ? share : round.share;
		say(&round, track);
	}
	free(paused_ns);
	return r;
}
