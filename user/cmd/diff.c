/* gctrace diff BEFORE AFTER, or BEFORE... -- AFTER...: did the change help? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "cleanup.h"
#include "cmd.h"
#include "compare.h"
#include "compare_report.h"
#include "describe.h"
#include "diff_page.h"
#include "log.h"
#include "output.h"
#include "reading.h"

enum { OPT_TOLERANCE = 256, OPT_RUN_TO_RUN, OPT_JSON };

static const struct option long_options[] = {
	{"tolerance", required_argument, NULL, OPT_TOLERANCE},
	{"run-to-run", required_argument, NULL, OPT_RUN_TO_RUN},
	{"json", no_argument, NULL, OPT_JSON},
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	READING_OPTIONS,
	{},
};

struct diff_options {
	const char *const *files; /* those before the change, then those after */
	size_t before, after;
	struct compare_rule rule;
	struct reading reading;
	enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_HTML, DIFF_FORMATS } format;
	const char *output;
};

/* "5%" or "0.05". 0 or -EINVAL. */
static int parse_share(const char *text, const char *what, double *ret, struct err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (*end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0) || value > 10)
		return err_set(err, EINVAL, "\"%s\" is not a %s: write 5%% or 0.05", text, what);
	*ret = value;
	return 0;
}

static int parse_format(const char *name, enum diff_format *ret, struct err *err)
{
	static const char *const names[DIFF_FORMATS] = {"text", "json", "html"};

	for (size_t i = 0; i < DIFF_FORMATS; i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum diff_format)i;
			return 0;
		}
	return err_set(err, EINVAL, "there is no format \"%s\": text, json, html", name);
}

static int take_option(int option, void *arg)
{
	struct diff_options *options = arg;
	struct err err = {};
	int r = 0;

	switch (option) {
	case 'f':
		r = parse_format(optarg, &options->format, &err);
		break;
	case 'o':
		options->output = optarg;
		break;
	case OPT_TOLERANCE:
		r = parse_share(optarg, "tolerance", &options->rule.tolerance, &err);
		break;
	case OPT_RUN_TO_RUN:
		r = parse_share(optarg, "difference between runs", &options->rule.run_to_run, &err);
		break;
	case OPT_JSON:
		options->format = DIFF_JSON;
		break;
	default:
		r = reading_take(option, &options->reading, &err);
	}
	return r ? cmd_usage(&cmd_diff, "%s", err.text) : EXIT_OK;
}

/* How many arguments stand behind the first "--"; 0: there is none. getopt_long() moves it before all operands. */
static size_t behind_dashes(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return (size_t)(argc - i - 1);
	return 0;
}

/*
 * What stands behind the dashes that separate the sides is a recording, whatever it is called: the first one that looks
 * like an option and names no file, or NULL.
 */
static const char *misplaced(char **operands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (operands[i][0] == '-' && operands[i][1] && access(operands[i], F_OK))
			return operands[i];
	return NULL;
}

static int parse(int argc, char **argv, struct diff_options *ret)
{
	size_t behind = behind_dashes(argc, argv), operands;
	const char *option;
	int status = cmd_options(&cmd_diff, argc, argv, "f:o:" READING_SHORTS, long_options,
		take_option, ret);

	if (status || ret->reading.help)
		return status;
	ret->reading.gpu_of_any = true;
	operands = (size_t)(argc - optind);
	option = behind < operands ? misplaced(argv + argc - behind, behind) : NULL;
	if (option)
		return cmd_usage(&cmd_diff,
			"%s stands behind the --, where there are only recordings: options go before it",
			option);
	ret->after = behind && behind < operands ? behind : 1;
	if (operands < 2 || (operands != 2 && ret->after != behind))
		return cmd_usage(&cmd_diff,
			"two recordings are compared, before.gct after.gct, or several: b1 b2 -- a1 a2");
	ret->before = operands - ret->after;
	ret->files = (const char *const *)argv + optind;
	return EXIT_OK;
}

/* All of the recordings, read one after the other. */
struct reading_all {
	const struct diff_options *options;
	struct compare_run **runs;
	uint64_t gpu_fits;    /* bit i: reading.gpu[i] is of one of them */
	const char *known[2]; /* how it is known what steps lost, of either side */
	int status;	      /* the first that is not EXIT_OK, with its sentence */
	struct err missing;
};

static void note_known(struct reading_all *all, size_t at, const char *known)
{
	const char **side = &all->known[at >= all->options->before];

	if (known && *side && strcmp(*side, known))
		known = "not in the same way of all runs";
	*side = known ? known : *side;
}

