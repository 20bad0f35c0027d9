/* gctrace -p PID: pauses as they end, a summary at the end. */
#include <stdio.h>

#include "capture.h"

static int run(int argc, char **argv)
{
	struct capture_options options;
	int index, status = capture_parse(&cmd_live, argc, argv, &options, &index);

	if (!status && options.help)
		fputs(cmd_live.usage, stdout);
	else if (!status && index < argc)
		status =
			cmd_usage(&cmd_live, "\"%s\" is neither an option nor a verb", argv[index]);
	else if (!status && (options.budgets.items.count || options.budgets.junit))
		status = cmd_usage(&cmd_live,
			"budgets are judged by gctrace run and gctrace check: record, then check FILE");
	else if (!status && !options.pids.count)
		status = cmd_usage(&cmd_live, "no process given: -p PID");
	else if (!status)
		status = capture_run(&options, NULL, stdout);
	capture_options_release(&options);
	return status;
}

const struct command cmd_live = {
	.name = "live",
	.summary = "show the pauses of running processes as they happen",
	.usage =
		"usage: gctrace -p PID [-p PID]... [options]\n"
		"\n"
		"Shows garbage-collection pauses as they end, other pauses of the runtimes, stalls of\n"
		"threads, and a summary at Ctrl-C, after -d, or when all processes have ended. Pauses\n"
		"of 1 ms or more get a line; once a second a line counts the others, and steps. A step\n"
		"that pauses slowed is named as it ends, a pause of a second as it runs.\n"
		"\n"
		"  -p, --pid PID             a process to trace; repeats\n"
		"  -d, --duration TIME       stop after this long: 30s, 5m\n"
		"      --min-duration TIME   a line for each pause of at least this length: 50us; 0 for\n"
		"                            all. With --json, which shows all: none shorter\n"
		"      --min-generation N    hide younger generations than N\n"
		"      --gc-only             hide pauses without a collection\n"
		"      --no-children         leave out what the processes fork or have forked\n"
		"      --wait                accept a process that has loaded no runtime yet\n"
		"  -o, --output FILE         also record into a .gct file\n"
		"      --json                one JSON object per line instead of text (gctrace schema)\n"
		"      --step SIGNAL         what marks a training step (doctor --steps)\n"
		"      --late-min TIME       name a thread that is late by this much (1ms)\n"
		"      --max-size SIZE       end the recording at this size (1G; 0: no limit)\n"
		"      --stack-min TIME      no stack for shorter pauses (50us; 0: one for each)\n"
		"      --gpu HOW             off, auto, infer, measure, inject\n"
		"      --variants            name compiled variants too: train_step!#40\n"
		"      --buffer SIZE         size of the ring buffer (4M)\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
