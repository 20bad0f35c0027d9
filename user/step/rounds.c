/*
 * Loops around the steps: a learner that trains on what it has played, and plays again. In: the tracks, and the pauses. Out:
 * tracks whose steps are perhaps not what their user calls a step are trusted less, and say after how many of them the
 * other work comes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#include "step_priv.h"

/* × the median work: other work was done as well. The clearest first, which alone is a reason to doubt the steps. */
static const double long_times[] = {3, 2, 1.5};
#define CLEAR 0 /* the place of that */

#define ROUNDS_LEAST 5
#define ROUNDS_MANY  8	  /* with so many, … */
#define ELSEWHERE    0.1  /* … such a share of the other steps may be long, too */
#define AMONG	     8	  /* long steps before one, to which its distance is taken */
#define SHARE_NOTED  0.02 /* of all work that is other work: worth saying */
#define SHARE_CAPPED                                                                               \
	0.1 /* more than an evaluation without losses, or a checkpoint, usually takes */
#define CONFIDENCE 0.65

struct round {
	size_t length, place; /* steps, and which of them are long; 0: there is none */
	double share;	      /* of the work that is other work */
	bool called;	      /* other calls show what that is: an evaluation, or a rollout */
};

/* What a thread did in each step but the last one. */
struct own {
	int64_t *work_ns; /* less pauses; UNKNOWN if not known */
	uint64_t *
		gap_ns; /* between it and the next, where other calls are: an evaluation, or a rollout */
	size_t count;
	uint64_t median_ns; /* 0: of too many steps it is not known */
	uint64_t *room;	    /* for as many values */
};

static void own_release(struct own *own)
{
	free(own->work_ns);
	free(own->gap_ns);
	free(own->room);
}

/*
 * Nor is it known where it took no longer than the pauses in it and in the step before: it may be what they leave behind,
 * callbacks at their end and cold caches. @paused_ns: in each step; NULL: not known. 0 or -ENOMEM; the caller releases *ret in
 * any case.
 */
static int own_read(const struct step_track *track, const uint64_t *paused_ns, struct own *ret)
{
	size_t count = track->steps.count - 1, known = 0;

	*ret = (struct own){
		.work_ns = calloc(count + 1, sizeof(*ret->work_ns)),
		.gap_ns = calloc(count + 1, sizeof(*ret->gap_ns)),
		.count = count,
		.room = calloc(count + 1, sizeof(*ret->room)),
	};
	if (!ret->work_ns || !ret->gap_ns || !ret->room)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct step *step = &track->steps.items[i];
		int64_t work_ns = track->steps.items[i].work_ns;
		int64_t here_ns = paused_ns ? (int64_t)paused_ns[i] : 0;
		int64_t before_ns = paused_ns && i ? (int64_t)paused_ns[i - 1] : 0;

		ret->work_ns[i] = UNKNOWN;
		ret->gap_ns[i] =
			step[1].start_ns > step->end_ns ? step[1].start_ns - step->end_ns : 0;
		if (work_ns < 0 ||
			(here_ns + before_ns && work_ns - here_ns <= here_ns + before_ns))
			continue;
		ret->work_ns[i] = work_ns - here_ns;
		ret->room[known++] = (uint64_t)ret->work_ns[i];
	}
	if (known * 2 >= count)
		ret->median_ns = median_of(ret->room, known);
	return 0;
}

/* Whether other work was done in step @i as well, @times the median or more, or after it. */
static bool is_long(const struct own *own, size_t i, double times)
{
	if ((double)own->gap_ns[i] >= (times - 1) * (double)own->median_ns && own->gap_ns[i])
		return true;
	return own->work_ns[i] >= 0 && (double)own->work_ns[i] >= times * (double)own->median_ns;
}

/*
 * The distance that most often lies between two long steps, from 2 on, whatever is between them: some are long for another
 * reason. 0: there are few.
 */
