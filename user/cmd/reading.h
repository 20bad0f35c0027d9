/* Options of every verb that reads a recording. */
#pragma once

#include <getopt.h>

#include "step.h"

#define GPU_FILES_MOST 64

struct reading {
	struct step_spec spec;
	const struct step_spec *step; /* &spec where --step was given, else NULL */
	bool gc_only, help;
	const char *gpu[GPU_FILES_MOST]; /* traces of a profiler, by --gpu */
	size_t gpu_count;
	bool gpu_of_any; /* a trace may be of another of several recordings: one that does not fit is left out */
};

enum { OPT_GC_ONLY = 512, OPT_STEP, OPT_GPU };

/* For the long options of the verb, and READING_SHORTS for the short ones. */
#define READING_OPTIONS                                                                            \
	{"gc-only", no_argument, NULL, OPT_GC_ONLY}, {"step", required_argument, NULL, OPT_STEP},  \
		{"gpu", required_argument, NULL, OPT_GPU}, {"verbose", no_argument, NULL, 'v'},    \
	{                                                                                          \
		"help", no_argument, NULL, 'h'                                                     \
	}
#define READING_SHORTS "vh"

/* Takes one of them, with optarg; @reading must stay where it is. 0 or -EINVAL with a sentence. */
int reading_take(int option, struct reading *reading, struct err *err);
