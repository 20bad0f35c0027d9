/*
 * Facts, pauses and their summary in; the records of the JSON contract (docs/gct-schema.md), one a
 * line, out.
 */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "json_facts.h"
#include "json_gpu.h"
#include "json_line.h"
#include "json_stack.h"
#include "json_steps.h"
#include "json_table.h"
#include "model_tables.h"
#include "report.h"
#include "reporting.h"
#include "runtime_words.h"
#include "store.h"
#include "verdict.h"

#define FIELD(out, key, field) line_field((out), (key), (field), sizeof(field))

void json_recording(FILE *out, const struct recording *recording)
{
	line_begin(out, "recording");
	line_int(out, "schema", STORE_SCHEMA_VERSION);
	FIELD(out, "version", recording->version);
	FIELD(out, "host", recording->host);
	FIELD(out, "boot_id", recording->boot_id);
	line_unsigned(out, "start_ns", recording->start_ns);
	if (recording->end_ns)
		line_unsigned(out, "end_ns", recording->end_ns);
	else
		line_null(out, "end_ns");
	line_int(out, "realtime_offset_ns", recording->realtime_offset_ns);
	if (recording->steps_until_ns)
		line_unsigned(out, "steps_until_ns", recording->steps_until_ns);
	line_bool(out, "complete", verdict_complete(recording));
	line_unsigned(out, "drops", recording_drop_total(recording));
	line_bool(out, "cut_off", recording->cut_off);
	FIELD(out, "damage", recording->damage);
	line_end(out);
}

static void put_cmdline(FILE *out, const struct process *process, struct report_room *room)
{
	size_t left = report_room_left(room), bytes;
	const char *at = process->cmdline;
	const char *end = at ? at + process->cmdline_len : NULL;

	if (!at) {
		line_null(out, "cmdline");
		return;
	}
	line_key(out, "cmdline");
	putc_unlocked('[', out);
	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (at > process->cmdline)
			putc_unlocked(',', out);
		bytes = 3 + line_bytes(at, len);
		if (bytes > left) {
			fputs_unlocked("\"[truncated]\"", out);
			break;
		}
		line_string(out, at, len);
		left -= bytes;
		report_room_take(room, bytes);
		at += len + 1;
	}
	putc_unlocked(']', out);
}

/* @runtime NULL: none was found in the process. */
static void put_process(FILE *out, const struct process *process, const struct runtime *runtime,
	struct report_room *room)
{
	static const struct runtime none = {0};
	const struct runtime *r = runtime ? runtime : &none;

	line_begin(out, "process");
	line_int(out, "pid", process->pid);
	line_int(out, "ns_pid", process->ns_pid);
	line_int(out, "ppid", process->ppid);
	FIELD(out, "comm", process->comm);
	put_cmdline(out, process, room);
	FIELD(out, "runtime", r->kind);
	FIELD(out, "runtime_version", r->version);
	FIELD(out, "tier", r->tier);
	if (runtime && meaning_of(r->kind)->collectors)
		FIELD(out, "collector", r->collector);
	line_known(out, "runtime_id", runtime ? (int64_t)runtime->id : UNKNOWN);
	line_text(out, "runtime_path", r->path);
	line_text(out, "probe", r->detail);
	line_unsigned(out, "seen_ns", process->seen_ns);
	line_known(out, "attached_ns", runtime ? (int64_t)runtime->attached_ns : UNKNOWN);
	line_known(out, "exit_ns", process->exit_ns ? (int64_t)process->exit_ns : UNKNOWN);
	line_known(out, "missed", runtime ? (int64_t)runtime->missed : UNKNOWN);
	if (runtime && runtime->idle_calls >= 0)
		line_known(out, "idle_calls", runtime->idle_calls);
	if (runtime && runtime->disabled_calls >= 0)
		line_known(out, "disabled_calls", runtime->disabled_calls);
	line_end(out);
}

void json_process(FILE *out, const struct process *process, struct report_room *room)
{
	put_process(out, process, NULL, room);
}

void json_runtime(FILE *out, const struct recording *recording, const struct runtime *runtime,
	struct report_room *room)
{
	const struct process *process = recording_process(recording, runtime->process);

	if (process)
		put_process(out, process, runtime, room);
}