static size_t usual_distance(const struct own *own, double times)
{
	size_t longest = own->count / ROUNDS_LEAST + 1, found = 0, best = 0, last[AMONG] = {};

	memset(own->room, 0, (own->count + 1) * sizeof(*own->room));
	for (size_t i = 0; i < own->count; i++) {
		if (!is_long(own, i, times))
			continue;
		for (size_t j = 0; j < AMONG && j < found; j++)
			own->room[i - last[j] <= longest ? i - last[j] : 0]++;
		last[found++ % AMONG] = i;
	}
	for (size_t i = 2; i <= longest && i <= own->count; i++)
		best = own->room[i] > (best ? own->room[best] : 0) ? i : best;
	return found < ROUNDS_LEAST ? 0 : best;
}

/* The round of @length, if long steps come at one place of it mostly, and hardly elsewhere. @tally: zeros, for each place. */
static struct round judge(const struct own *own, double times, size_t length, uint32_t *tally)
{
	struct round round = {};
	size_t place = 0, all = 0, due = 0, known = 0, gaps = 0;
	double other = 0, total = 0, elsewhere;

	for (size_t i = 0; i < own->count; i++)
		if (is_long(own, i, times)) {
			all++;
			tally[i % length]++;
		}
	for (size_t i = 0; i < length; i++)
		place = tally[i] > tally[place] ? i : place;
	for (size_t i = 0; i < own->count; i++) {
		int64_t work_ns = own->work_ns[i];

		total += (work_ns > 0 ? (double)work_ns : 0) + (double)own->gap_ns[i];
		if (work_ns < 0 && !own->gap_ns[i])
			continue;
		known++;
		if (i % length != place)
			continue;
		due++;
		other += (double)own->gap_ns[i];
		if (work_ns > (int64_t)own->median_ns)
			other += (double)work_ns - (double)own->median_ns;
	}
	if (tally[place] < ROUNDS_LEAST || tally[place] * 4 < due * 3)
		return round;
	elsewhere = known > due ? (double)(all - tally[place]) / (double)(known - due) : 0;
	if (tally[place] * 2 < all && (tally[place] < ROUNDS_MANY || elsewhere > ELSEWHERE))
		return round;
	for (size_t i = place; i < own->count; i += length)
		gaps += own->gap_ns[i] > 0;
	round.called = gaps * 2 > due;
	round.length = length;
	round.place = place;
	round.share = total > 0 ? other / total : 0;
	return round;
}

/* Whether so many steps are long that they may be those of rounds; pauses may be what makes them long, or some of them. */
static int any_long(const struct step_track *track, bool *ret)
{
	struct own own;
	size_t found = 0;
	int r = own_read(track, NULL, &own);

	for (size_t i = 0; !r && own.median_ns && i < own.count; i++)
		found += is_long(&own, i, long_times[ARRAY_SIZE(long_times) - 1]);
	own_release(&own);
	*ret = found >= ROUNDS_LEAST;
	return r;
}

/* 0 or -ENOMEM. */
static int find_round(const struct own *own, double times, struct round *ret)
{
	size_t length = own->median_ns ? usual_distance(own, times) : 0;
	uint32_t *tally;

	*ret = (struct round){};
	if (length < 2)
		return 0;
	tally = calloc(length, sizeof(*tally));
	if (!tally)
		return -ENOMEM;
	*ret = judge(own, times, length, tally);
	free(tally);
	return 0;
}

/* Where it is not known already that they take turns. */
static bool may_have_rounds(const struct step_track *track)
{
	return track->rounds && !track->levels.count && track->steps.count > 2 * ROUNDS_LEAST;
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
		const struct step *step = &track->steps.items[i];
		uint64_t lasts_ns = step_duration(step), gap_ns = 0;

		if (step[1].start_ns > step->end_ns)
			gap_ns = step[1].start_ns - step->end_ns;
		lasts_ns = lasts_ns > paused_ns[i] ? lasts_ns - paused_ns[i] : 0;
		total += (double)lasts_ns + (double)gap_ns;
		if (i % round->length == round->place)
			other += (double)gap_ns;
		if (i % round->length == round->place && lasts_ns > track->period_ns)
			other += (double)(lasts_ns - track->period_ns);
	}
	return total > 0 ? other / total : 0;
}

