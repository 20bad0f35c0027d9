/* Steps and pauses since the last lines in; what is said of them once a second out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "live_step_words.h"
#include "live_sums.h"
#include "parse.h"
#include "stats.h"
#include "text_cell.h"

#define PROCESSES_SHOWN 4 /* processes with a line about their steps each */

/* Requests that are named with --step are steps. */
void live_sums_mark(struct live_sums *sums, FILE *out, const struct recording *recording,
	const struct mark *mark)
{
	if (sums->steps.spec.way != STEP_AUTO ||
		!live_requests_mark(&sums->requests, recording, mark))
		live_steps_mark(&sums->steps, out, recording, mark);
}

void live_sums_release(struct live_sums *sums)
{
	live_steps_release(&sums->steps);
	live_requests_release(&sums->requests);
}

static bool is_due(const struct live_sums *sums, const struct recording *recording, uint64_t now_ns)
{
	uint64_t last_ns = sums->last_ns ? sums->last_ns : sums->start_ns;

	if (now_ns == UINT64_MAX || live_lines_due(&sums->lines, now_ns))
		return true;
	return sums->steps.on && now_ns > last_ns && now_ns - last_ns >= LIVE_EVERY_NS &&
	       (!sums->hinted || live_requests_any(&sums->requests) ||
		       live_steps_pending(&sums->steps, recording));
}

static void start_again(struct live_track *track)
{
	track->durations.count = 0;
	track->slowed = 0;
	track->slowest = (struct live_step){0};
}

/* "steps 212, median 3.700 ms, 2 slowed by pauses, slowest 272.0 ms, 266.1 ms of it GC (generation 2)" */
static void put_steps(FILE *out, const struct live_track *track)
{
	fprintf(out, "steps %zu, median %s", track->durations.count,
		FORMAT_DURATION(stats_median(track->durations.items, track->durations.count)));
	if (track->slowed > 1)
		fprintf(out, ", %" PRIu64 " slowed by pauses", track->slowed);
	fprintf(out, ", slowest %s", FORMAT_DURATION(track->slowest.duration_ns));
	live_step_stopped(out, &track->slowest);
}

/* Whether it has been said of another process that its steps are told in the same way. */
static bool said_before(const struct live_steps *steps, const struct live_track *track)
{
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct live_track *other = &steps->tracks.items[i];

		if (other != track && other->told && !other->news &&
			!strcmp(other->signal, track->signal))
			return true;
	}
	return false;
}

/* How steps are told, when that becomes known or changes. */
static void put_news(FILE *out, const struct recording *recording, const struct live_steps *steps,
	struct live_track *track, uint64_t time_ns)
{
	bool said = track->told && said_before(steps, track);

	if (!track->news)
		return;
	track->news = false;
	if (said)
		return;
	live_step_head(out, recording, time_ns, track->process);
	if (track->told)
		fprintf(out, "steps: by %s, confidence %.2f%s\n", track->signal, track->confidence,
			track->around ? ", if no loop around them shows" : "");
	else
		fputs("steps: no longer told\n", out);
}

/* The processes whose slowest step was longest come first. */
static int slowest_first(const void *a, const void *b)
{
	const struct live_track *one = a, *other = b;

	if (one->slowest.duration_ns != other->slowest.duration_ns)
		return one->slowest.duration_ns < other->slowest.duration_ns ? 1 : -1;
	return (one->process > other->process) - (one->process < other->process);
}

/* Those that have no line of their own. */
static void put_rest(struct live_sums *sums, FILE *out, const struct recording *recording,
	size_t from, uint64_t time_ns)
{
	struct live_steps *steps = &sums->steps;
	uint64_t count = 0, slowest_ns = 0;
	size_t processes = 0;

	for (size_t i = from; i < steps->tracks.count; i++) {
		struct live_track *track = &steps->tracks.items[i];

		processes += track->durations.count > 0;
		count += track->durations.count;
		if (track->slowest.duration_ns > slowest_ns)
			slowest_ns = track->slowest.duration_ns;
		start_again(track);
	}
	if (!processes)
		return;
	cell_time(out, recording, time_ns);
	fprintf(out, "       … steps %" PRIu64 " in %zu other process%s, slowest %s\n", count,
		processes, processes == 1 ? "" : "es", FORMAT_DURATION(slowest_ns));
}

/* Lines about steps; with one such line, the pauses that got none are on it. */
static void put_tracks(struct live_sums *sums, FILE *out, const struct recording *recording)
{
	struct live_steps *steps = &sums->steps;
	uint64_t time_ns = steps->look_ns;
	size_t with_steps = 0, shown = 0;

	if (!steps->tracks.count)
		return;
	qsort(steps->tracks.items, steps->tracks.count, sizeof(*steps->tracks.items),
		slowest_first);
	for (size_t i = 0; i < steps->tracks.count; i++)
		with_steps += steps->tracks.items[i].durations.count > 0;
	if (with_steps && time_ns > sums->lines.last_ns)
		sums->lines.last_ns = time_ns; /* of the line below these */
	for (size_t i = 0; i < steps->tracks.count; i++)
		put_news(out, recording, steps, &steps->tracks.items[i], time_ns);
	for (; shown < with_steps && shown < PROCESSES_SHOWN; shown++) {
		struct live_track *track = &steps->tracks.items[shown];

		live_step_head(out, recording, time_ns, track->process);
		put_steps(out, track);
		if (with_steps == 1)
			live_lines_append(&sums->lines, out);
		fputc('\n', out);
		start_again(track);
	}
	put_rest(sums, out, recording, shown, time_ns);
}

/* Whether something is probed that may mark steps. */
static bool may_tell(const struct recording *recording)
{
	for (size_t i = 0; i < recording->signals.count; i++)
		if (recording->signals.items[i].attached_ns &&
			!live_requests_has(&recording->signals.items[i]))
			return true;
	return false;
}

static void put_hint(struct live_sums *sums, FILE *out, const struct recording *recording,
	uint64_t now_ns)
{
	if (sums->hinted || !sums->steps.on || now_ns == UINT64_MAX || !may_tell(recording))
		return;
	sums->hinted = true;
	if (live_steps_told(&sums->steps) || sums->requests.seen)
		return;
	cell_time(out, recording, now_ns);
	fputs("       … steps: not told yet\n", out);
}

/* The session keeps no more calls that may mark steps: docs/steps.md. */
static void put_full(struct live_sums *sums, FILE *out, const struct recording *recording)
{
	if (sums->full || !sums->steps.on || !recording->steps_until_ns)
		return;
	sums->full = true;
	cell_time(out, recording, recording->steps_until_ns);
	fputs("       … steps: not known from here on, as there is no room for more calls\n", out);
}

void live_sums_tell(struct live_sums *sums, FILE *out, const struct recording *recording,
	uint64_t now_ns)
{
	bool last = now_ns == UINT64_MAX;

	if (!sums->start_ns)
		sums->start_ns = now_ns;
	if (!is_due(sums, recording, now_ns))
		return;
	live_steps_look(&sums->steps, out, recording, last ? recording->end_ns : now_ns, last);
	put_tracks(sums, out, recording);
	live_requests_tell(&sums->requests, out, recording, sums->steps.look_ns);
	live_lines_tell(&sums->lines, out, recording);
	put_full(sums, out, recording);
	put_hint(sums, out, recording, now_ns);
	live_steps_forget(&sums->steps, recording);
	if (!last)
		sums->last_ns = now_ns;
}