static int read_one(struct reading_all *all, size_t at, struct err *err)
{
	struct analysis analysis;
	int r = analysis_open(&analysis, all->options->files[at], &all->options->reading,
		ANALYSIS_COSTS, err);

	if (!r)
		r = compare_read(&analysis.attribution, &all->runs[at], err);
	if (!r) {
		all->gpu_fits |= analysis.gpu_fits;
		note_known(all, at, describe_known_all(&analysis.attribution));
		if (!all->status)
			all->status = analysis_status(&analysis, &all->missing);
	}
	analysis_close(&analysis);
	return r;
}

/* Each trace must be of one of them. 0 or -ESRCH. */
static int check_traces(const struct reading_all *all, struct err *err)
{
	const struct reading *reading = &all->options->reading;
	bool two = all->options->before + all->options->after == 2;

	for (size_t i = 0; i < reading->gpu_count; i++)
		if (!(all->gpu_fits >> i & 1))
			return err_set(err, ESRCH, "--gpu %s: %s has its process at its time",
				reading->gpu[i],
				two ? "neither recording" : "none of the recordings");
	return 0;
}

/* Incomplete recordings cannot prove that nothing got worse. */
static int judge(const struct reading_all *all, const struct comparisons *comparisons)
{
	if (all->status)
		log_warning("%s", all->missing.text);
	return comparisons->breach ? EXIT_BREACH : all->status;
}

static int put_page(const struct reading_all *all, const struct comparisons *comparisons, FILE *out,
	struct err *err)
{
	struct html_diff page = {.comparisons = comparisons,
		.files = all->options->files,
		.known = {all->known[0], all->known[1]},
		.missing = all->status ? all->missing.text : NULL};

	return diff_page_write(&page, &all->options->reading, out, err);
}

/* 0 or -errno with a sentence. */
static int put(const struct reading_all *all, const struct comparisons *comparisons,
	struct err *err)
{
	const struct diff_options *options = all->options;
	struct output output;
	int r = output_open(&output, options->output, err);

	if (r)
		return r;
	if (options->format == DIFF_HTML)
		r = put_page(all, comparisons, output.stream, err);
	else if (options->format == DIFF_JSON)
		compare_report_json(output.stream, comparisons, options->files);
	else
		compare_report_text(output.stream, comparisons, options->files);
	return output_close(&output, r, err);
}

static int diff(const struct diff_options *options)
{
	const size_t count = options->before + options->after;
	_cleanup_free_ struct compare_run **runs = calloc(count, sizeof(struct compare_run *));
	struct reading_all all = {.options = options, .runs = runs};
	struct comparisons comparisons = {};
	struct err err = {};
	int status, r = runs ? 0 : err_set(&err, ENOMEM, "out of memory");

	for (size_t i = 0; i < count && !r; i++)
		r = read_one(&all, i, &err);
	if (!r)
		r = check_traces(&all, &err);
	if (!r)
		r = compare(runs, options->before, options->after, &options->rule, &comparisons,
			&err);
	if (!r)
		r = put(&all, &comparisons, &err);
	status = r ? cmd_fail(r, &err) : judge(&all, &comparisons);
	comparisons_release(&comparisons);
	for (size_t i = 0; i < count && runs; i++)
		compare_run_free(runs[i]);
	return status;
}

static int run(int argc, char **argv)
{
	struct diff_options options = {.rule = {COMPARE_TOLERANCE, COMPARE_RUN_TO_RUN}};
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
		"       gctrace diff BEFORE... [options] -- AFTER...\n"
		"\n"
		"Compares recordings of one training job, before and after a change: step times, how\n"
		"long GC stopped them, what was lost to it, pauses, collections of each class and who\n"
		"called for them. With several runs a side the intervals contain the chance between\n"
		"runs; of one against one the verdict takes --run-to-run for usual. It judges the mean,\n"
		"p99 and the worst step, without the steps of a warm-up, and says \"inconclusive\" where\n"
		"a change of the tolerance's size could not have been seen. Exit status 99 when one of\n"
		"them, or the share for which GC stopped steps, got worse by more than the tolerance\n"
		"and by more than chance; 3 or 4 when a recording is blind or incomplete.\n"
		"\n"
		"Options stand anywhere before the -- that separates the sides; behind it there are\n"
		"only recordings.\n"
		"\n"
		"      --tolerance SHARE     5% (the default) or 0.05\n"
		"      --run-to-run SHARE    by how much the mean step usually differs between runs of\n"
		"                            the same job (standard deviation): 3%, unless given\n"
		"      --gc-only             ignore pauses without a collection\n"
		"      --step SIGNAL         what marks a training step (see gctrace report --help)\n"
		"      --gpu FILE            a trace of PyTorch's profiler, of any of them; repeats\n"
		"      --json                the same as -f json\n"
		"  -f, --format FORMAT       what to write:\n"
		"                            text  a table, the default\n"
		"                            json  one JSON object per line\n"
		"                            html  one page with the verdict, the figures, a flame graph\n"
		"                                  of either side\n"
		"  -o, --output OUTPUT       write there, never over a recording; - is stdout\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
