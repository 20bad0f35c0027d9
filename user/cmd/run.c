/* gctrace run -- COMMAND: start the workload under the tracer. */
#include <stdio.h>

#include "capture.h"
#include "log.h"
#include "shim.h"

/* The workload keeps stdout: our text goes to stderr, JSON to stdout as requested. */
static int run_workload(struct capture_options *options, char **argv)
{
	FILE *out = options->json ? stdout : options->output ? NULL : stderr;
	struct capture_child child = {};
	char shim[PATH_MAX];
	bool loads = trace_gpu_shims(options->trace.gpu) && shim_find(shim);
	struct err err = {};
	int r = child_start(argv, loads ? shim : NULL, &child, &err), status, workload;

	if (r)
		return cmd_fail(r, &err);
	status = capture_run(options, &child, out);
	if (!child_finish(&child))
		return status; /* it never ran */
	workload = child_exit_status(&child);
	if (status == EXIT_FAILED)
		log_info("%s ended with status %d", child.name, workload);
	/*
	 * A workload's failure says more than what was traced, and one without a runtime is still a
	 * workload.
	 */
	if (!workload && (status == EXIT_FAILED || options->budgets.items.count))
		return status;
	return workload;
}

static int run(int argc, char **argv)
{
	struct capture_options options;
	int index, status = capture_parse(&cmd_run, argc, argv, &options, &index);

	if (!status && options.help)
		fputs(cmd_run.usage, stdout);
	else if (!status && options.pids.count)
		status = cmd_usage(&cmd_run,
			"-p is for processes that are already running: gctrace -p PID");
	else if (!status && options.inject)
		status = cmd_usage(&cmd_run,
			"--gpu inject is for programs that are already running: run has CUDA load the shim");
	else if (!status && options.budgets.junit && !options.budgets.items.count)
		status = cmd_usage(&cmd_run, "--junit reports on budgets: give --budget too");
	else if (!status && index >= argc)
		status = cmd_usage(&cmd_run, "no command given: gctrace run -- python3 train.py");
	else if (!status)
		status = run_workload(&options, argv + index);
	capture_options_release(&options);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "start a workload and trace it from its first collection",
	.usage =
		"usage: gctrace run [-o FILE] [options] -- COMMAND [ARGUMENT]...\n"
		"\n"
		"Starts COMMAND, as the user who called sudo, and traces it and its children from the\n"
		"first collection on. Its output and exit status pass through; signals reach it. The\n"
		"report goes to stderr when it has ended, or with -o a recording into FILE.\n"
		"\n"
		"  -o, --output FILE         record into a .gct file instead of reporting\n"
		"      --json                JSON on stdout instead of text on stderr\n"
		"  -d, --duration TIME       stop tracing (not the workload) after this long\n"
		"      --min-duration TIME   with --json: list no shorter pauses\n"
		"      --min-generation N    with --json: list no generations younger than N\n"
		"      --gc-only             hide pauses without a collection\n"
		"      --no-children         leave out what it forks\n"
		"      --step SIGNAL         what marks a training step (doctor --steps; gctrace(1))\n"
		"      --budget BUDGET       judge the run when it has ended, as gctrace check does; repeats\n"
		"      --junit FILE          with --budget: also write a JUnit test report\n"
		"      --late-min TIME       name a thread that is late by this much (1ms)\n"
		"      --max-size SIZE       end the recording at this size (1G; 0: no limit)\n"
		"      --stack-min TIME      no stack for shorter pauses (50us; 0: a stack for each)\n"
		"      --gpu HOW             off: leave GPUs out; measure: insist on the shim; infer: do\n"
		"                            without it, by calls of CUDA; auto (default): by the shim,\n"
		"                            or else by those calls that wait\n"
		"      --variants            name the compiled variant too: train_step!#40\n"
		"      --buffer SIZE         size of the ring buffer (4M)\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