/* Which generations were collected, and why. */
static void put_collection(FILE *out, const struct stack_table *stacks, const struct pause *pause)
{
	int cause = meaning_fact(pause->class->of, FACT_CAUSE);

	line_known(out, "generation", pause->generation);
	line_bool(out, "full", pause->class->full);
	if (cause >= 0)
		json_word(out, "cause", stacks, (uint32_t)pause->facts[cause]);
	else
		line_text(out, "cause", pause->cause ? pause_cause_name(pause->cause) : NULL);
}

void json_pause(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, const struct report_input *input, uint64_t index,
	struct report_room *room)
{
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;

	line_begin(out, "pause");
	line_unsigned(out, "id", pause->id);
	line_known(out, "pid", process ? process->pid : UNKNOWN);
	line_known(out, "tid", pause->tid ? (int64_t)pause->tid : UNKNOWN);
	line_text(out, "runtime", runtime ? runtime->kind : NULL);
	line_unsigned(out, "start_ns", pause->start_ns);
	line_unsigned(out, "end_ns", pause->end_ns);
	line_unsigned(out, "duration_ns", pause_duration(pause));
	put_collection(out, stacks, pause);
	line_known(out, "collected", pause->collected);
	line_known(out, "uncollectable", pause->uncollectable);
	json_charge(out, input, index);
	json_stack(out, "stack", stacks, pause->stack, room);
	line_int(out, "runtime_id", pause->runtime);
	line_known(out, "interpreter", pause->interpreter);
	line_bool(out, "slept", !!(pause->flags & PAUSE_SLEPT));
	line_bool(out, "nested_call", !!(pause->flags & PAUSE_NESTED_CALL));
	line_bool(out, "truncated", !!(pause->flags & PAUSE_TRUNCATED));
	if (pause_is_open(pause)) {
		line_bool(out, "unfinished", !!(pause->flags & PAUSE_UNFINISHED));
		line_bool(out, "begun_before", !!(pause->flags & PAUSE_BEGUN_BEFORE));
	}
	line_known(out, "heap_objects", pause->heap_objects);
	line_known(out, "heap_pending", pause->heap_pending);
	line_known(out, "rss_start", pause->rss_start);
	line_known(out, "rss_end", pause->rss_end);
	line_known(out, "waited_ns", pause->waited_ns);
	if (pause->class->of->report && pause->class->of->report->json)
		pause->class->of->report->json(out, recording, stacks, pause, room);
	else if (summary_by_class(pause))
		json_facts(out, stacks, pause, room);
	else
		json_known_times(out, pause);
	line_end(out);
}

void json_drop(FILE *out, const struct drop *drop)
{
	line_begin(out, "drop");
	FIELD(out, "cause", drop->cause);
	line_unsigned(out, "count", drop->count);
	line_unsigned(out, "time_ns", drop->time_ns);
	FIELD(out, "remedy", drop->remedy);
	line_end(out);
}

static void put_summary(FILE *out, const struct report_input *input, const struct summary *summary,
	const struct model *model, const struct report_room *room)
{
	const struct recording *recording = input->recording;
	bool any = summary->count > 0, blind = !recording->runtimes.count && !any;
	char paragraph[VERDICT_PARAGRAPH_BYTES];

	line_begin(out, "summary");
	if (blind)
		line_null(out, "pauses");
	else
		line_unsigned(out, "pauses", summary->count);
	if (blind)
		line_null(out, "pause_ns");
	else
		line_unsigned(out, "pause_ns", summary->total_ns);
	line_unsigned(out, "span_ns", verdict_span_ns(recording, summary));
	json_tracks(out, input);
	line_text(out, "verdict", verdict_paragraph(input, summary, paragraph, sizeof(paragraph)));
	line_bool(out, "complete", verdict_complete(recording) && !blind);
	line_unsigned(out, "drops", recording_drop_total(recording));
	line_unsigned(out, "missed", recording_missed_total(recording));
	line_unsigned(out, "traced_ns", verdict_traced_ns(recording, summary));
	line_known(out, "p50_ns", any ? (int64_t)summary_quantile_all(summary, 0.5) : UNKNOWN);
	line_known(out, "p99_ns", any ? (int64_t)summary_quantile_all(summary, 0.99) : UNKNOWN);
	line_known(out, "max_ns", any ? (int64_t)summary->max_ns : UNKNOWN);
	json_tables(out, input->stacks, model);
	if (input->left_out && words_any(recording, words_apart))
		line_unsigned(out, "left_out", *input->left_out);
	if (room->cut)
		line_unsigned(out, "stacks_cut", room->cut);
	line_end(out);
}

