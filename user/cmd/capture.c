/* The loop behind live, record and run: drain, show, store, until it is over. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "analysis.h"
#include "caller.h"
#include "capture_priv.h"
#include "cleanup.h"
#include "json.h"
#include "log.h"
#include "mem.h"
#include "program.h"
#include "running.h"
#include "shim.h"
#include "state.h"
#include "step_report.h"
#include "store.h"
#include "streams.h"
#include "terminal.h"
#include "text.h"

#define TICK_NS	      100000000ull /* the ring is drained ten times a second, or when a quarter full */
#define FIRST_TICK_NS 5000000ull    /* so that something that collects all the time shows at once */
#define COMMIT_NS     1000000000ull /* the most that SIGKILL can take from a recording */
#define LONG_PAUSE_NS 1000000000ull /* shown while it still runs */

static void show_running(struct capture *capture)
{
	struct trace_open_pause open;

	if (!capture->lines || !trace_open_pauses(capture->trace, LONG_PAUSE_NS, &open, 1) ||
		(open.tid == capture->shown.tid && open.start_ns == capture->shown.start_ns))
		return;
	capture->shown = open;
	if (capture->options->json)
		running_json(capture->out, open.pid, open.tid, open.start_ns, now_ns());
	else
		running_text(capture->out, trace_recording(capture->trace), open.pid, open.start_ns,
			now_ns());
	fflush(capture->out);
}

/*
 * One turn: takes what the kernel has and commits it now and then. 0 or -errno, sentence printed.
 */
static int turn(struct capture *capture)
{
	uint64_t now = now_ns();
	struct err err = {};
	int r = trace_drain(capture->trace);

	if (!r && now >= capture->commit_ns) {
		capture->commit_ns = now + COMMIT_NS;
		r = capture_commit(capture);
	}
	if (r) {
		log_error("%s", capture->store ? store_writer_error(capture->store) : strerror(-r));
		capture->said = true;
		return r;
	}
	r = capture_check_quota(capture, &err);
	if (r) {
		log_error("%s", err.text);
		return r;
	}
	show_running(capture);
	capture_show_sums(capture, now);
	if (capture->out)
		fflush(capture->out);
	if (capture->child)
		child_reap(capture->child);
	if ((capture->deadline_ns && now >= capture->deadline_ns) ||
		(capture->child ? capture->child->ended : !trace_alive(capture->trace)))
		capture->stop = true;
	if (capture->out && ferror(capture->out)) /* the reader of our pipe has left */
		capture->stop = true;
	return 0;
}

/* Signals from the keyboard have already reached the workload. */
static void on_signal(struct capture *capture)
{
	struct signalfd_siginfo info;

	if (read(capture->signals, &info, sizeof(info)) != sizeof(info) ||
		info.ssi_signo == SIGCHLD)
		return;
	if (!capture->child || capture->child->ended) {
		capture->stop = true;
		return;
	}
	if (info.ssi_code != SI_KERNEL)
		kill(capture->child->pid, (int)info.ssi_signo);
}

