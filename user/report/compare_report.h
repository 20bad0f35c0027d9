/* A comparison of two recordings in; a table or JSON records out. */
#pragma once

#include <stdio.h>

#include "compare.h"

void compare_report_text(FILE *out, const struct comparisons *comparisons, const char *before,
	const char *after);
/* One "comparison" record a line, and a "diff" record with the verdict last. */
void compare_report_json(FILE *out, const struct comparisons *comparisons, const char *before,
	const char *after);