static void put_processes(FILE *out, const struct recording *recording, struct report_room *room)
{
	struct u64map traced = {0};

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		json_runtime(out, recording, &recording->runtimes.items[i], room);
		u64map_put(&traced, recording->runtimes.items[i].process, 1);
	}
	for (size_t i = 0; i < recording->processes.count; i++)
		if (!u64map_get(&traced, recording->processes.items[i].id))
			json_process(out, &recording->processes.items[i], room);
	u64map_release(&traced);
}

/* Drops are in order of time; writes those up to @time_ns. Returns the index of the next. */
static size_t put_drops(FILE *out, const struct recording *recording, size_t at, uint64_t time_ns)
{
	while (at < recording->drops.count && recording->drops.items[at].time_ns <= time_ns)
		json_drop(out, &recording->drops.items[at++]);
	return at;
}

static int cannot_write(FILE *out, int r, struct err *err)
{
	if (r < 0 || (!fflush(out) && !ferror(out)))
		return r;
	return err_set(err, errno ? errno : EIO, "cannot write the report: %s", strerror(errno));
}

/*
 * The pauses, stalls and phases, unless @quiet, between the steps, idle times of GPUs and drops of their time. As
 * attrib_next_fn returns.
 */
static int put_pauses(const struct report_input *input, FILE *out, bool quiet,
	struct json_steps *steps, struct summary *summary, struct report_room *room,
	struct err *err)
{
	const struct recording *recording = input->recording;
	_cleanup_(json_gpu_release) struct json_gpu gpu = {0};
	struct json_waits waits = {0};
	size_t drop = 0;
	uint64_t index = 0;
	struct pause pause;
	int r;

	while ((r = input->next(input->source, &pause, err)) > 0) {
		r = summary_add(summary, &pause);
		if (!r)
			r = json_gpu_add(&gpu, input, pause.id);
		if (!r && !quiet) {
			drop = put_drops(out, recording, drop, pause.end_ns);
			r = json_steps_until(steps, out, input, pause.end_ns);
			if (!r)
				r = json_gpu_until(&gpu, out, input, pause.end_ns);
			json_waits_until(&waits, out, input, pause.end_ns, room);
			if (!input->filter || pause_passes(&pause, input->filter))
				json_pause(out, recording, input->stacks, &pause, input, index,
					room);
		}
		if (r || ferror_unlocked(out))
			break;
		index++;
	}
	if (r != -ENOMEM) { /* of a damaged file, what could be read is reported */
		if (!quiet)
			json_waits_until(&waits, out, input, UINT64_MAX, room);
		if (json_steps_until(steps, out, input, UINT64_MAX) ||
			json_gpu_until(&gpu, out, input, UINT64_MAX))
			r = -ENOMEM;
		put_drops(out, recording, drop, UINT64_MAX);
	}
	return r;
}

/* Advice, and what the pauses add up to. 0 or -ENOMEM. */
static int put_sums(FILE *out, const struct report_input *input, struct summary *summary,
	const struct report_room *room)
{
	_cleanup_(model_release) struct model model = {0}, advice = {0};
	int r = model_build(&model, input, summary);

	model_advice(&advice, input);
	if (r || advice.failed)
		return -ENOMEM;
	json_records(out, input->stacks, &advice);
	put_summary(out, input, summary, &model, room);
	return 0;
}

static int put_report(const struct report_input *input, FILE *out, bool quiet,
	struct report_room *room, struct err *err)
{
	struct json_steps steps = {0};
	struct summary summary = {0};
	int r = put_pauses(input, out, quiet, &steps, &summary, room, err);

	if (r == -ENOMEM || put_sums(out, input, &summary, room))
		r = err_set(err, ENOMEM, "out of memory while adding up the pauses");
	json_steps_release(&steps);
	summary_release(&summary);
	return cannot_write(out, r > 0 ? 0 : r, err);
}

int json_tail(const struct report_input *input, FILE *out, struct err *err)
{
	struct report_room room = report_room_of(input->recording);

	return put_report(input, out, true, &room, err);
}

static int write_json(const struct report_input *input, FILE *out, struct err *err)
{
	struct report_room room = report_room_of(input->recording);

	json_recording(out, input->recording);
	put_processes(out, input->recording, &room);
	return put_report(input, out, false, &room, err);
}

const struct report_ops report_json = {
	.name = "json",
	.summary =
		"one JSON object a line: recording, processes, pauses, steps, drops, advice, summary "
		"(gctrace schema)",
	.steps = true,
	.write = write_json,
};
