/* gctrace trial -p PID: a setting of the collector, tried in random blocks of steps. */
#include <errno.h>
#include <stdio.h>

#include "cleanup.h"
#include "log.h"
#include "parse.h"
#include "terminal.h"
#include "reading.h"
#include "trial_priv.h"

enum { OPT_SET = 300, OPT_BLOCKS, OPT_MAX_RSS, OPT_JSON, OPT_RESTORE };

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"duration", required_argument, NULL, 'd'},
	{"blocks", required_argument, NULL, OPT_BLOCKS},
	{"set", required_argument, NULL, OPT_SET},
	{"max-rss", required_argument, NULL, OPT_MAX_RSS},
	{"step", required_argument, NULL, OPT_STEP},
	{"json", no_argument, NULL, OPT_JSON},
	{"restore", no_argument, NULL, OPT_RESTORE},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static int take_blocks(const char *text, size_t *ret, struct err *err)
{
	long blocks;
	int r = parse_int(text, "a number of blocks", 2 * EFFECT_PAIRS_LEAST, 10000, &blocks, err);

	if (!r && blocks % 2)
		return err_set(err, EINVAL, "blocks come in pairs: an even number of them, not %ld",
			blocks);
	if (!r)
		*ret = (size_t)blocks / 2;
	return r;
}

static int take_pid(const char *text, struct capture_options *options, struct err *err)
{
	long pid;
	int r = options->pids.count ? err_set(err, EINVAL, "a trial is of one process: -p once")
				    : parse_int(text, "a process id", 1, 1 << 22, &pid, err);
	pid_t *slot = r ? NULL : vec_add(&options->pids);

	if (slot)
		*slot = (pid_t)pid;
	return r;
}

static int take_value(int option, struct trial_options *options, struct err *err)
{
	switch (option) {
	case 'p':
		return take_pid(optarg, &options->capture, err);
	case 'd':
		return parse_duration(optarg, &options->capture.duration_ns, err);
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	case 'h':
		options->capture.help = true;
		return 0;
	case OPT_BLOCKS:
		return take_blocks(optarg, &options->pairs, err);
	case OPT_SET:
		options->set = optarg;
		return 0;
	case OPT_MAX_RSS:
		return parse_size(optarg, &options->max_rss, err);
	case OPT_STEP:
		return capture_take_step(optarg, &options->capture, err);
	case OPT_JSON:
		options->capture.json = true;
		return 0;
	case OPT_RESTORE:
		options->restore = true;
		return 0;
	}
	return -1;
}

static int take_option(int option, void *arg)
{
	struct err err = {};

	return take_value(option, arg, &err) ? cmd_usage(&cmd_trial, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct trial_options *ret)
{
	int status = cmd_options(&cmd_trial, argc, argv, "p:d:vh", long_options, take_option, ret);

	if (status || ret->capture.help)
		return status;
	if (optind < argc)
		return cmd_usage(&cmd_trial, "unexpected argument \"%s\"", argv[optind]);
	if (!ret->capture.pids.count)
		return cmd_usage(&cmd_trial, "no process given: -p PID");
	if (ret->restore && (ret->set || ret->pairs || ret->max_rss || ret->capture.json ||
				    ret->capture.duration_ns || ret->capture.step.way != STEP_AUTO))
		return cmd_usage(&cmd_trial,
			"--restore undoes a trial that was killed: it takes -p only");
	if (ret->capture.step.way == STEP_NONE || ret->capture.step.way == STEP_WINDOW)
		return cmd_usage(&cmd_trial,
			"a trial compares how long steps take: --step must name what marks one");
	return EXIT_OK;
}

/* A trial that ended too early for an answer is incomplete. */
static int judge(struct trial *trial)
{
	const struct step_track *track = NULL;
	struct blocks_result result = {};
	uint64_t end_ns = trace_recording(trial->trace)->end_ns;
	const struct settings_ops *ops = trial->subject.plan->ops->settings;
	const struct fulls fulls = {trial->pauses.items, trial->pauses.count,
		{ops->pace(&trial->subject.as_it_is), ops->pace(&trial->subject.tried)}};
	struct err err = {};
	int r = trial_find_steps(trial, end_ns, &track, &err);

	if (!r && track)
		r = blocks_judge(trial->blocks.items, trial->blocks.count, track->steps.items,
			track->steps.count, trial->plan.settle_ns, &fulls, &result);
	if (r)
		return cmd_fail(r, &err);
	trial_show(trial, track, &result);
	return result.pairs < EFFECT_PAIRS_LEAST || trial->by_program ? EXIT_INCOMPLETE : EXIT_OK;
}

static void release(struct trial *trial)
{
	watcher_end(&trial->watcher);
	subject_close(&trial->subject);
	steps_release(&trial->steps);
	step_marks_release(&trial->marks);
	vec_free(&trial->pauses);
	vec_free(&trial->blocks);
	trace_free(trial->trace);
	cleanup_close(&trial->signals);
	cleanup_close(&trial->timer);
	cleanup_close(&trial->poll);
}

static int run(int argc, char **argv)
{
	struct trial_options options = {};
	struct trial trial = {.command = &cmd_trial,
		.options = &options,
		.subject = {.memory = -1, .undo = STATE_NONE},
		.signals = -1,
		.timer = -1,
		.poll = -1};
	int status;

	capture_options_init(&options.capture);
	options.capture.trace.children = false;
	options.capture.trace.min_stack_ns = UINT64_MAX;
	status = parse(argc, argv, &options);
	if (!status && options.capture.help) {
		fputs(cmd_trial.usage, stdout);
	} else if (!status) {
		trial.pid = options.capture.pids.items[0];
		trial.out = options.capture.json ? stdout : terminal_open(stdout);
		status = options.restore ? trial_restore(&trial) : trial_run(&trial);
		if (!status && !options.restore)
			status = judge(&trial);
		terminal_close(trial.out, stdout);
		release(&trial);
	}
	capture_options_release(&options.capture);
	return status;
}

const struct command cmd_trial = {
	.name = "trial",
	.summary = "try a setting of a running collector, and put it back",
	.usage =
		"usage: gctrace trial -p PID [--set SETTING] [options]\n"
		"       gctrace trial --restore -p PID\n"
		"\n"
		"Compares, in the running process, steps with its collector's settings as they are with\n"
		"steps under another setting. Blocks of steps come in pairs; a coin decides which of the\n"
		"two has which. For each block gctrace writes the collector's own integers in the\n"
		"process's memory, where the running code reads them; it injects and stops nothing. At\n"
		"the end, at any signal, and by a watcher if gctrace itself is killed, they are put back.\n"
		"If the program changes them meanwhile, the trial ends and leaves its values alone.\n"
		"Refused (status 3) where it is not certain what would be written. gctrace's docs/trial.md\n"
		"has the details.\n"
		"\n"
		"  -p, --pid PID             the process\n"
		"      --set SETTING         what to try: off, or threshold=G0[,G1,G2]; same: nothing, to see\n"
		"                            what the trial says then (the youngest threshold times 100)\n"
		"  -d, --duration TIME       make it last this long: 2m; a bare number is seconds\n"
		"      --blocks N            how many blocks: an even number, at least 16 (32)\n"
		"      --max-rss SIZE        end a block at this resident size (a fifth more than at the\n"
		"                            begin, or a quarter of what is available, whichever is less)\n"
		"      --step SIGNAL         what marks a training step (doctor --steps; gctrace(1))\n"
		"      --restore             no trial: put back what one left that was killed together with\n"
		"                            its watcher\n"
		"      --json                JSON records instead of text (gctrace schema)\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
