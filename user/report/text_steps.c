/* Steps, costs and advice as tables: per process first, then the steps that were hurt most, then remedies. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "parse.h"
#include "safepoint_words.h"
#include "text_cell.h"
#include "text_stack.h"
#include "text_steps.h"
#include "utf8.h"
#include "verdict.h"

#define TRACKS_SHOWN	 8
#define WORST_SHOWN	 8
#define FUNCTION_COLUMNS 36

static void put_shown(FILE *out, const char *text, size_t columns)
{
	char shown[4 * 512 + 1];

	utf8_show(shown, sizeof(shown), text, strlen(text), columns < 512 ? columns : 512);
	fputs(shown, out);
}

/* What came before the probes is not known, and is not to look as if there had been no steps. */
static void put_seen(FILE *out, const struct report_input *input, const struct step_track *track)
{
	uint64_t start_ns = input->recording->start_ns;

	if (track->seen_ns)
		fprintf(out,
			"  steps are seen from %s on, and the first began at %s: what ran before is not "
			"known\n",
			FORMAT_DURATION(track->seen_ns - start_ns),
			FORMAT_DURATION(track->steps.items[0].start_ns - start_ns));
}

static void put_signal(FILE *out, const struct step_track *track)
{
	if (!track->measured) {
		fprintf(out, "  windows of %s, not steps: inferred\n",
			FORMAT_DURATION(track->period_ns));
		return;
	}
	fputs("  signal ", out);
	put_shown(out, track->signal, 120);
	if (track->per_step > 1)
		fprintf(out, ", %u a step", track->per_step);
	fprintf(out, "; period %s, variation %.1f %%, confidence %.2f; measured\n",
		FORMAT_DURATION(track->period_ns), 100 * track->variation, track->confidence);
	for (size_t i = 0; i < track->changes.count && i < TRACKS_SHOWN; i++)
		fprintf(out, "  from step %llu on %u marks a step, before %u\n",
			(unsigned long long)track->changes.items[i].step,
			track->changes.items[i].to, track->changes.items[i].from);
	if (*track->note) {
		fputs("  ", out);
		put_shown(out, track->note, 400);
		fputc('\n', out);
	}
	if (track->confidence < STEP_CONFIDENT)
		fprintf(out,
			"  below confidence %.1f these steps are a guess: gctrace doctor --steps "
			"shows the candidates\n",
			STEP_CONFIDENT);
}

static void put_distribution(FILE *out, const char *name, const struct step_distribution *steps)
{
	fputs("  ", out);
	cell_text(out, name, -18);
	cell_duration(out, steps->mean_ns, 11);
	cell_duration(out, steps->p50_ns, 11);
	cell_duration(out, steps->p95_ns, 11);
	cell_duration(out, steps->p99_ns, 11);
	cell_duration(out, steps->max_ns, 11);
	fputc('\n', out);
}

static void put_cost(FILE *out, const struct step_track *track, const struct track_cost *cost)
{
	static const char *const bases[] = {
		[BASE_LIGHT_STEPS] = "against neighbouring steps with next to no pause",
		[BASE_REMAINDER] =
			"every step has pauses: against the lighter half of them, less their pauses",
		[BASE_NONE] = "too few steps for a counterfactual",
	};

	fprintf(out, "  pauses in steps %s (%s, the upper bound of their cost)",
		FORMAT_DURATION(cost->overlap_ns), VERDICT_SHARE(cost->overlap_ns, cost->time_ns));
	if (cost->base != BASE_NONE)
		fprintf(out, "; counterfactual %s (%s), 95 %% interval %s … %s",
			FORMAT_DURATION(cost->cost.ns), VERDICT_SHARE(cost->cost.ns, cost->time_ns),
			FORMAT_DURATION(cost->cost.low_ns), FORMAT_DURATION(cost->cost.high_ns));
	fprintf(out, ": %s\n",
		track->measured ? bases[cost->base] : "windows of time show no counterfactual");
	if (cost->unseen)
		fprintf(out, "  before steps could be seen: %llu pause%s, %s, in a step or not\n",
			(unsigned long long)cost->unseen, cost->unseen == 1 ? "" : "s",
			FORMAT_DURATION(cost->unseen_ns));
	if (cost->outside > cost->unseen)
		fprintf(out, "  outside any step: %llu pause%s, %s\n",
			(unsigned long long)(cost->outside - cost->unseen),
			cost->outside - cost->unseen == 1 ? "" : "s",
			FORMAT_DURATION(cost->outside_ns - cost->unseen_ns));
	if (cost->worker_pauses)
		fprintf(out,
			"  in its worker processes: %llu pause%s, %s, of which it waited for %s\n",
			(unsigned long long)cost->worker_pauses,
			cost->worker_pauses == 1 ? "" : "s", FORMAT_DURATION(cost->worker_ns),
			FORMAT_DURATION(cost->worker_waited_ns));
	if (cost->stalls)
		fprintf(out,
			"  its own threads waited for the collector: %llu stall%s, %s in steps, %s of it beside "
			"pauses and in none of these figures\n",
			(unsigned long long)cost->stalls, cost->stalls == 1 ? "" : "s",
			FORMAT_DURATION(cost->stall_ns), FORMAT_DURATION(cost->stall_alone_ns));
}

