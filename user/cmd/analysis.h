/*
 * A recording with everything that can be computed from it, as report, check, diff and the end of a
 * live session need it.
 */
#pragma once

#include "advice.h"
#include "attrib.h"
#include "reading.h"
#include "report.h"
#include "step.h"
#include "store.h"
#include "summary.h"

struct analysis {
	struct store_reader *reader;
	struct step_marks marks;
	struct steps steps;
	struct gpu_timeline gpu;
	uint64_t gpu_fits; /* bit i: reading.gpu[i] is of this recording */
	struct attribution attribution;
	struct advices advices;
	bool gc_only;	   /* skip pauses without a collection */
	uint64_t left_out; /* how many were skipped since the pauses were last rewound */
};

/* How much of it is computed. */
enum analysis_depth {
	ANALYSIS_NONE,	/* the recording alone: pictures of stacks */
	ANALYSIS_COSTS, /* steps and what pauses cost them */
	ANALYSIS_ADVICE,
};

/*
 * Opens the recording at @path ("-": on stdin), reads it as @reading says (NULL: as without
 * options) and computes. Unless @reading has a step, steps are what was asked for when it was
 * recorded, else automatic; gc_only: as if pauses without a collection were not in it. The
 * input's pauses are read through @analysis, which must not move. 0 or -errno with a sentence.
 * Released in every case by analysis_close().
 */
int analysis_open(struct analysis *analysis, const char *path, const struct reading *reading,
	enum analysis_depth depth, struct err *err);

/* The same for a recording that is open; @reader belongs to the analysis in every case. */
int analysis_of(struct analysis *analysis, struct store_reader *reader,
	const struct reading *reading, enum analysis_depth depth, struct err *err);
void analysis_close(struct analysis *analysis);

/* Fills in what a format needs, with pauses from the first on. 0 or -errno with a sentence. */
int analysis_input(struct analysis *analysis, const struct pause_filter *filter, const char *title,
	struct report_input *ret, struct err *err);

/*
 * Whether the recording supports a verdict: EXIT_OK, EXIT_BLIND when nothing was traced,
 * EXIT_INCOMPLETE when something is known to be missing; the last two with a sentence.
 */
int analysis_status(const struct analysis *analysis, struct err *err);
