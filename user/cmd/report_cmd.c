/* gctrace report FILE: a recording in one of the formats. No privilege needed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis.h"
#include "cleanup.h"
#include "cmd.h"
#include "log.h"
#include "meaning.h"
#include "output.h"
#include "parse.h"
#include "reading.h"

enum { OPT_MIN_DURATION = 256, OPT_MIN_GENERATION, OPT_WEIGHT };

static const struct option long_options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"min-duration", required_argument, NULL, OPT_MIN_DURATION},
	{"min-generation", required_argument, NULL, OPT_MIN_GENERATION},
	{"weight", required_argument, NULL, OPT_WEIGHT},
	READING_OPTIONS,
	{},
};

struct report_options {
	const struct report_ops *format;
	const char *input, *output;
	struct pause_filter filter;
	struct reading reading;
	enum report_weight weight;
};

static int take_format(const char *name, struct report_options *options)
{
	options->format = report_find(name);
	if (options->format)
		return EXIT_OK;
	return cmd_usage(&cmd_report,
		"there is no format \"%s\": text, json, html, folded, flamegraph", name);
}

static int take_weight(const char *name, struct report_options *options)
{
	if (!strcmp(name, "time"))
		options->weight = WEIGHT_TIME;
	else if (!strcmp(name, "gpu-idle"))
		options->weight = WEIGHT_GPU_IDLE;
	else
		return cmd_usage(&cmd_report, "there is no weight \"%s\": time, gpu-idle", name);
	return EXIT_OK;
}

static int take_option(int option, void *arg)
{
	struct report_options *options = arg;
	struct err err = {};
	int r = 0;

	switch (option) {
	case 'f':
		return take_format(optarg, options);
	case 'o':
		options->output = optarg;
		break;
	case OPT_WEIGHT:
		return take_weight(optarg, options);
	case OPT_MIN_DURATION:
		r = parse_duration(optarg, &options->filter.min_duration_ns, &err);
		break;
	case OPT_MIN_GENERATION:
		r = parse_int(optarg, "a generation", 0, 2, &options->filter.min_generation, &err);
		break;
	default:
		r = reading_take(option, &options->reading, &err);
	}
	return r ? cmd_usage(&cmd_report, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct report_options *ret)
{
	int status;

	*ret = (struct report_options){.format = report_formats[0]};
	status = cmd_options(&cmd_report, argc, argv, "f:o:" READING_SHORTS, long_options,
		take_option, ret);
	if (status || ret->reading.help)
		return status;
	if (argc - optind != 1)
		return cmd_usage(&cmd_report,
			argc == optind ? "no recording given" : "one recording at a time");
	if (ret->reading.step && !ret->format->steps)
		return cmd_usage(&cmd_report, "-f %s shows stacks, not steps: leave out --step",
			ret->format->name);
	if (ret->weight && !ret->format->weights)
		return cmd_usage(&cmd_report, "-f %s does not weight stacks: leave out --weight",
			ret->format->name);
	if (ret->reading.gpu_count && !ret->format->steps && !ret->weight)
		return cmd_usage(&cmd_report,
			"-f %s shows GPUs with --weight gpu-idle only: add that, or leave out --gpu",
			ret->format->name);
	ret->filter.gc_only = ret->reading.gc_only;
	ret->input = argv[optind];
	return EXIT_OK;
}

static int write_report(const struct report_options *options, const struct report_input *input)
{
	struct output output;
	struct err err = {};
	int r = output_open(&output, options->output, &err);

	if (!r)
		r = output_close(&output, options->format->write(input, output.stream, &err), &err);
	return r ? cmd_fail(r, &err) : EXIT_OK;
}

/* The file's name, and what a picture of it leaves out. */
static void make_title(const struct report_options *options, char *title, size_t size)
{
	const struct pause_filter *filter = &options->filter;
	const char *base = strrchr(options->input, '/');
	const char *name = base ? base + 1 : options->input;
	int used = snprintf(title, size, "%s", strcmp(name, "-") ? name : "stdin");

	if (used < 0 || (size_t)used >= size)
		return;
	if (filter->min_duration_ns)
		used += snprintf(title + used, size - (size_t)used, ", pauses of %s or longer",
			FORMAT_DURATION(filter->min_duration_ns));
	if (filter->gc_only && (size_t)used < size)
		used += snprintf(title + used, size - (size_t)used, ", collections only");
	if (filter->min_generation && (size_t)used < size)
		snprintf(title + used, size - (size_t)used, ", generation %ld and older",
			filter->min_generation);
}

