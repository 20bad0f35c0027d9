/* Of each side the first recording, opened again → the page of their differences. */
#include <errno.h>
#include <string.h>

#include "analysis.h"
#include "diff_page.h"
#include "log.h"

/* One that cannot be read again, as a pipe, has no flame graph. Whether there is one. */
static bool open_side(struct analysis *analysis, const char *path, const struct reading *reading,
	struct report_input *ret)
{
	struct err err = {};
	int r = analysis_open(analysis, path, reading, ANALYSIS_NONE, &err);

	if (!r)
		r = analysis_input(analysis, NULL, NULL, ret, &err);
	if (r)
		log_debug("no flame graph of %s: %s", path, err.text);
	return !r;
}

int diff_page_write(struct html_diff *diff, const struct reading *reading, FILE *out,
	struct err *err)
{
	const char *const paths[] = {diff->files[0], diff->files[diff->comparisons->runs[0]]};
	struct report_input inputs[2] = {};
	struct analysis sides[2];
	int r;

	for (size_t i = 0; i < 2; i++)
		diff->inputs[i] =
			open_side(&sides[i], paths[i], reading, &inputs[i]) ? &inputs[i] : NULL;
	r = html_diff_write(diff, out, err);
	for (size_t i = 0; i < 2; i++)
		analysis_close(&sides[i]);
	return r;
}