static bool is_said(const struct step_track *track, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i < track->levels.count; i++) {
		const char *signal = track->levels.items[i].signal;
		size_t its = strlen(signal);

		if (its > len && signal[its - len - 1] == '/' && !strcmp(signal + its - len, part))
			return true;
	}
	return false;
}

/* @clear: it may be what its user calls a step. */
static void say(const struct round *round, bool clear, struct step_track *track)
{
	size_t rounds = (track->steps.count + round->length - 1) / round->length;
	char part[16];

	snprintf(part, sizeof(part), "%zu", round->length * track->per_step);
	if (round->share < SHARE_NOTED || is_said(track, part))
		return;
	levels_add(&track->levels, track->signal, part, rounds);
	note_add(track->note, sizeof(track->note),
		"after every %zu of them comes other work, %.0f %% of all: if these are one step, say "
		"--step %.100s/%s (%zu steps)",
		round->length, round->share * 100, track->signal, part, rounds);
	if (clear && round->share >= SHARE_CAPPED && track->confidence > CONFIDENCE)
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

static int no_memory(struct err *err)
{
	return err_set(err, ENOMEM, "out of memory while finding steps");
}

/* Says what rounds there are. 0 or -ENOMEM. */
static int say_all(struct step_track *track, const uint64_t *paused_ns)
{
	struct own own;
	int r = own_read(track, paused_ns, &own);

	for (size_t i = 0; !r && i < ARRAY_SIZE(long_times); i++) {
		struct round round;
		double share;

		r = find_round(&own, long_times[i], &round);
		if (r || !round.length)
			continue;
		share = share_of_time(track, paused_ns, &round);
		round.share = share < round.share ? share : round.share;
		say(&round, i == CLEAR && !round.called, track);
	}
	own_release(&own);
	return r;
}

int steps_rounds(const struct recording *recording, struct step_track *track, steps_next_fn next,
	void *source, struct err *err)
{
	uint64_t *paused_ns;
	bool any = false;
	int r = may_have_rounds(track) ? any_long(track, &any) : 0;

	if (r || !any)
		return r ? no_memory(err) : 0;
	paused_ns = calloc(track->steps.count, sizeof(*paused_ns));
	if (!paused_ns)
		return no_memory(err);
	r = read_paused(recording, track, next, source, paused_ns, err);
	if (!r && say_all(track, paused_ns))
		r = no_memory(err);
	free(paused_ns);
	return r;
}

/*
 * Whether the next long step may be still to come: it is due as far from the last one as those were from each other, and half
 * as far again. Where there is but one, it may have begun at any place of a round: four times as far as from the begin.
 */
static bool is_open(const struct own *own)
{
	size_t found = 0, last = 0, farthest = 0;

	for (size_t i = 0; own->median_ns && i < own->count; i++) {
		size_t distance = i + !found - last;

		if (!is_long(own, i, long_times[CLEAR]))
			continue;
		farthest = distance > farthest ? distance : farthest;
		last = i;
		found++;
	}
	if (!found || found >= ROUNDS_LEAST)
		return false;
	return own->count - 1 - last <= (found > 1 ? farthest + farthest / 2 : 4 * farthest);
}

int steps_rounds_open(const struct recording *recording, const struct step_track *track,
	steps_next_fn next, void *source, bool *ret, struct err *err)
{
	uint64_t *paused_ns;
	struct own own = {};
	int r;

	if (!track->rounds || track->steps.count < 2) {
		*ret = false;
		return 0;
	}
	paused_ns = calloc(track->steps.count, sizeof(*paused_ns));
	if (!paused_ns)
		return no_memory(err);
	r = read_paused(recording, track, next, source, paused_ns, err);
	if (!r && own_read(track, paused_ns, &own))
		r = no_memory(err);
	if (!r)
		*ret = is_open(&own);
	own_release(&own);
	free(paused_ns);
	return r;
}
