/* A page's figures → the one JSON object that its script reads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "html_pack.h"
#include "html_steps.h"
#include "verdict.h"

#define TRACKS_MOST   64
#define BINS_MOST     110000 /* up to so many steps each is held by itself */
#define BINS_COARSE   60000  /* else at most so many bins; each takes more room then */
#define TRIGGERS_MOST 200
#define CHANGES_MOST  32

enum {
	PAUSE_BY_WORKER = 1 << 4,
	PAUSE_DID_SLEEP = 1 << 5,
	PAUSE_FOREIGN = 1 << 6,
	PAUSE_OF_JVM = 1 << 7,
};

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

static void put_class(FILE *out, const char *name, const struct summary_class *class)
{
	fprintf(out, "{\"name\":\"%s\"", name);
	html_uint(out, "count", class->count);
	html_uint(out, "total_ns", class->total_ns);
	html_uint(out, "p50_ns", summary_quantile(class, 0.5));
	html_uint(out, "p99_ns", summary_quantile(class, 0.99));
	html_uint(out, "max_ns", class->max_ns);
	html_known(out, "collected", class->collected);
	html_known(out, "uncollectable", class->uncollectable);
	putc_unlocked('}', out);
}

static void put_summary(struct html_page *page)
{
	static const char *const names[SUMMARY_GENERATIONS] = {"0", "1", "2", "unknown"};
	const struct summary *summary = &page->summary;
	FILE *out = page->out;

	html_key(out, false, "summary");
	fprintf(out, "{\"count\":%" PRIu64, summary->count);
	html_uint(out, "total_ns", summary->total_ns);
	html_uint(out, "max_ns", summary->max_ns);
	html_uint(out, "p50_ns", summary_quantile_all(summary, 0.5));
	html_uint(out, "p99_ns", summary_quantile_all(summary, 0.99));
	html_uint(out, "slept", summary->slept);
	html_key(out, false, "generations");
	for (size_t i = 0; i < SUMMARY_GENERATIONS; i++) {
		putc_unlocked(i ? ',' : '[', out);
		put_class(out, names[i], &summary->generations[i]);
	}
	putc_unlocked(']', out);
	html_key(out, false, "causes");
	for (uint32_t i = 0; i < SUMMARY_CAUSES; i++) {
		fprintf(out, "%c{\"name\":\"%s\"", i ? ',' : '[', pause_cause_name(i));
		html_uint(out, "count", summary->causes[i].count);
		html_uint(out, "total_ns", summary->causes[i].total_ns);
		html_uint(out, "max_ns", summary->causes[i].max_ns);
		putc_unlocked('}', out);
	}
	fputs("]}", out);
}

static int pid_of(const struct html_page *page, uint32_t process)
{
	const struct process *found = recording_process(page->input->recording, process);

	return found ? (int)found->pid : 0;
}

static unsigned int pause_bits(const struct html_pause *pause, uint32_t owner)
{
	unsigned int generation = html_class(pause->generation);

	return generation | (pause->cause < 4 ? pause->cause : 0) << 2 |
		(pause->flags & PAUSE_SAFEPOINT ? PAUSE_OF_JVM : 0) |
		(pause->worker ? PAUSE_BY_WORKER : 0) |
		(pause->flags & PAUSE_SLEPT ? PAUSE_DID_SLEEP : 0) |
		(pause->process != owner ? PAUSE_FOREIGN : 0);
}

/* The reason of a safepoint and what time it took to reach. 0 or -ENOMEM. */
static int pack_safepoint(struct html_page *page, struct html_pack *pack, const struct html_pause *kept)
{
	const struct pause pause = {.flags = kept->flags, .safepoint = kept->safepoint,
		.generation = kept->generation};
	int64_t ttsp_ns = kept->safepoint.ttsp_ns;
	uint32_t reason = 0;
	int r = html_stacks_string(&page->stacks, safepoint_reason(&pause), &reason);

	html_pack_uint(pack, reason);
	html_pack_uint(pack, ttsp_ns < 0 ? 0 : html_us((uint64_t)ttsp_ns) + 1);
	return r;
}

