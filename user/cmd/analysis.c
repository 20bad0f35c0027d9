/* A .gct file in; its steps, costs and advice out: the one place where store/, step/ and attrib/ meet. */
#include <errno.h>
#include <string.h>

#include "analysis.h"
#include "cleanup.h"
#include "cmd.h"
#include "kineto.h"
#include "log.h"
#include "request_cost.h"
#include "spool.h"
#include "verdict.h"

static int next_pause(void *arg, struct pause *ret, struct err *err)
{
	struct analysis *analysis = arg;
	int r;

	while ((r = store_next_pause(analysis->reader, ret, err)) > 0 && analysis->gc_only &&
		!pause_collects(ret))
		analysis->left_out++;
	return r;
}

static int rewind_pauses(void *arg)
{
	struct analysis *analysis = arg;

	analysis->left_out = 0;
	return store_rewind(analysis->reader);
}

/*
 * Damage ends the marks as it ends the pauses: what could be read is used, and the report says the
 * rest.
 */
static int read_marks(struct analysis *analysis, struct err *err)
{
	struct mark mark;
	int r;

	while ((r = store_next_mark(analysis->reader, &mark, err)) > 0)
		if (step_marks_add(&analysis->marks, &mark))
			return err_set(err, ENOMEM, "out of memory while reading step marks");
	return r == -ENOMEM ? r : 0;
}

/* When the recording ended; if it was cut off, the last mark's time is the best guess for steps. */
static uint64_t last_moment(const struct analysis *analysis)
{
	const struct recording *recording = store_recording(analysis->reader);
	uint64_t end_ns = recording->end_ns;

	if (end_ns)
		return end_ns;
	for (size_t i = 0; i < analysis->marks.lines.count; i++) {
		const struct step_line *line = &analysis->marks.lines.items[i];

		if (line->marks.count && line->marks.items[line->marks.count - 1].time_ns > end_ns)
			end_ns = line->marks.items[line->marks.count - 1].time_ns;
	}
	return end_ns;
}

/* What --step said when the recording was made, if that can be parsed. */
static struct step_spec asked_for(const struct recording *recording)
{
	struct step_spec spec = {.way = STEP_AUTO};
	struct err err = {};

	if (*recording->step_asked && step_spec_parse(recording->step_asked, &spec, &err)) {
		log_debug("%s", err.text);
		spec = (struct step_spec){.way = STEP_AUTO};
	}
	return spec;
}

static int find_steps(struct analysis *analysis, const struct step_spec *spec, struct err *err)
{
	const struct recording *recording = store_recording(analysis->reader);
	struct step_spec recorded = asked_for(recording);
	uint64_t end_ns = last_moment(analysis);
	int r = steps_find(recording, &analysis->marks, end_ns, spec ? spec : &recorded,
		&analysis->steps, err);

	if (r != -ENOENT || spec)
		return r;
	/* The signal asked for never fired: say so, and choose one automatically. */
	log_warning("%s", err->text);
	recorded = (struct step_spec){.way = STEP_AUTO};
	return steps_find(recording, &analysis->marks, end_ns, &recorded, &analysis->steps, err);
}

/* Whether steps that gctrace chose itself are what the user calls steps. Damage ends the pauses, here as later. */
static int judge_rounds(struct analysis *analysis, struct err *err)
{
	const struct recording *recording = store_recording(analysis->reader);
	int r = 0;

	for (size_t i = 0; !r && i < analysis->steps.tracks.count; i++) {
		r = steps_rounds(recording, &analysis->steps.tracks.items[i], next_pause, analysis,
			err);
		if (!r || r == -EBADMSG)
			r = rewind_pauses(analysis);
	}
	return r;
}

/* What --gpu gave, in one timeline. */
static int read_traces(struct analysis *analysis, const struct reading *reading, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < reading->gpu_count; i++) {
		r = kineto_read(reading->gpu[i], store_recording(analysis->reader),
			&analysis->marks, &analysis->gpu, err);
		if (!r)
			analysis->gpu_fits |= 1ull << i;
		else if (reading->gpu_of_any && (r == -ESRCH || r == -ERANGE))
			r = 0;
	}
	gpu_settle(&analysis->gpu);
	return r;
}

