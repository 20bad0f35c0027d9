/* A page's figures → the one JSON object that its script reads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "devices.h"
#include "html.h"
#include "html_gpu.h"
#include "html_kept.h"
#include "html_pack.h"
#include "html_steps.h"
#include "html_table.h"
#include "model_tables.h"
#include "model_track.h"
#include "runtime_words.h"
#include "verdict.h"

#define TRACKS_MOST 64
#define BINS_MOST   110000 /* up to so many steps, each has a bin of its own */
#define BINS_COARSE 60000  /* beyond that, at most so many bins, as each takes more room */

size_t html_tracks(const struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	size_t count = attribution ? attribution->tracks.count : 0;

	if (attribution && attribution->steps->tracks.count < count)
		count = attribution->steps->tracks.count;
	return count < TRACKS_MOST ? count : TRACKS_MOST;
}

static uint32_t steps_per_bin(const struct html_page *page)
{
	uint64_t steps = 0;

	for (size_t i = 0; i < html_tracks(page); i++)
		steps += page->input->attribution->steps->tracks.items[i].steps.count;
	return steps <= BINS_MOST ? 1 : (uint32_t)((steps + BINS_COARSE - 1) / BINS_COARSE);
}

static void put_field(struct html_page *page, const char *name, const char *field, size_t size)
{
	html_text(page->out, name, field, strnlen(field, size), 240, &page->text);
}

static void put_recording(struct html_page *page)
{
	const struct recording *recording = page->input->recording;
	FILE *out = page->out;

	fputs("{\"recording\":{\"schema\":1", out);
	if (page->input->title)
		put_field(page, "title", page->input->title, HTML_WHOLE);
	put_field(page, "version", recording->version, sizeof(recording->version));
	put_field(page, "host", recording->host, sizeof(recording->host));
	put_field(page, "boot_id", recording->boot_id, sizeof(recording->boot_id));
	html_real(out, "wall_s", (double)recording_wall_ns(recording, recording->start_ns) / 1e9);
	html_uint(out, "span_ns", verdict_span_ns(recording, &page->summary));
	html_uint(out, "traced_ns", verdict_traced_ns(recording, &page->summary));
	html_bool(out, "complete", verdict_complete(recording) && !*page->damage.text);
	putc_unlocked('}', out);
}

static void put_summary(struct html_page *page)
{
	const struct summary *summary = &page->summary;
	FILE *out = page->out;

	html_key(out, false, "summary");
	fprintf(out, "{\"count\":%" PRIu64, summary->count);
	html_uint(out, "total_ns", summary->total_ns);
	html_uint(out, "max_ns", summary->max_ns);
	html_uint(out, "p50_ns", summary_quantile_all(summary, 0.5));
	html_uint(out, "p99_ns", summary_quantile_all(summary, 0.99));
	html_uint(out, "slept", summary->slept);
	putc_unlocked('}', out);
}

/* Whether the page speaks of @meaning's classes: a runtime of it was recorded, or paused. */
static bool is_meant(const struct html_page *page, const struct runtime_meaning *meaning)
{
	return words_has(page->input->recording, meaning) ||
	       summary_kinds_find(&page->summary.kinds, meaning);
}

/* Adds to the names of colour @place, which *first says are none yet, those that classes of @meaning have. */
static void put_names(const struct html_page *page, const struct runtime_meaning *meaning,
	uint8_t place, bool *first)
{
	const struct summary_kind *kind = summary_kinds_find(&page->summary.kinds, meaning);
	bool other = false;

	for (size_t i = 0; i < meaning->class_count; i++) {
		const struct pause_class *class = &meaning->classes[i];

		if (class->colour != place || (other && !(kind && kind->classes[i].count)))
			continue;
		fprintf(page->out, "%s%s", *first ? "" : ", ",
			class->legend ? class->legend : class->name);
		*first = false;
		other = true;
	}
}

/* What the classes are called that pauses have as the places of their colours. */
static void put_classes(struct html_page *page)
{
	html_key(page->out, false, "classes");
	for (uint8_t i = 0; i < CLASS_COLOURS; i++) {
		bool first = true;

		fputs(i ? ",\"" : "[\"", page->out);
		for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
			if (is_meant(page, *at))
				put_names(page, *at, i, &first);
		if (is_meant(page, meaning_of("")))
			put_names(page, meaning_of(""), i, &first);
		putc_unlocked('"', page->out);
	}
	putc_unlocked(']', page->out);
}

