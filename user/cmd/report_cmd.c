/* gctrace report FILE: a recording in one of the formats. No privilege needed. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cmd.h"
#include "log.h"
#include "parse.h"
#include "report.h"
#include "store.h"

enum { OPT_MIN_DURATION = 256, OPT_MIN_GENERATION };

static const struct option long_options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"min-duration", required_argument, NULL, OPT_MIN_DURATION},
	{"min-generation", required_argument, NULL, OPT_MIN_GENERATION},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{},
};

struct report_options {
	const struct report_ops *format;
	const char *input, *output;
	uint64_t min_duration_ns;
	long min_generation;
	bool help;
};

/* The recording's pauses, as far as the user wants to see them. */
struct source {
	const struct report_options *options;
	struct store_reader *reader;
};

DEFINE_CLEANUP(struct store_reader *, store_reader_free);

static int next_pause(void *arg, struct pause *ret, struct err *err)
{
	struct source *source = arg;
	int r;

	do
		r = store_next_pause(source->reader, ret, err);
	while (r == 1 && (pause_duration(ret) < source->options->min_duration_ns ||
				 (ret->generation >= 0 &&
					 ret->generation < source->options->min_generation)));
	return r;
}

static int rewind_pauses(void *arg)
{
	struct source *source = arg;

	return store_rewind(source->reader);
}

static int take_format(const char *name, struct report_options *options)
{
	options->format = report_find(name);
	if (options->format)
		return EXIT_OK;
	return cmd_usage(&cmd_report, "there is no format \"%s\": text, json, folded, flamegraph",
		name);
}

static int take_option(int option, struct report_options *options)
{
	struct err err = {};
	int r = 0;

	switch (option) {
	case 'f':
		return take_format(optarg, options);
	case 'o':
		options->output = optarg;
		break;
	case 'v':
		log_set_level(LOG_DEBUG);
		break;
	case 'h':
		options->help = true;
		break;
	case OPT_MIN_DURATION:
		r = parse_duration(optarg, &options->min_duration_ns, &err);
		break;
	case OPT_MIN_GENERATION:
		r = parse_int(optarg, "a generation", 0, 2, &options->min_generation, &err);
		break;
	}
	return r ? cmd_usage(&cmd_report, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct report_options *ret)
{
	int option, status = EXIT_OK;

	*ret = (struct report_options){.format = report_formats[0]};
	opterr = 0;
	optind = 1;
	while (!status && (option = getopt_long(argc, argv, ":f:o:vh", long_options, NULL)) != -1) {
		if (option == ':')
			return cmd_usage(&cmd_report, "%s needs a value", argv[optind - 1]);
		if (option == '?')
			return cmd_usage(&cmd_report, "there is no option %s", argv[optind - 1]);
		status = take_option(option, ret);
	}
	if (status || ret->help)
		return status;
	if (argc - optind != 1)
		return cmd_usage(&cmd_report, argc == optind ? "no recording given"
							       : "one recording at a time");
	ret->input = argv[optind];
	return EXIT_OK;
}

/* Writes to the file, or to stdout for none and "-". */
static int write_report(const struct report_options *options, const struct report_input *input)
{
	bool to_stdout = !options->output || !strcmp(options->output, "-");
	FILE *out = to_stdout ? stdout : fopen(options->output, "we");
	struct err err = {};
	int r;

	if (!out) {
		r = errno;
		err_set(&err, r, "%s cannot be written: %s", options->output, strerror(r));
		return cmd_fail(-r, &err);
	}
	r = options->format->write(input, out, &err);
	if (fflush(out) || ferror(out)) {
		if (!r)
			r = err_set(&err, EIO, "the report could not be written in full to %s: %s",
				to_stdout ? "stdout" : options->output, strerror(errno));
	}
	if (!to_stdout)
		fclose(out);
	return r ? cmd_fail(r, &err) : EXIT_OK;
}

static int report(const struct report_options *options)
{
	_cleanup_(cleanup_store_reader_free) struct store_reader *reader = NULL;
	const char *base = strrchr(options->input, '/');
	struct report_input input = {.next = next_pause, .rewind = rewind_pauses,
		.title = base ? base + 1 : options->input};
	struct source source = {.options = options};
	struct err err = {};
	int r = store_open(options->input, &reader, &err);

	if (r)
		return cmd_fail(r, &err);
	source.reader = reader;
	input.source = &source;
	input.recording = store_recording(reader);
	input.stacks = store_stacks(reader, &err);
	if (!input.stacks)
		return cmd_fail(-EBADMSG, &err);
	return write_report(options, &input);
}

static int run(int argc, char **argv)
{
	struct report_options options;
	int status = parse(argc, argv, &options);

	if (status)
		return status;
	if (options.help) {
		fputs(cmd_report.usage, stdout);
		return EXIT_OK;
	}
	return report(&options);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "report on a recording: text, json, folded stacks, flame graph",
	.usage =
		"usage: gctrace report FILE [-f FORMAT] [-o OUTPUT]\n"
		"\n"
		"Reports on a recording. Needs no root, and can be repeated with other options.\n"
		"\n"
		"  -f, --format FORMAT       text        for people (the default)\n"
		"                            json        one object a line (gctrace schema)\n"
		"                            folded      one stack a line, weighted in microseconds\n"
		"                            flamegraph  an interactive SVG: time paused by stack\n"
		"  -o, --output OUTPUT       write there; - is stdout\n"
		"      --min-duration TIME   leave shorter pauses out: 1ms, 50us\n"
		"      --min-generation N    leave collections of younger generations out\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                this text\n",
	.run = run,
};