/* A trace that was given is preferred to what was recorded; NULL: neither knows of a device. */
static const struct gpu_timeline *timeline(const struct analysis *analysis,
	const struct gpu_timeline *recorded)
{
	if (analysis->gpu_fits)
		return &analysis->gpu;
	if (!recorded->devices.count && *recorded->note)
		log_warning("%s", recorded->note);
	return recorded->devices.count || recorded->inferred ? recorded : NULL;
}

/* Of servers, once the rest is known. */
static int find_requests(struct analysis *analysis, const struct requests *requests,
	struct err *err)
{
	int r;

	if (!requests->items.count && !requests->rests.count)
		return 0;
	rewind_pauses(analysis);
	r = request_cost_find(&analysis->attribution, requests, next_pause, analysis, err);
	return r == -EBADMSG ? 0 : r;
}

static int compute(struct analysis *analysis, const struct reading *reading,
	enum analysis_depth depth, struct err *err)
{
	const struct stack_table *stacks = store_stacks(analysis->reader, err);
	const struct gpu_timeline *recorded = stacks ? store_gpu(analysis->reader, err) : NULL;
	_cleanup_(requests_release) struct requests requests = {};
	int r = recorded ? read_marks(analysis, err) : -ENOMEM;

	if (!r && requests_find(store_recording(analysis->reader), &analysis->marks, &requests))
		r = err_set(err, ENOMEM, "out of memory while reading requests");
	if (!r)
		r = find_steps(analysis, reading ? reading->step : NULL, err);
	if (!r)
		r = judge_rounds(analysis, err);
	if (!r && reading)
		r = read_traces(analysis, reading, err);
	if (r)
		return r;
	step_marks_release(&analysis->marks);
	r = attrib_build(store_recording(analysis->reader), stacks, &analysis->steps,
		timeline(analysis, recorded), next_pause, analysis, &analysis->attribution, err);
	if (r == -EBADMSG) /* a damaged file: go on with what could be read */
		r = 0;
	if (!r)
		r = find_requests(analysis, &requests, err);
	if (r || depth < ANALYSIS_ADVICE)
		return r;
	rewind_pauses(analysis);
	r = advice_compute(&analysis->attribution, next_pause, analysis, &analysis->advices, err);
	return r == -EBADMSG ? 0 : r;
}

int analysis_open(struct analysis *analysis, const char *path, const struct reading *reading,
	enum analysis_depth depth, struct err *err)
{
	struct store_reader *reader = NULL;
	int r = strcmp(path, "-") ? store_open(path, &reader, err) : spool_stdin(&reader, err);

	if (!r)
		return analysis_of(analysis, reader, reading, depth, err);
	*analysis = (struct analysis){};
	return r;
}

int analysis_of(struct analysis *analysis, struct store_reader *reader,
	const struct reading *reading, enum analysis_depth depth, struct err *err)
{
	*analysis = (struct analysis){.reader = reader, .gc_only = reading && reading->gc_only};
	return depth == ANALYSIS_NONE ? 0 : compute(analysis, reading, depth, err);
}

void analysis_close(struct analysis *analysis)
{
	advices_release(&analysis->advices);
	attrib_release(&analysis->attribution);
	gpu_release(&analysis->gpu);
	steps_release(&analysis->steps);
	step_marks_release(&analysis->marks);
	store_reader_free(analysis->reader);
	*analysis = (struct analysis){};
}

int analysis_input(struct analysis *analysis, const struct pause_filter *filter, const char *title,
	struct report_input *ret, struct err *err)
{
	const struct stack_table *stacks = store_stacks(analysis->reader, err);

	if (!stacks)
		return -ENOMEM;
	rewind_pauses(analysis);
	*ret = (struct report_input){
		.recording = store_recording(analysis->reader),
		.stacks = stacks,
		.next = next_pause,
		.rewind = rewind_pauses,
		.source = analysis,
		.title = title,
		.filter = filter,
		.left_out = analysis->gc_only ? &analysis->left_out : NULL,
		.attribution = analysis->attribution.recording ? &analysis->attribution : NULL,
		.advices = analysis->attribution.recording ? &analysis->advices : NULL,
	};
	return 0;
}

int analysis_status(const struct analysis *analysis, struct err *err)
{
	const struct recording *recording = store_recording(analysis->reader);

	if (!recording->runtimes.count) {
		err_set(err, ENODATA, "no runtime was probed, so nothing is known of its pauses");
		return EXIT_BLIND;
	}
	if (verdict_complete(recording))
		return EXIT_OK;
	verdict_missing(recording, err->text, sizeof(err->text));
	return EXIT_INCOMPLETE;
}
