/* gctrace check FILE --budget …: judges a recording by budgets; the exit status is the answer. */
#include <stdio.h>
#include <string.h>

#include "budgets.h"
#include "cmd.h"
#include "log.h"
#include "reading.h"

enum { OPT_BUDGET = 256, OPT_JUNIT, OPT_JSON };

static const struct option long_options[] = {
	{"budget", required_argument, NULL, OPT_BUDGET},
	{"junit", required_argument, NULL, OPT_JUNIT},
	{"json", no_argument, NULL, OPT_JSON},
	READING_OPTIONS,
	{},
};

struct check_options {
	struct budgets budgets;
	const char *input;
	struct reading reading;
	bool json;
};

static int take_option(int option, void *arg)
{
	struct check_options *options = arg;
	struct err err = {};
	int r = 0;

	switch (option) {
	case OPT_BUDGET:
		r = budgets_add(&options->budgets, optarg, &err);
		break;
	case OPT_JUNIT:
		options->budgets.junit = optarg;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	default:
		r = reading_take(option, &options->reading, &err);
	}
	return r ? cmd_usage(&cmd_check, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct check_options *ret)
{
	int status =
		cmd_options(&cmd_check, argc, argv, READING_SHORTS, long_options, take_option, ret);

	if (status || ret->reading.help)
		return status;
	if (argc - optind != 1)
		return cmd_usage(&cmd_check,
			argc == optind ? "no recording given" : "one recording at a time");
	if (!ret->budgets.items.count)
		return cmd_usage(&cmd_check, "no budget given: --budget 'pause.p99<20ms'");
	ret->input = argv[optind];
	return EXIT_OK;
}

static int check(const struct check_options *options)
{
	struct analysis analysis;
	struct err err = {};
	int r = analysis_open(&analysis, options->input, &options->reading, ANALYSIS_COSTS, &err);
	int status = r ? cmd_fail(r, &err)
		       : budgets_judge(&options->budgets, &analysis, options->input, options->json,
				 stdout);

	analysis_close(&analysis);
	return status;
}

static int run(int argc, char **argv)
{
	struct check_options options = {};
	int status = parse(argc, argv, &options);

	if (!status && options.reading.help) {
		fputs(cmd_check.usage, stdout);
		fputs(budget_metrics(), stdout);
	} else if (!status) {
		status = check(&options);
	}
	budgets_release(&options.budgets);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.summary = "check a recording against budgets: exit 99 if one is broken",
	.usage =
		"usage: gctrace check FILE --budget BUDGET [--budget BUDGET]... [options]\n"
		"\n"
		"Judges a recording by budgets such as 'pause.p99<20ms', 'stopped.share<1%' and\n"
		"'step.stopped.max<50ms'. Exit status: 0 all kept; 99 one is broken; 3 nothing was\n"
		"traced, or a budget could not be judged (per-step budgets need steps of which gctrace\n"
		"is sure); 4 none is broken, but the recording is incomplete, or cannot tell what was\n"
		"lost, which the metrics of cost need, or what GPUs did. A blind run never passes.\n"
		"\n"
		"Metrics of 'stopped' are the pauses within steps: a fact. Those of 'cost' are how far\n"
		"the loop fell behind because of them: measured or estimated, and said with its interval.\n"
		"\n"
		"      --budget BUDGET       METRIC<LIMIT; several separated by commas; repeats\n"
		"      --gc-only             ignore pauses without a collection\n"
		"      --step SIGNAL         what marks a training step (see gctrace report --help)\n"
		"      --gpu FILE            a trace of PyTorch's profiler, for what GPUs did; repeats\n"
		"      --junit FILE          also write a JUnit test report\n"
		"      --json                one JSON object per line instead of a table\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n"
		"\n"
		"Metrics:\n",
	.run = run,
};
