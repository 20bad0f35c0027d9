/* The flame graph as SVG. In: the pauses of a report. Out: a document that stands alone, or in a page of its own. */
#pragma once

#include <stdio.h>

#include "flame_tree.h"
#include "report.h"

extern const struct flame_limits flame_svg_limits; /* of a picture that stands alone */

/* Reads all pauses of @input from the start. 0 or -errno with a sentence. */
int flame_svg_write(const struct report_input *input, const struct flame_limits *limits, FILE *out,
	struct err *err);
