/* Pauses one by one in; the text report around text_summary() out. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "model_tables.h"
#include "report.h"
#include "terminal.h"
#include "text.h"

/* 0 or -ENOMEM. */
static int put_summary(FILE *out, const struct report_input *input, struct summary *summary)
{
	_cleanup_(model_release) struct model model = {0};
	int r = model_build(&model, input, summary);

	if (!r)
		text_summary(out, input, summary, &model);
	return r;
}

static int write_text(const struct report_input *input, FILE *out, struct err *err)
{
	FILE *shown = terminal_open(out);
	struct summary summary = {0};
	struct pause pause;
	int r;

	while ((r = input->next(input->source, &pause, err)) > 0 &&
		!(r = summary_add(&summary, &pause)))
		;
	if (r == -ENOMEM ||
		put_summary(shown, input,
			&summary)) /* of a damaged file, what could be read is reported */
		r = err_set(err, ENOMEM, "out of memory while adding up the pauses");
	terminal_close(shown, out);
	summary_release(&summary);
	if (!r && (fflush(out) || ferror(out)))
		r = err_set(err, errno ? errno : EIO, "cannot write the report: %s",
			strerror(errno));
	return r;
}

const struct report_ops report_text = {
	.name = "text",
	.summary = "verdict, steps, advice, processes, tables, histogram, longest pauses",
	.steps = true,
	.write = write_text,
};