static int add_to_poll(struct capture *capture, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 || epoll_ctl(capture->poll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int prepare_poll(struct capture *capture)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
	const struct itimerspec tick = {{0, TICK_NS}, {0, FIRST_TICK_NS}};
	int r;

	sigemptyset(&capture->signal_set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (capture->child || (numbers[i] != SIGUSR1 && numbers[i] != SIGUSR2))
			sigaddset(&capture->signal_set, numbers[i]);
	sigprocmask(SIG_BLOCK, &capture->signal_set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a recording that grows too large fails with a sentence */
	capture->signals = signalfd(-1, &capture->signal_set, SFD_CLOEXEC | SFD_NONBLOCK);
	capture->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	capture->poll = epoll_create1(EPOLL_CLOEXEC);
	timerfd_settime(capture->timer, 0, &tick, NULL);
	r = add_to_poll(capture, capture->signals);
	if (!r)
		r = add_to_poll(capture, capture->timer);
	return r ? r : add_to_poll(capture, trace_fd(capture->trace));
}

/*
 * On a machine whose cores are all busy, a reader of ordinary priority loses records. Returns the
 * old priority.
 */
static int raise_priority(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (setpriority(PRIO_PROCESS, 0, -20))
		log_debug("the priority cannot be raised: %s", strerror(errno));
	return before;
}

static int loop(struct capture *capture)
{
	int r = 0;

	while (!capture->stop && !r) {
		struct epoll_event events[4];
		int count = epoll_wait(capture->poll, events, ARRAY_SIZE(events),
			trace_has_more(capture->trace) ? 0 : -1);
		uint64_t ticks;

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == capture->signals)
				on_signal(capture);
			else if (events[i].data.fd == capture->timer &&
				 read(capture->timer, &ticks, sizeof(ticks)) < 0)
				log_debug("timer: %s", strerror(errno));
		}
		r = turn(capture);
	}
	return r;
}

/* Places the probes before the workload starts, if its runtime can be foreseen. */
static void foresee(struct capture *capture)
{
	struct program_files files = {};
	size_t probed = 0;

	if (!program_foresee(capture->child->argv, caller_become, &files))
		probed = trace_foresee(capture->trace, files.paths.items, files.paths.count);
	if (!probed && !program_foresee_usual(caller_become, &files))
		trace_foresee(capture->trace, files.paths.items, files.paths.count);
	program_files_release(&files);
}

/*
 * Adds every -p. A process without a runtime is refused, unless one may still come (--wait, run).
 */
static int add_targets(struct capture *capture)
{
	const struct capture_options *options = capture->options;
	struct err err = {};
	int r;

	for (size_t i = 0; i < options->pids.count; i++) {
		if (state_check(STATE_FOLDER, options->pids.items[i], &err))
			log_warning("%s", err.text);
		r = options->inject ? shim_inject(options->pids.items[i], &err) : 0;
		if (!r)
			r = trace_add(capture->trace, options->pids.items[i], &err);
		if (r < 0)
			return cmd_blind(&err);
		if (r || options->wait)
			continue;
		log_error("%s", err.text);
		return EXIT_BLIND;
	}
	if (capture->child)
		foresee(capture);
	if (capture->child && trace_add(capture->trace, capture->child->pid, &err) < 0)
		return cmd_blind(&err);
	if (capture->child || options->wait)
		return EXIT_OK;
	if (trace_check_step(capture->trace, &err) ||
		(options->gpu_asked && trace_check_gpu(capture->trace, &err)))
		return cmd_blind(&err);
	return EXIT_OK;
}

static void announce(const struct capture *capture)
{
	const struct recording *recording = trace_recording(capture->trace);

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];
		const struct process *process = recording_process(recording, runtime->process);

		log_info("%d (%s): %s %s, seen by %s: %s", process->pid, process->comm,
			runtime->kind, runtime->version, runtime->tier, runtime->detail);
	}
	if (capture->child)
		log_info("tracing %s", capture->child->name);
	else
		log_info("tracing%s; Ctrl-C ends it",
			recording->runtimes.count ? ""
						  : ", and waiting for a runtime to be loaded");
}

/* The report and the budgets of what was just recorded. */
static int show_end(struct capture *capture)
{
	const struct capture_options *options = capture->options;
	const struct reading reading = {
		.step = options->step.way == STEP_AUTO ? NULL : &options->step,
		.gc_only = options->filter.gc_only,
	};
	struct report_input input;
	struct analysis analysis;
	struct err err = {};
	int status = EXIT_OK;
	int r = caller_act(&err); /* SQLite looks for a journal next to the file */

	if (r)
		return cmd_fail(r, &err);
	r = analysis_of(&analysis, steal_ptr(capture->reader), &reading, ANALYSIS_ADVICE, &err);
	if (!r && capture->out) {
		r = analysis_input(&analysis, &options->filter, capture->path, &input, &err);
		if (!r && options->candidates)
			(options->json ? step_report_json : step_report_text)(capture->out,
				input.recording, &analysis.steps);
		else if (!r)
			r = options->json ? json_tail(&input, capture->out, &err)
					  : report_text.write(&input, capture->out, &err);
		fflush(capture->out);
	}
	if (r && !(r == -EPIPE && streams_reader_left())) /* `| head` is not an error */
		status = cmd_fail(r, &err);
	else if (options->budgets.items.count)
		status = budgets_judge(&options->budgets, &analysis,
			capture->temporary ? "gctrace run" : capture->path, options->json,
			options->json ? stdout : stderr);
	analysis_close(&analysis);
	caller_rest();
	return status;
}

