/* The steps of a process and what pauses cost them in; sentences about them, and tables of their durations, out. */
#include "cleanup.h"
#include "model_track.h"
#include "parse.h"
#include "verdict.h"

#define CHANGES	     8
#define SIGNAL_SHOWN 120

/* No columns: a heading and sentences. */
static const struct model_layout about_layout = {
	.key = "about",
};

/* @sentence is the model's, begins small and has no full stop; the page gives it both. */
static void note_for_all(struct model_table *table, uint8_t more, const char *sentence)
{
	model_note(table, IN_TEXT, "%s", sentence);
	model_note(table, IN_PAGE | more, "%s.", model_capital(table->model, sentence));
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void note_signal(struct model_table *table, const struct step_track *track)
{
	struct model *model = table->model;
	const char *often =
		track->per_step > 1 ? model_format(model, ", %u a step", track->per_step) : "";

	if (!track->measured) {
		model_note(table, IN_TEXT, "windows of %s, not steps: inferred",
			FORMAT_DURATION(track->period_ns));
		if (*track->note)
			model_note(table, IN_PAGE, "%s", track->note);
		return;
	}
	model_note(table, IN_TEXT,
		"signal %s%s; period %s, variation %.1f %%, confidence %.2f; measured",
		model_shown(model, track->signal, sizeof(track->signal), SIGNAL_SHOWN), often,
		FORMAT_DURATION(track->period_ns), 100 * track->variation, track->confidence);
	for (size_t i = 0; i < track->changes.count && i < CHANGES; i++) {
		const struct step_change *change = &track->changes.items[i];

		note_for_all(table, 0,
			model_format(model, "from step %llu on %u mark%s a step, before %u",
				(unsigned long long)change->step, change->to, plural(change->to),
				change->from));
	}
	if (*track->note)
		model_note(table, IN_TEXT | IN_PAGE, "%s", track->note);
	if (track->confidence < STEP_CONFIDENT)
		note_for_all(table, NOTE_WARNS,
			model_format(model,
				"below confidence %.1f these steps are a guess: gctrace doctor --steps "
				"shows the candidates",
				STEP_CONFIDENT));
}

/* What came before the probes is not known, and is not to look as if there had been no steps. */
static void note_seen(struct model_table *table, const struct report_input *input,
	const struct step_track *track)
{
	uint64_t start_ns = input->recording->start_ns;

	if (track->seen_ns)
		note_for_all(table, 0,
			model_format(table->model,
				"steps are seen from %s on, and the first began at %s: what ran before "
				"is not known",
				FORMAT_DURATION(track->seen_ns - start_ns),
				FORMAT_DURATION(track->steps.items[0].start_ns - start_ns)));
}

static void note_cost(struct model_table *table, const struct step_track *track,
	const struct track_cost *cost)
{
	static const char *const bases[] = {
		[BASE_LIGHT_STEPS] = "against neighbouring steps with next to no pause",
		[BASE_REMAINDER] =
			"every step has pauses: against the lighter half of them, less their pauses",
		[BASE_NONE] = "too few steps for a counterfactual",
	};
	const char *counterfactual = "";

	if (cost->base != BASE_NONE)
		counterfactual = model_format(table->model,
			"; counterfactual %s (%s), 95 %% interval %s … %s",
			FORMAT_DURATION(cost->cost.ns), VERDICT_SHARE(cost->cost.ns, cost->time_ns),
			FORMAT_DURATION(cost->cost.low_ns), FORMAT_DURATION(cost->cost.high_ns));
	model_note(table, IN_TEXT, "pauses in steps %s (%s, the upper bound of their cost)%s: %s",
		FORMAT_DURATION(cost->overlap_ns), VERDICT_SHARE(cost->overlap_ns, cost->time_ns),
		counterfactual,
		track->measured ? bases[cost->base] : "windows of time show no counterfactual");
	if (track->measured && cost->base == BASE_REMAINDER)
		model_note(table, IN_PAGE,
			"Every step has pauses: their cost is counted against the lighter half of the "
			"steps, less their pauses.");
}

/* Pauses that are in none of those figures. The page has tiles for the first three. */
static void note_elsewhere(struct model_table *table, const struct track_cost *cost)
{
	if (cost->unseen)
		model_note(table, IN_TEXT,
			"before steps could be seen: %llu pause%s, %s, in a step or not",
			(unsigned long long)cost->unseen, plural(cost->unseen),
			FORMAT_DURATION(cost->unseen_ns));
	if (cost->outside > cost->unseen)
		model_note(table, IN_TEXT, "outside any step: %llu pause%s, %s",
			(unsigned long long)(cost->outside - cost->unseen),
			plural(cost->outside - cost->unseen),
			FORMAT_DURATION(cost->outside_ns - cost->unseen_ns));
	if (cost->worker_pauses)
		model_note(table, IN_TEXT,
			"in its worker processes: %llu pause%s, %s, of which it waited for %s",
			(unsigned long long)cost->worker_pauses, plural(cost->worker_pauses),
			FORMAT_DURATION(cost->worker_ns), FORMAT_DURATION(cost->worker_waited_ns));
	if (cost->stalls)
		note_for_all(table, 0,
			model_format(table->model,
				"its own threads waited for the collector: %llu stall%s, %s in steps, %s "
				"of it beside pauses and in none of these figures",
				(unsigned long long)cost->stalls, plural(cost->stalls),
				FORMAT_DURATION(cost->stall_ns),
				FORMAT_DURATION(cost->stall_alone_ns)));
}

/* RSS where the recording has it: what a later advice to collect less is weighed against. */
static void note_memory(struct model_table *table, const struct step_track *track)
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
		note_for_all(table, 0,
			model_format(table->model,
				"resident memory %.1f MiB at the first step, %.1f MiB at the last, "
				"%.1f MiB at most",
				(double)first / 0x1p20, (double)last / 0x1p20,
				(double)most / 0x1p20));
}

