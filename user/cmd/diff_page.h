/* gctrace diff -f html: a comparison, and the recordings that it was made of, in; a page out. */
#pragma once

#include "html_diff.h"
#include "reading.h"

/*
 * Fills in the inputs of @diff from its files, which are opened again for their stacks, and writes the page. 0 or -errno
 * with a sentence.
 */
int diff_page_write(struct html_diff *diff, const struct reading *reading, FILE *out,
	struct err *err);
