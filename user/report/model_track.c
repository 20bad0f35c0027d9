/* The steps of a process and what pauses cost them in; sentences about them, and tables of their durations, out. */
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "devices.h"
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
	if (!step_track_confident(track))
		model_note(table, IN_TEXT,
			"signal %s; %s from one to the next (median), confidence %.2f",
			model_shown(model, track->signal, sizeof(track->signal), SIGNAL_SHOWN),
			FORMAT_DURATION(track->period_ns), track->confidence);
	else
		model_note(table, IN_TEXT,
			"signal %s%s; period %s, variation %.1f %%, confidence %.2f; measured",
			model_shown(model, track->signal, sizeof(track->signal), SIGNAL_SHOWN),
			often, FORMAT_DURATION(track->period_ns), 100 * track->variation,
			track->confidence);
	for (size_t i = 0; i < track->changes.count && i < CHANGES; i++) {
		const struct step_change *change = &track->changes.items[i];

		note_for_all(table, 0,
			model_format(model, "from step %llu on %u mark%s a step, before %u",
				(unsigned long long)change->step, change->to, plural(change->to),
				change->from));
	}
	if (*track->note)
		model_note(table, IN_TEXT | IN_PAGE, "%s", track->note);
	if (!step_track_confident(track))
		note_for_all(table, NOTE_WARNS,
			model_format(model,
				"below confidence %.1f they are a guess, of which nothing is said: gctrace "
				"doctor --steps shows the candidates, and --step chooses one",
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

/* How the figure was found. */
static const char *method_of(const struct track_cost *cost)
{
	if (cost->by_gpu)
		return " by the GPU's own records";
	if (cost->source == COST_MEASURED)
		return " by what its thread waited";
	return " against steps without pauses";
}

/* What was stopped is a fact, what was lost is known in some way, or is not. The page has tiles for both. */
static void note_cost(struct model_table *table, const struct track_cost *cost)
{
	uint64_t lost_ns = describe_lost_ns(cost->cost.ns);
	const char *lost = "";

	if (!attrib_told(cost))
		lost = model_format(table->model, "; how much of that was lost cannot be told (%s)",
			DESCRIBE_UNTOLD(cost));
	else if (cost->overlap_ns)
		lost = model_format(table->model,
			lost_ns > cost->overlap_ns ? "; lost %s (%s): %s%s%s"
						   : ", of which lost %s (%s): %s%s%s",
			FORMAT_DURATION(lost_ns), VERDICT_SHARE(lost_ns, cost->time_ns),
			describe_source(attrib_source(cost)), method_of(cost),
			DESCRIBE_INTERVAL(cost, false));
	model_note(table, IN_TEXT, "stopped by pauses %s (%s of its time)%s",
		FORMAT_DURATION(cost->overlap_ns), VERDICT_SHARE(cost->overlap_ns, cost->time_ns),
		lost);
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
	if (cost->held_ns)
		note_for_all(table, 0,
			model_format(table->model,
				"%zu process%s in step with it paused within its steps, outside its own "
				"pauses: %s (%s of its time)",
				(size_t)cost->siblings.count, cost->siblings.count == 1 ? "" : "es",
				FORMAT_DURATION(cost->held_ns),
				VERDICT_SHARE(cost->held_ns, cost->time_ns)));
	if (cost->stalls)
		note_for_all(table, 0,
			model_format(table->model,
				"its own threads waited for the collector: %llu stall%s, %s in steps, %s "
				"of it beside pauses and in none of these figures",
				(unsigned long long)cost->stalls, plural(cost->stalls),
				FORMAT_DURATION(cost->stall_ns),
				FORMAT_DURATION(cost->stall_alone_ns)));
}

/* Steps that an allocator of GPU memory held up, beside the pauses. */
static void note_allocator(struct model_table *table, const struct track_cost *cost)
{
	if (cost->retry_ns)
		note_for_all(table, 0,
			model_format(table->model,
				"memory of a GPU was freed to get more: %s in steps, beside pauses; "
				"%llu slow step%s %s an allocator stall",
				FORMAT_DURATION(cost->retry_ns),
				(unsigned long long)cost->slow.retried, plural(cost->slow.retried),
				cost->slow.retried == 1 ? "is" : "are"));
}

/* What its GPU did in the steps. Nothing where it has none. */
static void note_gpu(struct model_table *table, const struct report_input *input, size_t index)
{
	const struct attribution *attribution = input->attribution;
	uint32_t device = attribution->tracks.items[index].gpu_device;
	const char *name = model_shown(table->model, DEVICES_NAME(attribution, device), SIZE_MAX,
		SIGNAL_SHOWN);
	struct device_steps steps = devices_steps(attribution, index);
	const char *missing = "";

	if (!*name)
		return;
	if (!steps.known) {
		note_for_all(table, 0,
			model_format(table->model, "what %s did in its steps is not known", name));
		return;
	}
	if (steps.unknown)
		missing = model_format(table->model, ", not known of %llu step%s",
			(unsigned long long)steps.unknown, plural(steps.unknown));
	note_for_all(table, 0,
		model_format(table->model,
			"in its steps %s stood idle %s (%s of their time), %s of that because of "
			"pauses%s; %s",
			name, FORMAT_DURATION(steps.idle_ns),
			VERDICT_SHARE(steps.idle_ns, steps.time_ns),
			FORMAT_DURATION(steps.pause_ns), missing,
			devices_source(attribution->gpu)));
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

	table->title = model_format(model, "%s of %s: %zu",
		step_track_confident(track) ? "Steps" : "What may be steps",
		VERDICT_NAME(recording_process(input->recording, track->process)),
		(size_t)track->steps.count);
	note_signal(table, track);
	if (!step_track_confident(track))
		return;
	note_seen(table, input, track);
	note_cost(table, cost);
	note_elsewhere(table, cost);
	note_gpu(table, input, (size_t)(track - input->attribution->steps->tracks.items));
	note_allocator(table, cost);
	note_memory(table, track);
}

static const struct model_column distribution_columns[] = {
	{"name", NULL, UNIT_TEXT, .width = -22},
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
	{"without", "Without", UNIT_NS, .if_known = true, .known = KNOWN_LOST},
	{"saved", "Saved", UNIT_SHARE, .if_known = true, .known = KNOWN_LOST},
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

/* The mean without pauses has the interval of what all steps lost; no other of these figures has one. */
static void note_interval(struct model_table *table, const struct step_track *track,
	const struct track_cost *cost)
{
	size_t count = track->steps.count;
	uint64_t ends[2] = {
		describe_lost_ns(cost->cost.high_ns), describe_lost_ns(cost->cost.low_ns)};
	uint64_t mean_ns = cost->with.mean_ns;

	if (!attrib_told(cost) || !count)
		return;
	for (size_t i = 0; i < 2; i++)
		ends[i] = mean_ns - (ends[i] / count < mean_ns ? ends[i] / count : mean_ns);
	if (strcmp(FORMAT_DURATION(ends[0]), FORMAT_DURATION(ends[1])))
		model_note(table, IN_PAGE,
			"The mean without pauses: 95 %% interval %s … %s. The others have none.",
			FORMAT_DURATION(ends[0]), FORMAT_DURATION(ends[1]));
}

/* @told: whether it is known what it would have been without pauses. */
static void add_figure(struct model_table *table, bool told, const char *name, uint64_t with,
	uint64_t without)
{
	struct model_cell unknown = model_known(UNKNOWN);

	MODEL_ROW(table, model_number(table->rows), model_text(name), model_number(with),
		told ? model_number(without) : unknown,
		told ? model_share(with > without ? with - without : 0, with) : unknown);
}

void model_track(struct model *model, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];
	const struct track_cost *cost = &input->attribution->tracks.items[index];
	const struct step_distribution *with = &cost->with, *without = &cost->without;
	bool told = attrib_told(cost);
	struct model_table *table;

	add_about(model, input, track, cost);
	if (!step_track_confident(track))
		return;
	table = model_add(model, &distribution_layout);
	add_distribution(table, "with pauses", with);
	if (told)
		add_distribution(table, "without what they cost", without);
	table = model_add(model, &figures_layout);
	table->known[KNOWN_LOST] = describe_known(cost);
	add_figure(table, told, "Mean", with->mean_ns, without->mean_ns);
	add_figure(table, told, "Median", with->p50_ns, without->p50_ns);
	add_figure(table, told, "p95", with->p95_ns, without->p95_ns);
	add_figure(table, told, "p99", with->p99_ns, without->p99_ns);
	add_figure(table, told, "Worst", with->max_ns, without->max_ns);
	note_interval(table, track, cost);
	model_worst_steps(model, input, index);
}