static void add_about(struct model *model, const struct report_input *input,
	const struct step_track *track, const struct track_cost *cost)
{
	struct model_table *table = model_add(model, &about_layout);

	table->title = model_format(model, "Steps of %s: %zu",
		VERDICT_NAME(recording_process(input->recording, track->process)),
		(size_t)track->steps.count);
	note_signal(table, track);
	note_seen(table, input, track);
	note_cost(table, track, cost);
	note_elsewhere(table, cost);
	note_memory(table, track);
}

static const struct model_column distribution_columns[] = {
	{"name", NULL, UNIT_TEXT, .width = -18},
	{"mean_ns", "Mean", UNIT_NS},
	{"p50_ns", "Median", UNIT_NS},
	{"p95_ns", "p95", UNIT_NS},
	{"p99_ns", "p99", UNIT_NS},
	{"max_ns", "Worst", UNIT_NS},
};

/* JSON has these in the summary's tracks. */
static const struct model_layout distribution_layout = {
	.key = "distribution",
	.columns = distribution_columns,
	.column_count = ARRAY_SIZE(distribution_columns),
	.json = "",
	.page = "",
};

static void add_distribution(struct model_table *table, const char *name,
	const struct step_distribution *steps)
{
	MODEL_ROW(table, model_text(name), model_number(steps->mean_ns),
		model_number(steps->p50_ns), model_number(steps->p95_ns),
		model_number(steps->p99_ns), model_number(steps->max_ns));
}

/* The same turned about, for the page, where it stands beside the histogram and the room is narrow. */
static const struct model_column figure_columns[] = {
	{"order", NULL, UNIT_ID},
	{"figure", "Step time", UNIT_TEXT, .by = "order"},
	{"with", "With", UNIT_NS},
	{"without", "Without", UNIT_NS},
	{"saved", "Saved", UNIT_SHARE},
};

static const struct model_layout figures_layout = {
	.key = "figures",
	.caption = "In figures",
	.columns = figure_columns,
	.column_count = ARRAY_SIZE(figure_columns),
	.text = "",
	.json = "",
	.page = "figure with without saved order",
	.sort = "figure",
	.ascending = true,
};

static void add_figure(struct model_table *table, const char *name, uint64_t with, uint64_t without)
{
	MODEL_ROW(table, model_number(table->rows), model_text(name), model_number(with),
		model_number(without), model_share(with > without ? with - without : 0, with));
}

void model_track(struct model *model, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];
	const struct track_cost *cost = &input->attribution->tracks.items[index];
	const struct step_distribution *with = &cost->with, *without = &cost->without;
	struct model_table *table;

	add_about(model, input, track, cost);
	table = model_add(model, &distribution_layout);
	add_distribution(table, "with pauses", with);
	add_distribution(table, "without their cost", without);
	table = model_add(model, &figures_layout);
	add_figure(table, "Mean", with->mean_ns, without->mean_ns);
	add_figure(table, "Median", with->p50_ns, without->p50_ns);
	add_figure(table, "p95", with->p95_ns, without->p95_ns);
	add_figure(table, "p99", with->p99_ns, without->p99_ns);
	add_figure(table, "Worst", with->max_ns, without->max_ns);
	model_worst_steps(model, input, index);
}