/* Drains at raised priority until it is over; what follows runs at the old one. */
static int drain(struct capture *capture, int *ret)
{
	int before = raise_priority(), r = loop(capture);

	*ret = r ? r : trace_finish(capture->trace);
	setpriority(PRIO_PROCESS, 0, before);
	if (capture->child)
		child_pass_signals(capture->child, &capture->signal_set);
	return r;
}

/* Reports the recording's outcome, @r. */
static int finish(struct capture *capture, int r)
{
	int status;

	if (r)
		log_error("%s", capture->store ? store_writer_error(capture->store) : strerror(-r));
	capture->said = r;
	capture_show_sums(capture, UINT64_MAX);
	status = capture_close_store(capture);
	if (!status && (capture->out || capture->options->budgets.items.count))
		status = show_end(capture);
	if (capture->unstored)
		log_warning("%llu pauses came after the recording's end and are not in the report",
			(unsigned long long)capture->unstored);
	return r ? EXIT_FAILED : status;
}

/* From the first target to the final report. Returns an exit status. */
static int capture_session(struct capture *capture)
{
	struct err err = {};
	int r, status = capture_open_store(capture);

	if (capture->out && capture->options->json && !capture->options->candidates)
		json_recording(capture->out, trace_recording(capture->trace));
	if (!status)
		status = add_targets(capture);
	if (status)
		return status;
	if (prepare_poll(capture))
		return cmd_fail(-errno, NULL);
	if (capture->child) {
		r = child_release(capture->child, &err);
		if (r) {
			cmd_fail(r, &err);
			return r == -ENOENT ? 127 : 126; /* as a shell would */
		}
	}
	status = capture_settle_store(capture);
	if (status)
		return status;
	announce(capture);
	capture_show_header(capture, NULL);
	if (capture->options->duration_ns)
		capture->deadline_ns = now_ns() + capture->options->duration_ns;
	if (drain(capture, &r)) {
		capture_close_store(capture);
		return EXIT_FAILED;
	}
	status = finish(capture, r);
	if (!status && !trace_runtimes(capture->trace)) {
		log_error("nothing was traced: %s",
			trace_why_nothing(capture->trace, &err)
				? err.text
				: "the target loaded no runtime that gctrace knows");
		return EXIT_BLIND;
	}
	return status;
}

/* Without --min-duration, so few lines that a person can read them. */
static void prepare_lines(struct capture *capture)
{
	const struct capture_options *options = capture->options;
	bool set = options->min_duration_set;
	uint64_t min_ns = set ? options->filter.min_duration_ns : LIVE_MIN_NS;

	capture->sums.lines.min_ns = min_ns;
	capture->sums.lines.most = set ? 0 : LIVE_LINES;
	live_steps_start(&capture->sums.steps, &options->step, min_ns, set ? 0 : LIVE_NAMED);
}

int capture_run(const struct capture_options *options, struct capture_child *child, FILE *out)
{
	struct capture capture = {.options = options,
		.child = child,
		.out = out,
		.signals = -1,
		.timer = -1,
		.poll = -1};
	struct trace_sink sink = capture_sink;
	struct err err = {};
	int r, status;

	sink.arg = &capture;
	r = budgets_check(&options->budgets, options->output, &err);
	if (r)
		return cmd_fail(r, &err);
	r = trace_open(&options->trace, &sink, &capture.trace, &err);
	capture.lines = out && !options->candidates && (!child || options->json);
	if (capture.lines && !options->json)
		prepare_lines(&capture);
	if (r)
		return cmd_blind(&err);
	if (!options->json)
		capture.out = terminal_open(out);
	status = capture_session(&capture);
	if (!caller_act(NULL)) {
		store_abandon(capture.store);
		caller_rest();
	}
	trace_free(capture.trace);
	store_reader_free(capture.reader);
	live_sums_release(&capture.sums);
	cleanup_close(&capture.signals);
	cleanup_close(&capture.timer);
	cleanup_close(&capture.poll);
	terminal_close(capture.out, out);
	return status;
}