/* What classes and causes, which pauses have as numbers, are called; which columns there is something for. */
static void put_words(struct html_page *page)
{
	const struct recording *recording = page->input->recording;

	html_bool(page->out, "by_class",
		recording->runtimes.count && !words_any(recording, words_generations));
	html_bool(page->out, "reach", words_any(recording, words_reach));
	put_classes(page);
	html_key(page->out, false, "causes");
	for (uint32_t i = 0; i < SUMMARY_CAUSES; i++)
		fprintf(page->out, "%c\"%s\"", i ? ',' : '[', pause_cause_name(i));
	putc_unlocked(']', page->out);
}

/* Their stacks have been counted where there was no room for them. */
static int put_longest(struct html_page *page)
{
	_cleanup_(model_release) struct model model = {0};
	uint64_t refused = page->stacks.refused;
	int r;

	model_longest(&model, page->input, page->longest.items, page->longest.count);
	r = model.failed ? -ENOMEM : html_tables_write(page, "longest", &model);
	page->stacks.refused = refused;
	return r;
}

static int put_tables(struct html_page *page)
{
	_cleanup_(model_release) struct model model = {0};
	int r = model_build(&model, page->input, &page->summary);

	return r ? r : html_tables_write(page, "tables", &model);
}

static int pid_of(const struct html_page *page, uint32_t process)
{
	const struct process *found = recording_process(page->input->recording, process);

	return found ? (int)found->pid : 0;
}

static void put_distribution(FILE *out, const char *name, const struct step_distribution *steps)
{
	html_key(out, false, name);
	fprintf(out, "{\"p50_ns\":%" PRIu64, steps->p50_ns);
	html_uint(out, "p95_ns", steps->p95_ns);
	html_uint(out, "p99_ns", steps->p99_ns);
	html_uint(out, "max_ns", steps->max_ns);
	html_uint(out, "mean_ns", steps->mean_ns);
	putc_unlocked('}', out);
}

/* How it is known what the track lost; "untold": .untold says why it is not, and the figures of it mean nothing. */
static void put_source(struct html_page *page, const struct track_cost *cost)
{
	const char *untold = DESCRIBE_UNTOLD(cost);

	fprintf(page->out, ",\"source\":\"%s\"", describe_source(attrib_source(cost)));
	if (!attrib_told(cost))
		html_text(page->out, "untold", untold, strlen(untold), 480, &page->text);
	else if (cost->overlap_ns)
		put_field(page, "interval", DESCRIBE_INTERVAL(cost, true), HTML_WHOLE);
}

static void put_costs(FILE *out, const struct track_cost *cost)
{
	html_uint(out, "time_ns", cost->time_ns);
	html_uint(out, "pauses", cost->pauses);
	html_uint(out, "pause_ns", cost->pause_ns);
	html_uint(out, "overlap_ns", cost->overlap_ns);
	html_uint(out, "outside", cost->outside);
	html_uint(out, "outside_ns", cost->outside_ns);
	html_uint(out, "unseen", cost->unseen);
	html_uint(out, "worker_pauses", cost->worker_pauses);
	html_uint(out, "worker_ns", cost->worker_ns);
	html_uint(out, "worker_waited_ns", cost->worker_waited_ns);
	html_uint(out, "cost_ns", describe_lost_ns(cost->cost.ns));
	put_distribution(out, "with", &cost->with);
	put_distribution(out, "without", &cost->without);
	html_uint(out, "slow_steps", cost->slow.steps);
	html_uint(out, "slow_other", cost->slow.other);
}

static void put_signal(struct html_page *page, const struct step_track *track)
{
	FILE *out = page->out;

	fprintf(out, "{\"pid\":%d,\"tid\":%u", pid_of(page, track->process), track->tid);
	flame_text_clear(&page->text);
	flame_text_put(&page->text,
		VERDICT_NAME(recording_process(page->input->recording, track->process)));
	html_key(out, false, "name");
	html_string(out, &page->text);
	put_field(page, "signal", track->signal, sizeof(track->signal));
	html_uint(out, "count", track->steps.count);
	html_uint(out, "per_step", track->per_step);
	html_uint(out, "period_ns", track->period_ns);
	html_real(out, "variation", track->variation);
	html_real(out, "confidence", track->confidence);
	html_bool(out, "measured", track->measured);
	html_bool(out, "guess", !step_track_confident(track));
}

/* Sentences about its steps, their durations, the worst of them. */
static int put_track_tables(struct html_page *page, uint32_t index)
{
	_cleanup_(model_release) struct model model = {0};

	model_track(&model, page->input, index);
	return model.failed ? -ENOMEM : html_tables_write(page, "tables", &model);
}

