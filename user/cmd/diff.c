/* gctrace diff BEFORE AFTER: did the change help? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "cmd.h"
#include "compare.h"
#include "compare_report.h"
#include "log.h"
#include "reading.h"

#define DEFAULT_TOLERANCE 0.05

enum { OPT_TOLERANCE = 256, OPT_JSON };

static const struct option long_options[] = {
	{"tolerance", required_argument, NULL, OPT_TOLERANCE},
	{"json", no_argument, NULL, OPT_JSON},
	READING_OPTIONS,
	{},
};

struct diff_options {
	const char *before, *after;
	double tolerance; /* relative */
	struct reading reading;
	bool json;
};

/* "5%" or "0.05". 0 or -EINVAL. */
static int parse_tolerance(const char *text, double *ret, struct err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (*end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0) || value > 10)
		return err_set(err, EINVAL, "\"%s\" is not a tolerance: write 5%% or 0.05", text);
	*ret = value;
	return 0;
}

static int take_option(int option, void *arg)
{
	struct diff_options *options = arg;
	struct err err = {};
	int r = 0;

	switch (option) {
	case OPT_TOLERANCE:
		r = parse_tolerance(optarg, &options->tolerance, &err);
		break;
	case OPT_JSON:
		options->json = true;
		break;
	default:
		r = reading_take(option, &options->reading, &err);
	}
	return r ? cmd_usage(&cmd_diff, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct diff_options *ret)
{
	int status =
		cmd_options(&cmd_diff, argc, argv, READING_SHORTS, long_options, take_option, ret);

	if (status || ret->reading.help)
		return status;
	ret->reading.gpu_of_any = true;
	if (argc - optind != 2)
		return cmd_usage(&cmd_diff, "two recordings are compared: before.gct after.gct");
	ret->before = argv[optind];
	ret->after = argv[optind + 1];
	return EXIT_OK;
}

/*
 * Worse by more than the tolerance, and certainly worse: the whole interval is, where there is one.
 * A share is already relative to step time: its tolerance is in percentage points, or else a cost
 * that is next to nothing could double.
 */
static bool is_worse(const struct comparison *item, double tolerance)
{
	bool share = !strcmp(item->unit, "share");

	if (!item->known || !item->worse_is_more || (item->has_interval && item->low <= 0))
		return false;
	return (share ? item->after - item->before : item->change) > tolerance;
}

/* Only step times and the share for which GC stopped them count as a regression. */
static bool regressed(const struct comparisons *comparisons, double tolerance)
{
	static const char *const judged[] = {"step.mean", "stopped.share", "pause.share"};

	for (size_t i = 0; i < comparisons->items.count; i++) {
		const struct comparison *item = &comparisons->items.items[i];

		for (size_t j = 0; j < sizeof(judged) / sizeof(*judged); j++)
			if (!strcmp(item->name, judged[j]) && is_worse(item, tolerance))
				return true;
	}
	return false;
}

/* Incomplete recordings cannot prove that nothing got worse. */
static int judge(const struct diff_options *options, const struct analysis *before,
	const struct analysis *after, const struct comparisons *comparisons)
{
	struct err err = {};
	int status = analysis_status(before, &err);

	if (!status)
		status = analysis_status(after, &err);
	if (status)
		log_warning("%s", err.text);
	return regressed(comparisons, options->tolerance) ? EXIT_BREACH : status;
}

/* Each trace must be of one of them. 0 or -ESRCH. */
static int check_traces(const struct diff_options *options, const struct analysis *before,
	const struct analysis *after, struct err *err)
{
	for (size_t i = 0; i < options->reading.gpu_count; i++)
		if (!((before->gpu_fits | after->gpu_fits) >> i & 1))
			return err_set(err, ESRCH,
				"--gpu %s: neither recording has its process at its time",
				options->reading.gpu[i]);
	return 0;
}

static int diff(const struct diff_options *options)
{
	struct comparisons comparisons = {};
	struct analysis before, after = {};
	struct err err = {};
	int status, r = analysis_open(&before, options->before, &options->reading, ANALYSIS_COSTS,
			    &err);

	if (!r)
		r = analysis_open(&after, options->after, &options->reading, ANALYSIS_COSTS, &err);
	if (!r)
		r = check_traces(options, &before, &after, &err);
	if (!r)
		r = compare(&before.attribution, &after.attribution, &comparisons, &err);
	if (r) {
		status = cmd_fail(r, &err);
	} else {
		(options->json ? compare_report_json : compare_report_text)(stdout, &comparisons,
			options->before, options->after);
		status = judge(options, &before, &after, &comparisons);
	}
	comparisons_release(&comparisons);
	analysis_close(&after);
	analysis_close(&before);
	return status;
}

static int run(int argc, char **argv)
{
	struct diff_options options = {.tolerance = DEFAULT_TOLERANCE};
	int status = parse(argc, argv, &options);

	if (status)
		return status;
	if (options.reading.help) {
		fputs(cmd_diff.usage, stdout);
		return EXIT_OK;
	}
	return diff(&options);
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two recordings: did the fix help? exit 99 on a regression",
	.usage =
		"usage: gctrace diff BEFORE AFTER [options]\n"
		"\n"
		"Compares two recordings of one training job, before and after a change: step times, how\n"
		"long GC stopped them, what was lost to it, pauses, each with the change and, where it\n"
		"can be resampled, its 95 % interval. Means leave out the steps of a warm-up. Exit\n"
		"status 99 when steps or the share for which GC stopped them got worse by more than\n"
		"the tolerance and the interval excludes chance;\n"
		"3 or 4 when a recording is blind or incomplete.\n"
		"\n"
		"      --tolerance SHARE     5% (the default) or 0.05\n"
		"      --gc-only             ignore pauses without a collection\n"
		"      --step SIGNAL         what marks a training step (see gctrace report --help)\n"
		"      --gpu FILE            a trace of PyTorch's profiler, of either; repeats\n"
		"      --json                one JSON object per line instead of a table\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