/* ,"kept":{"count":…,"data":"…"} of the pauses of @track, or of none; @owner: the process of most of them. */
static int put_kept(struct html_page *page, uint32_t track, uint32_t owner)
{
	uint64_t before_us = 0, origin_ns = page->input->recording->start_ns;
	struct html_pack pack;
	size_t count = 0;
	int r = 0;

	html_key(page->out, false, "kept");
	fputs("{\"data\":", page->out);
	html_pack_begin(&pack, page->out);
	for (size_t i = 0; !r && i < page->keep.pauses.count; i++) {
		const struct html_pause *pause = &page->keep.pauses.items[i];
		uint64_t start_us = pause->start_ns > origin_ns ?
			html_us(pause->start_ns - origin_ns) :
			0;
		uint64_t us = html_us(html_pause_ns(pause));
		unsigned int bits = pause_bits(pause, owner);

		if (pause->track != track)
			continue;
		html_pack_uint(&pack, start_us - before_us); /* they are sorted */
		html_pack_uint(&pack, us);
		html_pack_uint(&pack, bits);
		html_pack_int(&pack, (int64_t)us - (int64_t)html_us(pause->cost_ns));
		html_pack_uint(&pack, pause->stack);
		html_pack_uint(&pack, pause->collected < 0 ? 0 : (uint64_t)pause->collected + 1);
		if (bits & PAUSE_FOREIGN)
			html_pack_uint(&pack, (uint64_t)pid_of(page, pause->process));
		if (bits & PAUSE_OF_JVM)
			r = pack_safepoint(page, &pack, pause);
		before_us = start_us;
		count++;
	}
	html_pack_end(&pack);
	html_uint(page->out, "count", count);
	putc_unlocked('}', page->out);
	return r;
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

static void put_costs(FILE *out, const struct track_cost *cost)
{
	static const char *const bases[] = {
		[BASE_LIGHT_STEPS] = "light",
		[BASE_REMAINDER] = "remainder",
		[BASE_NONE] = "none",
	};

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
	html_uint(out, "cost_ns", cost->cost.ns);
	html_uint(out, "cost_low_ns", cost->cost.low_ns);
	html_uint(out, "cost_high_ns", cost->cost.high_ns);
	fprintf(out, ",\"base\":\"%s\"", cost->base <= BASE_NONE ? bases[cost->base] : "none");
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
	put_field(page, "note", track->note, sizeof(track->note));
	html_uint(out, "count", track->steps.count);
	html_uint(out, "per_step", track->per_step);
	html_uint(out, "period_ns", track->period_ns);
	html_real(out, "variation", track->variation);
	html_real(out, "confidence", track->confidence);
	html_bool(out, "measured", track->measured);
	html_key(out, false, "changes");
	putc_unlocked('[', out);
	for (size_t i = 0; i < track->changes.count && i < CHANGES_MOST; i++)
		fprintf(out, "%s[%" PRIu64 ",%u,%u]", i ? "," : "", track->changes.items[i].step,
			track->changes.items[i].from, track->changes.items[i].to);
	putc_unlocked(']', out);
}

static int put_track(struct html_page *page, uint32_t index, uint32_t per_bin)
{
	const struct attribution *attribution = page->input->attribution;
	const struct step_track *track = &attribution->steps->tracks.items[index];
	const struct html_classes classes = {page->classes.items, page->classes.count};
	FILE *out = page->out;
	int r;

	put_signal(page, track);
	put_costs(out, &attribution->tracks.items[index]);
	html_key(out, false, "distribution");
	html_distribution_write(out, attribution, index);
	html_key(out, false, "worst");
	r = html_worst_write(out, attribution, &classes, index, &page->stacks);
	if (r)
		return r;
	html_uint(out, "per_bin", per_bin);
	html_key(out, false, "data");
	r = html_steps_write(out, attribution, &classes, index, per_bin);
	if (!r)
		r = put_kept(page, index, track->process);
	putc_unlocked('}', out);
	return r;
}

/* [[frame,pauses,pause_ns,cost_ns,collected],…] */
static int put_triggers(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	size_t count = attribution ? attribution->triggers.count : 0;
	uint32_t frame;
	int r = 0;

	html_uint(page->out, "trigger_count", count);
	html_key(page->out, false, "triggers");
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < count && i < TRIGGERS_MOST; i++) {
		const struct trigger_cost *trigger = &attribution->triggers.items[i];

		r = html_stacks_frame(&page->stacks, trigger->frame, &frame);
		fprintf(page->out, "%s[%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 "]",
			i ? "," : "", frame, trigger->pauses, trigger->pause_ns, trigger->cost_ns,
			trigger->collected);
	}
	putc_unlocked(']', page->out);
	return r;
}

/*
 * [[start,duration,generation,cause,collected,rss before,rss after,pid,track,step,cost,stack,bits,safepoint],…], the
 * last only of those that are
 */
static int put_longest(struct html_page *page)
{
	int64_t origin_ns = (int64_t)page->input->recording->start_ns;
	int r = 0;

	html_key(page->out, false, "longest");
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < page->longest.count; i++) {
		const struct html_pause *pause = &page->longest.items[i];

		fprintf(page->out, "%s[%" PRId64 ",%" PRIu64 ",%d,%u", i ? "," : "",
			(int64_t)pause->start_ns - origin_ns, html_pause_ns(pause),
			pause->generation, pause->cause);
		fprintf(page->out, ",%" PRId64 ",%" PRId64 ",%" PRId64, pause->collected,
			pause->rss_start, pause->rss_end);
		fprintf(page->out, ",%d,%d,%d,%" PRIu64 ",%u,%u", pid_of(page, pause->process),
			pause->track == ATTRIB_NONE ? -1 : (int)pause->track,
			pause->step == ATTRIB_NONE ? -1 : (int)pause->step, pause->cost_ns,
			pause->stack, pause_bits(pause, pause->process));
		if (pause->flags & PAUSE_SAFEPOINT)
			r = html_safepoint_write(page, pause);
		putc_unlocked(']', page->out);
	}
	putc_unlocked(']', page->out);
	return r;
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

int html_data_write(struct html_page *page, struct err *err)
{
	const struct attribution *attribution = page->input->attribution;
	FILE *out = page->out;
	int r;

	put_recording(page);
	put_summary(page);
	r = put_tracks(page);
	if (!r)
		r = put_triggers(page);
	html_key(out, false, "other");
	fputs("{\"owner\":0", out);
	if (!r)
		r = put_kept(page, ATTRIB_NONE, 0);
	html_uint(out, "elsewhere", attribution ? attribution->elsewhere : 0);
	html_uint(out, "elsewhere_ns", attribution ? attribution->elsewhere_ns : 0);
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
		r = html_jvm_write(page);
	if (r)
		return err_set(err, -r, "memory ran out while writing the page");
	html_recorded_write(page);
	r = html_stacks_write(&page->stacks, out, &page->text);
	putc_unlocked('}', out);
	return r ? err_set(err, -r, "memory ran out while writing the page") : 0;
}