/* Where no runtime has generations, --min-generation would leave out nothing and not say so. */
static int check_filter(const struct pause_filter *filter, const struct recording *recording,
	struct err *err)
{
	const struct runtime_meaning *meaning = NULL;
	char classes[160] = "";

	for (size_t i = 0; filter->min_generation && i < recording->runtimes.count; i++) {
		meaning = meaning_of(recording->runtimes.items[i].kind);
		if (meaning->generations || meaning->young_full)
			return 0;
	}
	if (!meaning)
		return 0;
	for (size_t i = 0; i < meaning->class_count; i++)
		snprintf(classes + strlen(classes), sizeof(classes) - strlen(classes), "%s%s",
			i ? ", " : "", meaning->classes[i].name);
	return err_set(err, EINVAL,
		"--min-generation: the %s of %s have no generations, but classes: %s",
		meaning->pauses, meaning->label, classes);
}

/* What the format needs of the recording. */
static enum analysis_depth depth_of(const struct report_options *options)
{
	if (options->format->steps)
		return ANALYSIS_ADVICE;
	return options->weight == WEIGHT_GPU_IDLE ? ANALYSIS_COSTS : ANALYSIS_NONE;
}

/* Without records of GPUs, nothing is known of what pauses did to them, which is not to look like nothing. */
static int check_weight(const struct report_options *options, const struct report_input *input,
	struct err *err)
{
	if (options->weight != WEIGHT_GPU_IDLE || input->attribution->gpu)
		return 0;
	return err_set(err, ENODATA,
		"--weight gpu-idle: this recording has no records of GPUs, so it is not known what "
		"pauses did to them");
}

static int report(const struct report_options *options)
{
	struct report_input input;
	struct analysis analysis;
	struct err err = {};
	char title[512];
	int r = analysis_open(&analysis, options->input, &options->reading, depth_of(options),
		&err);

	make_title(options, title, sizeof(title));
	if (!r)
		r = analysis_input(&analysis, &options->filter, title, &input, &err);
	if (!r)
		r = check_filter(&options->filter, input.recording, &err);
	if (!r)
		r = check_weight(options, &input, &err);
	input.weight = options->weight;
	r = r ? cmd_fail(r, &err) : write_report(options, &input);
	analysis_close(&analysis);
	return r;
}

static int run(int argc, char **argv)
{
	struct report_options options;
	int status = parse(argc, argv, &options);

	if (status)
		return status;
	if (options.reading.help) {
		fputs(cmd_report.usage, stdout);
		return EXIT_OK;
	}
	return report(&options);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "report on a recording: text, HTML, JSON, folded stacks, flame graph",
	.usage =
		"usage: gctrace report FILE [-f FORMAT] [-o OUTPUT]\n"
		"\n"
		"Reports on a recording (- is stdin). Needs no root, and can be repeated with other\n"
		"options.\n"
		"\n"
		"  -f, --format FORMAT       text        for people (the default)\n"
		"                            html        one page: steps, pauses, memory, stacks\n"
		"                            json        one object per line (gctrace schema)\n"
		"                            folded      one stack per line, weighted in microseconds\n"
		"                            flamegraph  an interactive SVG: time paused by stack\n"
		"      --weight WEIGHT       of stacks: time, how long they paused (the default), or\n"
		"                            gpu-idle, how long a GPU stood idle because of that\n"
		"  -o, --output OUTPUT       write there, never over a recording; - is stdout\n"
		"      --min-duration TIME   list and draw no shorter pauses: 1ms, 50us\n"
		"      --min-generation N    list and draw no generations younger than N; totals cover all\n"
		"      --gc-only             leave out pauses without a collection, in totals too\n"
		"      --step SIGNAL         what marks a training step, of the signals recorded:\n"
		"                            auto, none, window:5s, or a name: torch:backward/2\n"
		"                            (gctrace doctor --steps FILE lists them)\n"
		"      --gpu FILE            what GPUs did: a trace that PyTorch's profiler exported in the\n"
		"                            same run, .json or .json.gz; repeats, one for each process\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
