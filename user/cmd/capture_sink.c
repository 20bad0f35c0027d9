/* What a session reports → the recording, and a line for each pause. */
#include "capture_priv.h"
#include "json.h"
#include "log.h"
#include "meaning.h"
#include "text.h"

static int on_process(void *arg, const struct process *process)
{
	struct capture *capture = arg;

	return capture->store ? store_put_process(capture->store, process) : 0;
}

static int on_runtime(void *arg, const struct runtime *runtime)
{
	struct capture *capture = arg;
	const struct recording *recording = trace_recording(capture->trace);

	if (capture->lines && capture->options->json && !recording->end_ns)
		json_runtime(capture->out, recording, runtime, NULL);
	return capture->store ? store_put_runtime(capture->store, runtime) : 0;
}

static int on_signal_probe(void *arg, const struct signal *signal)
{
	struct capture *capture = arg;

	if (signal->let_go_ns)
		log_info("%s was let go for now: it is called too often to watch (%llu calls)",
			signal->name, (unsigned long long)signal->hits);
	return capture->store ? store_put_signal(capture->store, signal) : 0;
}

static int on_series(void *arg, const struct series *series)
{
	struct capture *capture = arg;

	return capture->store ? store_put_series(capture->store, series) : 0;
}

static int on_mark(void *arg, const struct mark *mark)
{
	struct capture *capture = arg;

	if (capture->lines && capture->sums.steps.on)
		live_sums_mark(&capture->sums, capture->out, trace_recording(capture->trace), mark);
	return capture->store ? store_put_mark(capture->store, mark) : 0;
}

static int on_thread(void *arg, const struct thread *thread)
{
	struct capture *capture = arg;

	return capture->store ? store_put_thread(capture->store, thread) : 0;
}

void capture_show_header(struct capture *capture, const struct pause *pause)
{
	if (capture->lines && !capture->options->json)
		text_live_header(capture->out, trace_recording(capture->trace), pause,
			&capture->headed);
}

void capture_show_sums(struct capture *capture, uint64_t now_ns)
{
	if (capture->lines && !capture->options->json)
		live_sums_tell(&capture->sums, capture->out, trace_recording(capture->trace),
			now_ns);
}

/*
 * Long pauses get a line of text; the others are counted. JSON has all that the user did not hide.
 */
static bool has_line(struct capture *capture, const struct pause *pause)
{
	struct pause_filter filter = capture->options->filter;

	if (capture->options->json)
		return pause_passes(pause, &filter);
	filter.min_duration_ns = 0;
	if (!pause_passes(pause, &filter))
		return false;
	capture_show_sums(capture, pause->end_ns);
	return live_lines_take(&capture->sums.lines, pause->end_ns, pause_duration(pause));
}

static void put_line(struct capture *capture, const struct pause *pause)
{
	const struct recording *recording = trace_recording(capture->trace);
	const struct stack_table *stacks = trace_stacks(capture->trace);

	capture_show_header(capture, pause);
	if (capture->options->json)
		json_pause(capture->out, recording, stacks, pause, NULL, 0, NULL);
	else
		text_pause_line(capture->out, recording, stacks, pause);
}

/* Shows @pause, counts it, or neither; what it stops of steps is kept in any case. */
static void show_pause(struct capture *capture, const struct pause *pause)
{
	const struct recording *recording = trace_recording(capture->trace);
	bool of_steps = capture->sums.steps.on &&
			(!capture->options->filter.gc_only || pause_collects(pause));
	bool line = has_line(capture, pause);
	struct pause judged = *pause;

	if (!line && !of_steps)
		return;
	meaning_judge(recording, trace_stacks(capture->trace)->strings, &judged);
	if (line)
		put_line(capture, &judged);
	if (of_steps)
		live_steps_pause(&capture->sums.steps, recording, &judged, line);
}

static int on_pause(void *arg, const struct pause *pause)
{
	struct capture *capture = arg;
	int r = 0;

	capture->paused_from_ns = pause->start_ns;
	capture->paused_until_ns = pause->end_ns;
	if (capture->lines)
		show_pause(capture, pause);
	if (!capture->store) {
		capture->unstored++;
		return 0;
	}
	/*
	 * Stack and words before the pause that refers to them: the store may commit at any time.
	 */
	if (pause->stack || pause->flags & PAUSE_HAS_FACTS)
		r = store_put_stacks(capture->store, trace_stacks(capture->trace));
	return r ? r : store_put_pause(capture->store, pause);
}

/* Leaves out what is filtered, and a System.gc() that the line of its pause already covers. */
static bool stall_is_shown(const struct capture *capture, const struct stall *stall)
{
	uint64_t length_ns = stall->end_ns - stall->start_ns;
	uint64_t paused_ns = capture->paused_until_ns - capture->paused_from_ns;
	bool within = capture->paused_from_ns >= stall->start_ns &&
		      capture->paused_until_ns <= stall->end_ns;

	return text_stall_shown(stall) && length_ns >= capture->options->filter.min_duration_ns &&
	       !(within && paused_ns >= length_ns / 10 * 9);
}

static int on_stall(void *arg, const struct stall *stall)
{
	struct capture *capture = arg;
	const struct recording *recording = trace_recording(capture->trace);
	const struct stack_table *stacks = trace_stacks(capture->trace);
	int r;

	if (capture->lines && capture->options->json) {
		json_stall(capture->out, recording, stacks, stall, NULL);
	} else if (capture->lines && stall_is_shown(capture, stall) &&
		   live_lines_take_stall(&capture->sums.lines, stall->end_ns,
			   stall->end_ns - stall->start_ns)) {
		capture_show_header(capture, NULL);
		text_stall_line(capture->out, recording, stacks, stall);
	}
	if (!capture->store)
		return 0;
	r = store_put_stacks(capture->store, stacks);
	return r ? r : store_put_stall(capture->store, stall);
}

static int on_phase(void *arg, const struct phase *phase)
{
	struct capture *capture = arg;
	const struct stack_table *stacks = trace_stacks(capture->trace);
	int r;

	if (capture->lines && capture->options->json)
		json_phase(capture->out, trace_recording(capture->trace), stacks, phase);
	if (!capture->store)
		return 0;
	r = store_put_stacks(capture->store, stacks);
	return r ? r : store_put_phase(capture->store, phase);
}

static int on_gpu(void *arg, const struct gpu_fact *fact)
{
	struct capture *capture = arg;

	return capture->store ? store_put_gpu(capture->store, fact) : 0;
}

const struct trace_sink capture_sink = {
	.process = on_process,
	.runtime = on_runtime,
	.pause = on_pause,
	.signal = on_signal_probe,
	.series = on_series,
	.mark = on_mark,
	.thread = on_thread,
	.stall = on_stall,
	.phase = on_phase,
	.gpu = on_gpu,
};
