/* A trial from its first look at the process to the last: probes, signals, time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "kernel.h"
#include "log.h"
#include "meaning.h"
#include "mem.h"
#include "strangers.h"
#include "trial_priv.h"

#define TICK_NS                                                                                    \
	20000000ull /* a block may begin so much too late, and a change by the program go on unseen */

static int on_mark(void *arg, const struct mark *mark)
{
	struct trial *trial = arg;

	return step_marks_add(&trial->marks, mark);
}

static int on_pause(void *arg, const struct pause *pause)
{
	struct trial *trial = arg;
	struct pause judged = *pause;
	struct fulls_collection *kept;

	meaning_judge(trace_recording(trial->trace), trace_stacks(trial->trace)->strings, &judged);
	if (!pause_collects(&judged) || judged.at_exit)
		return 0;
	kept = vec_add(&trial->pauses);
	if (!kept)
		return -ENOMEM;
	*kept = (struct fulls_collection){judged.start_ns, judged.end_ns, judged.heap_objects,
		judged.heap_pending, judged.class->full == 1, judged.cause != CAUSE_MANUAL};
	return 0;
}

int trial_check_process(pid_t pid, struct err *err)
{
	int r = probe_absent(pid, err);

	return r ? r : kernel_refuse_thread(pid, err);
}

static int add_to_poll(struct trial *trial, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 || epoll_ctl(trial->poll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int prepare_poll(struct trial *trial)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	const struct itimerspec tick = {{0, TICK_NS}, {0, TICK_NS}};
	sigset_t set;
	int r;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	trial->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	trial->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	trial->poll = epoll_create1(EPOLL_CLOEXEC);
	timerfd_settime(trial->timer, 0, &tick, NULL);
	r = add_to_poll(trial, trial->signals);
	if (!r)
		r = add_to_poll(trial, trial->timer);
	return r ? r : add_to_poll(trial, trace_fd(trial->trace));
}

/* Whether a signal has come that ends it. */
static bool take_events(struct trial *trial)
{
	struct epoll_event events[4];
	int count = epoll_wait(trial->poll, events, ARRAY_SIZE(events),
		trace_has_more(trial->trace) ? 0 : -1);
	struct signalfd_siginfo info;
	uint64_t ticks;
	bool signalled = false;

	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == trial->signals)
			signalled |= read(trial->signals, &info, sizeof(info)) == sizeof(info);
		else if (events[i].data.fd == trial->timer &&
			 read(trial->timer, &ticks, sizeof(ticks)) < 0)
			log_debug("timer: %s", strerror(errno));
	}
	return signalled;
}

/* Until it is over: 0, or -errno with a sentence where it was not begun or not understood. */
static int loop(struct trial *trial, struct err *err)
{
	while (!trial->stop) {
		bool signalled = take_events(trial);
		int r = trace_drain(trial->trace);

		if (r)
			return err_set(err, -r, "what the kernel sends cannot be read: %s",
				strerror(-r));
		if (signalled) {
			trial->interrupted = true;
			snprintf(trial->why, sizeof(trial->why), "it was interrupted");
			return 0;
		}
		r = trial_turn(trial, now_ns(), err);
		if (!r && !trace_alive(trial->trace))
			r = err_set(err, ESRCH, "the program has ended");
		if (r && !trial->blocks.count)
			return r;
		if (r) {
			trial->by_program = r == -EBUSY;
			trial->stop = true;
			snprintf(trial->why, sizeof(trial->why), "%s", err->text);
		}
	}
	return 0;
}

/* With the program probed: the trial, and all of it undone. An exit status. */
static int run_probed(struct trial *trial)
{
	struct err err = {};
	int r = watcher_start(&trial->subject, &trial->watcher, &err);

	if (r)
		return cmd_fail(r, &err);
	trial->start_ns = now_ns();
	log_info("%d: watching its steps and pauses first; Ctrl-C ends it", trial->pid);
	r = loop(trial, &err);
	trial_end(trial, now_ns());
	watcher_end(&trial->watcher);
	trace_finish(trial->trace);
	if (trial->kept)
		return EXIT_FAILED;
	return r ? cmd_blind(&err) : EXIT_OK;
}

/* Without a file to undo it by, gctrace and the watcher are still there. */
static int keep(struct subject *subject, struct err *err)
{
	int r = subject_keep(subject, STATE_FOLDER, err);

	if (!r || r == -EEXIST || r == -EBUSY)
		return r;
	log_warning(
		"%s: if gctrace and its watcher are killed at once, --restore will not be able to put the "
		"settings back",
		err->text);
	return subject_keep(subject, NULL, err);
}

int trial_run(struct trial *trial)
{
	const struct capture_options *options = &trial->options->capture;
	const struct trace_sink sink = {.arg = trial, .pause = on_pause, .mark = on_mark};
	struct err err = {};
	int r = trial_check_process(trial->pid, &err);

	if (!r)
		r = state_check(STATE_FOLDER, trial->pid, &err);
	if (!r)
		r = subject_open(trial->pid, options->trace.only_tier, &trial->subject, &err);
	if (!r)
		r = subject_choose(&trial->subject, trial->options->set, &err);
	if (!r)
		r = keep(&trial->subject, &err);
	if (r)
		return r == -EINVAL ? cmd_usage(trial->command, "%s", err.text) : cmd_blind(&err);
	if (getrandom(&trial->random.state, sizeof(trial->random.state), 0) < 0)
		return cmd_fail(-errno, NULL);
	r = trace_open(&options->trace, &sink, &trial->trace, &err);
	if (r)
		return cmd_blind(&err);
	r = trace_add(trial->trace, trial->pid, &err);
	if (r <= 0 || trace_check_step(trial->trace, &err))
		return cmd_blind(&err);
	if (prepare_poll(trial))
		return cmd_fail(-errno, NULL);
	return run_probed(trial);
}
