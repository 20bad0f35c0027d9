/* The options of the capturing verbs. */
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cleanup.h"
#include "log.h"
#include "parse.h"
#include "reading.h"
#include "signal_table.h"

enum {
	OPT_MIN_DURATION = 256,
	OPT_MIN_GENERATION,
	OPT_NO_CHILDREN,
	OPT_JSON,
	OPT_BUFFER,
	OPT_STACK_MIN,
	OPT_WAIT,
	OPT_LATE_MIN,
	OPT_BUDGET,
	OPT_JUNIT,
	OPT_MAX_SIZE,
	OPT_VARIANTS
};

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"duration", required_argument, NULL, 'd'},
	{"output", required_argument, NULL, 'o'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"min-duration", required_argument, NULL, OPT_MIN_DURATION},
	{"min-generation", required_argument, NULL, OPT_MIN_GENERATION},
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN},
	{"json", no_argument, NULL, OPT_JSON},
	{"buffer", required_argument, NULL, OPT_BUFFER},
	{"stack-min", required_argument, NULL, OPT_STACK_MIN},
	{"wait", no_argument, NULL, OPT_WAIT},
	{"gc-only", no_argument, NULL, OPT_GC_ONLY},
	{"late-min", required_argument, NULL, OPT_LATE_MIN},
	{"step", required_argument, NULL, OPT_STEP},
	{"budget", required_argument, NULL, OPT_BUDGET},
	{"junit", required_argument, NULL, OPT_JUNIT},
	{"max-size", required_argument, NULL, OPT_MAX_SIZE},
	{"variants", no_argument, NULL, OPT_VARIANTS},
	{"gpu", required_argument, NULL, OPT_GPU},
	{},
};

static int add_pid(const char *text, struct capture_options *options, struct err *err)
{
	long pid;
	int r = parse_int(text, "a process id", 1, 1 << 22, &pid, err);
	pid_t *slot;

	if (r)
		return r;
	slot = vec_add(&options->pids);
	if (slot)
		*slot = (pid_t)pid;
	return 0;
}

int capture_take_step(const char *text, struct capture_options *options, struct err *err)
{
	int r = step_spec_parse(text, &options->step, err);

	if (r)
		return r;
	options->trace.step_asked = text;
	options->trace.steps = options->step.way != STEP_NONE;
	if (options->step.way != STEP_NAMED || signal_table_has(options->step.name))
		return 0;
	options->trace.step_wish = &options->wish;
	return step_spec_wish(&options->step, &options->wish, err);
}

static int take_gpu(const char *text, struct capture_options *options, struct err *err)
{
	static const char *const words[] = {[TRACE_GPU_OFF] = "off",
		[TRACE_GPU_AUTO] = "auto",
		[TRACE_GPU_INFER] = "infer",
		[TRACE_GPU_MEASURE] = "measure"};

	options->inject = !strcmp(text, "inject");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(options->inject ? "measure" : text, words[i]))
			continue;
		options->trace.gpu = (enum trace_gpu)i;
		options->gpu_asked = i > TRACE_GPU_AUTO;
		return 0;
	}
	return err_set(err, EINVAL,
		"--gpu is \"auto\", \"off\", \"infer\", \"measure\" or \"inject\", not \"%s\"",
		text);
}

/* 0, or -EINVAL with a sentence. */
static int take_option(int option, const char *value, struct capture_options *options,
	struct err *err)
{
	switch (option) {
	case 'p':
		return add_pid(value, options, err);
	case 'd':
		return parse_duration(value, &options->duration_ns, err);
	case 'o':
		if (!strcmp(value, "-"))
			return err_set(err, EINVAL,
				"a recording cannot be written to a stream: name a file with -o");
		options->output = value;
		return 0;
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case OPT_MIN_DURATION:
		options->min_duration_set = true;
		return parse_duration(value, &options->filter.min_duration_ns, err);
	case OPT_MIN_GENERATION:
		return parse_int(value, "a generation", 0, 2, &options->filter.min_generation, err);
	case OPT_NO_CHILDREN:
		options->trace.children = false;
		return 0;
	case OPT_JSON:
		options->json = true;
		return 0;
	case OPT_BUFFER:
		return parse_size(value, &options->trace.buffer_bytes, err);
	case OPT_STACK_MIN:
		return parse_duration(value, &options->trace.min_stack_ns, err);
	case OPT_VARIANTS:
		options->trace.variants = true;
		return 0;
	case OPT_GPU:
		return take_gpu(value, options, err);
	case OPT_WAIT:
		options->wait = true;
		return 0;
	case OPT_GC_ONLY:
		options->filter.gc_only = true;
		return 0;
	case OPT_LATE_MIN:
		return parse_duration(value, &options->trace.late_ns, err);
	case OPT_STEP:
		return capture_take_step(value, options, err);
	case OPT_BUDGET:
		return budgets_add(&options->budgets, value, err);
	case OPT_MAX_SIZE:
		options->max_size = value;
		return parse_size(value, &options->max_bytes, err);
	case OPT_JUNIT:
		options->budgets.junit = value;
		return 0;
	}
	return -1;
}

/* An empty variable counts as unset. */
static const char *env_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

void capture_options_init(struct capture_options *options)
{
	const char *marks = getenv("GCTRACE_MARKS"); /* for tests, as below */

	*options = (struct capture_options){
		.max_bytes = 1ull << 30,
		.max_size = "1G",
		.trace =
			{
				.children = true,
				.steps = true,
				.gpu = TRACE_GPU_AUTO,
				.min_stack_ns = TRACE_DEFAULT_STACK_NS,
				.buffer_bytes = TRACE_DEFAULT_BUFFER_BYTES,
				.late_ns = TRACE_DEFAULT_LATE_NS,
				.marks_most =
					marks ? strtoull(marks, NULL, 10) : TRACE_DEFAULT_MARKS,
				/* For tests: see CONTRIBUTING.md. */
				.only_tier = env_text("GCTRACE_TIER"),
			},
	};
}

struct taking {
	const struct command *command;
	struct capture_options *options;
};

static int take(int option, void *arg)
{
	const struct taking *taking = arg;
	struct err err = {};

	return take_option(option, optarg, taking->options, &err)
		       ? cmd_usage(taking->command, "%s", err.text)
		       : EXIT_OK;
}

int capture_parse(const struct command *command, int argc, char **argv, struct capture_options *ret,
	int *ret_index)
{
	struct taking taking = {command, ret};
	int status;

	capture_options_init(ret);
	status = cmd_options(command, argc, argv, "+p:d:o:vh", long_options, take, &taking);
	*ret_index = optind;
	return status;
}

void capture_options_release(struct capture_options *options)
{
	vec_free(&options->pids);
	budgets_release(&options->budgets);
}