/* RSS where the recording has it: what a later advice to collect less is weighed against. */
static void put_memory(FILE *out, const struct step_track *track)
{
	int64_t first = UNKNOWN, last = UNKNOWN, most = UNKNOWN;

	for (size_t i = 0; i < track->steps.count; i++) {
		int64_t rss = track->steps.items[i].rss_bytes;

		if (rss < 0)
			continue;
		first = first < 0 ? rss : first;
		last = rss;
		most = rss > most ? rss : most;
	}
	if (first >= 0)
		fprintf(out,
			"  resident memory %.1f MiB at the first step, %.1f MiB at the last, %.1f MiB at most\n",
			(double)first / 0x1p20, (double)last / 0x1p20, (double)most / 0x1p20);
}

struct worst {
	uint64_t rank_ns;
	uint32_t index;
};

static int dearest_first(const void *a, const void *b)
{
	const struct worst *one = a, *other = b;

	if (one->rank_ns != other->rank_ns)
		return one->rank_ns < other->rank_ns ? 1 : -1;
	return (one->index > other->index) - (one->index < other->index);
}

/* The @max steps that took longest, longest first. Returns how many. */
static size_t find_worst(const struct step_track *track, struct worst *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < track->steps.count; i++) {
		const struct step *step = &track->steps.items[i];
		struct worst one = {step->end_ns - step->start_ns, (uint32_t)i};

		if (count == max && one.rank_ns <= ret[max - 1].rank_ns)
			continue;
		ret[count < max ? count++ : max - 1] = one;
		qsort(ret, count, sizeof(*ret), dearest_first);
	}
	return count;
}

struct class_column {
	const char *head;
	int width;
};

static const struct class_column *class_column(const struct runtime_meaning *meaning)
{
	static const struct class_column of_generations = {"GEN  ", 5},
					 of_safepoints = {"   GC  ", 7},
					 of_classes = {"CLASS  ", 7};

	return meaning->generations  ? &of_generations
	       : meaning->safepoints ? &of_safepoints
				     : &of_classes;
}

static void put_worst_step(FILE *out, const struct report_input *input,
	const struct step_track *track, const struct track_cost *cost, uint32_t index)
{
	const struct step *step = &track->steps.items[index];
	const struct step_cost *paid = &cost->steps.items[index];
	uint64_t duration_ns = step->end_ns - step->start_ns;
	const struct charge *charge =
		paid->worst == ATTRIB_NONE ? NULL : &input->attribution->charges.items[paid->worst];
	uint32_t frame = charge ? attrib_trigger(input->stacks, charge->stack) : 0;
	char text[24];

	fputs("  ", out);
	cell_count(out, index, 8);
	cell_duration(out, duration_ns, 11);
	snprintf(text, sizeof(text), "%.1f ×",
		track->period_ns ? (double)duration_ns / (double)track->period_ns : 0);
	cell_text(out, text, 9);
	cell_count(out, paid->pauses, 8);
	cell_duration(out, paid->overlap_ns, 11);
	cell_duration(out, paid->cost_ns, 11);
	cell_text(out, paid->class ? paid->class->cell : "-",
		class_column(meaning_of_process(input->recording, track->process))->width);
	fputs("  ", out);
	if (frame)
		text_frame(out, input->stacks, frame, FUNCTION_COLUMNS);
	else
		fputs(paid->overlap_ns * 10 < duration_ns ? "not GC" : "-", out);
	fputc('\n', out);
}

static void put_worst(FILE *out, const struct report_input *input, const struct step_track *track,
	const struct track_cost *cost)
{
	struct worst worst[WORST_SHOWN];
	size_t count = find_worst(track, worst, WORST_SHOWN);

	fprintf(out,
		"\n  Worst steps\n"
		"        STEP   DURATION   MEDIAN  PAUSES     PAUSED       COST  %sTRIGGERED IN\n",
		class_column(meaning_of_process(input->recording, track->process))->head);
	for (size_t i = 0; i < count; i++)
		put_worst_step(out, input, track, cost, worst[i].index);
}

static void put_track(FILE *out, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];
	const struct track_cost *cost = &input->attribution->tracks.items[index];

	fprintf(out, "\nSteps of %s: %zu\n",
		VERDICT_NAME(recording_process(input->recording, track->process)),
		(size_t)track->steps.count);
	put_signal(out, track);
	put_seen(out, input, track);
	put_cost(out, track, cost);
	put_memory(out, track);
	fprintf(out,
		"\n                             MEAN     MEDIAN        P95        P99      WORST\n");
	put_distribution(out, "with pauses", &cost->with);
	put_distribution(out, "without their cost", &cost->without);
	put_worst(out, input, track, cost);
}

void text_steps(FILE *out, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	size_t count = attribution ? attribution->tracks.count : 0;

	for (size_t i = 0; i < count && i < TRACKS_SHOWN; i++)
		put_track(out, input, i);
	if (count > TRACKS_SHOWN)
		fprintf(out, "\n… and %zu more process%s with steps (-f json has them all)\n",
			count - TRACKS_SHOWN, count - TRACKS_SHOWN == 1 ? "" : "es");
	if (count && attribution->elsewhere)
		fprintf(out,
			"\nIn processes that run no steps: %llu pause%s, %s, charged to no step\n",
			(unsigned long long)attribution->elsewhere,
			attribution->elsewhere == 1 ? "" : "s",
			FORMAT_DURATION(attribution->elsewhere_ns));
}
