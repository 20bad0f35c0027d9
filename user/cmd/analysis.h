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
	struct attribution attribution;
	struct advices advices;
	bool gc_only;	   /* safepoints without a collection are passed over */
	uint64_t left_out; /* of them, since the pauses were last rewound */
};

/* How much of it is wanted. */
enum analysis_depth {
	ANALYSIS_NONE,	/* the recording alone: pictures of stacks */
	ANALYSIS_COSTS, /* steps and what pauses cost them */
	ANALYSIS_ADVICE,
};

/*
 * Opens the recording at @path ("-": on stdin), reads it as @reading says (NULL: as though without options) and computes.
 * Without its step, steps are what was asked for when it was recorded, else automatic; gc_only: as though
 * safepoints without a collection were not in it. The input's pauses are read through @analysis, which must
 * stay where it is. 0 or -errno with a sentence. Released in every case by analysis_close().
 */
int analysis_open(struct analysis *analysis, const char *path, const struct reading *reading,
	enum analysis_depth depth, struct err *err);

/* The same of a recording that is open; @reader is the analysis's in every case. */
int analysis_of(struct analysis *analysis, struct store_reader *reader,
	const struct reading *reading, enum analysis_depth depth, struct err *err);
void analysis_close(struct analysis *analysis);

/* What a format needs, pauses from the first on. 0 or -errno with a sentence. */
int analysis_input(struct analysis *analysis, const struct pause_filter *filter, const char *title,
	struct report_input *ret, struct err *err);

/*
 * Whether a verdict may rest on the recording: EXIT_OK, EXIT_BLIND when nothing was traced, EXIT_INCOMPLETE
 * when something is known to be missing; then with a sentence.
 */
int analysis_status(const struct analysis *analysis, struct err *err);
