/* gctrace record -p PID -o FILE: capture only. */
#include <stdio.h>

#include "capture.h"

static int run(int argc, char **argv)
{
	struct capture_options options;
	int index, status = capture_parse(&cmd_record, argc, argv, &options, &index);

	if (!status && options.help)
		fputs(cmd_record.usage, stdout);
	else if (!status && index < argc)
		status = cmd_usage(&cmd_record, "unexpected argument \"%s\"", argv[index]);
	else if (!status && (options.budgets.items.count || options.budgets.junit))
		status = cmd_usage(&cmd_record,
			"budgets are judged by gctrace run and gctrace check: record, then check FILE");
	else if (!status && !options.pids.count)
		status = cmd_usage(&cmd_record, "no process given: -p PID");
	else if (!status && (options.filter.min_duration_ns || options.filter.min_generation ||
				    options.filter.gc_only))
		status = cmd_usage(&cmd_record,
			"a recording holds every pause: gctrace report FILE --min-duration …");
	else if (!status && options.json)
		status = cmd_usage(&cmd_record,
			"--json is for reports: gctrace report FILE -f json");
	else if (!status) {
		if (!options.output)
			options.output = "gctrace.gct";
		status = capture_run(&options, NULL, NULL);
	}
	capture_options_release(&options);
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record the pauses of running processes into a file",
	.usage =
		"usage: gctrace record -p PID [-p PID]... [-o FILE] [options]\n"
		"\n"
		"Records every garbage-collection pause into a .gct file (gctrace.gct), until Ctrl-C,\n"
		"for -d, or until the last process has ended. `gctrace report FILE` reads it without\n"
		"root, as often as you like.\n"
		"\n"
		"  -p, --pid PID             a process to trace; repeats\n"
		"  -o, --output FILE         where to record; a recording already there is replaced once\n"
		"                            tracing begins\n"
		"  -d, --duration TIME       stop after this long: 30s, 5m; a bare number is seconds\n"
		"      --no-children         leave out what the processes fork or have forked\n"
		"      --wait                accept a process that has loaded no runtime yet\n"
		"      --step SIGNAL         what marks a training step (doctor --steps; gctrace(1))\n"
		"      --late-min TIME       name a thread that is late by this much (1ms)\n"
		"      --max-size SIZE       end the recording at this size (1G; 0: no limit)\n"
		"      --stack-min TIME      no stack for shorter pauses (50us; 0: a stack for each)\n"
		"      --gpu HOW             off: leave GPUs out; measure: insist on the shim; inject: have\n"
		"                            PID load it; infer: do without it, by calls of CUDA; auto\n"
		"                            (default): by the shim, or else by those calls that wait\n"
		"      --variants            name the compiled variant too: train_step!#40\n"
		"      --buffer SIZE         size of the ring buffer (4M)\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