/* What its GPU did in its steps. Nothing where that is not known. */
static void put_gpu_steps(struct html_page *page, uint32_t index)
{
	const struct attribution *attribution = page->input->attribution;
	const char *name = DEVICES_NAME(attribution, attribution->tracks.items[index].gpu_device);
	struct device_steps steps = devices_steps(attribution, index);
	FILE *out = page->out;

	if (!*name || !steps.known)
		return;
	html_key(out, false, "gpu_steps");
	fprintf(out, "{\"source\":\"%s\"", devices_source(attribution->gpu));
	put_field(page, "name", name, HTML_WHOLE);
	html_uint(out, "time_ns", steps.time_ns);
	html_uint(out, "idle_ns", steps.idle_ns);
	html_uint(out, "pause_ns", steps.pause_ns);
	html_uint(out, "unknown", steps.unknown);
	putc_unlocked('}', out);
}

static int put_track(struct html_page *page, uint32_t index, uint32_t per_bin)
{
	const struct attribution *attribution = page->input->attribution;
	const struct step_track *track = &attribution->steps->tracks.items[index];
	FILE *out = page->out;
	int r;

	put_signal(page, track);
	put_source(page, &attribution->tracks.items[index]);
	put_costs(out, &attribution->tracks.items[index]);
	if (!step_track_confident(
		    track)) { /* its pauses are with those of processes without steps */
		r = put_track_tables(page, index);
		putc_unlocked('}', out);
		return r;
	}
	put_gpu_steps(page, index);
	html_key(out, false, "distribution");
	html_distribution_write(out, attribution, index);
	r = put_track_tables(page, index);
	if (r)
		return r;
	html_uint(out, "per_bin", per_bin);
	html_key(out, false, "data");
	r = html_steps_write(out, attribution, index, per_bin);
	if (!r)
		r = html_kept_write(page, index);
	if (!r)
		r = html_gpu_write(page, index);
	if (!r)
		r = html_gpu_memory_write(page, index, per_bin);
	putc_unlocked('}', out);
	return r;
}

/* Costs by line: a table. */
static int put_triggers(struct html_page *page)
{
	_cleanup_(model_release) struct model model = {0};

	model_costs(&model, page->input);
	if (model.failed)
		return -ENOMEM;
	html_key(page->out, false, "triggers");
	return html_table_write(page, model.tables.items[0]);
}

static int put_tracks(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	uint32_t per_bin = steps_per_bin(page);
	int r = 0;

	html_uint(page->out, "track_count", attribution ? attribution->tracks.count : 0);
	html_key(page->out, false, "tracks");
	putc_unlocked('[', page->out);
	for (uint32_t i = 0; !r && i < html_tracks(page); i++) {
		if (i)
			putc_unlocked(',', page->out);
		r = put_track(page, i, per_bin);
	}
	putc_unlocked(']', page->out);
	return r;
}

/* Pauses of processes that run no steps, or none that are known with confidence, nor feed one that does. */
static void put_elsewhere(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	uint64_t pauses = attribution ? attribution->elsewhere : 0;
	uint64_t pause_ns = attribution ? attribution->elsewhere_ns : 0;

	for (size_t i = 0; i < html_tracks(page); i++) {
		const struct track_cost *cost = &attribution->tracks.items[i];

		if (step_track_confident(&attribution->steps->tracks.items[i]))
			continue;
		pauses += cost->pauses + cost->worker_pauses;
		pause_ns += cost->pause_ns + cost->worker_ns;
	}
	fprintf(page->out, "{\"elsewhere\":%" PRIu64, pauses);
	html_uint(page->out, "elsewhere_ns", pause_ns);
}

int html_data_write(struct html_page *page, struct err *err)
{
	const struct attribution *attribution = page->input->attribution;
	FILE *out = page->out;
	int r;

	put_recording(page);
	put_summary(page);
	put_words(page);
	r = put_tracks(page);
	if (!r)
		r = put_triggers(page);
	html_key(out, false, "other");
	put_elsewhere(page);
	if (!r)
		r = html_kept_write(page, ATTRIB_NONE);
	if (!r)
		r = html_gpu_write(page, ATTRIB_NONE);
	fputs("},\"left_out\":{\"stacks\":", out);
	fprintf(out, "%" PRIu64, page->stacks.refused);
	html_uint(out, "pauses", page->keep.dropped);
	html_uint(out, "pause_ns", page->keep.dropped_ns);
	html_uint(out, "max_ns", page->keep.dropped_max_ns);
	putc_unlocked('}', out);
	if (attribution)
		put_field(page, "note", attribution->steps->note, sizeof(attribution->steps->note));
	if (!r)
		r = put_longest(page);
	if (!r)
		r = put_tables(page);
	if (r)
		return err_set(err, -r, "memory ran out while writing the page");
	r = html_recorded_write(page);
	if (!r)
		r = html_stacks_write(&page->stacks, out, &page->text);
	putc_unlocked('}', out);
	return r ? err_set(err, -r, "memory ran out while writing the page") : 0;
}
