/* gctrace diff -f html. In: a comparison, and a recording of each side. Out: one page that needs no network. */
#pragma once

#include <stdio.h>

#include "compare.h"
#include "report.h"

struct html_diff {
	const struct comparisons *comparisons;
	const char *const *files; /* names: those before the change, then those after */
	/* How it is known what steps lost, as describe_known_all() says it: before, after; NULL: it is not. */
	const char *known[2];
	/* The first recording of each side, for its flame graph; NULL: it cannot be read again. */
	const struct report_input *inputs[2];
	const char *missing; /* why figures may be too low, a sentence; NULL: nothing is */
};

/* 0 or -errno with a sentence. */
int html_diff_write(const struct html_diff *diff, FILE *out, struct err *err);
