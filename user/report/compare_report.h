/* A comparison of recordings in; a table or JSON records out. */
#pragma once

#include <stdio.h>

#include "compare.h"
#include "model.h"

/* The table of all figures, with its notes, for whichever renderer: the model owns it. */
struct model_table *compare_model(struct model *model, const struct comparisons *comparisons);

/* @files: the recordings' names, those before the change first. */
void compare_report_text(FILE *out, const struct comparisons *comparisons,
	const char *const *files);
/* One "comparison" record a line, and a "diff" record with the verdict last. */
void compare_report_json(FILE *out, const struct comparisons *comparisons,
	const char *const *files);
