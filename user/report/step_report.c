/* Candidates for the signal that marks steps, best first, for users who wonder, or want to choose. */
#include "cleanup.h"
#include "json_table.h"
#include "model_signals.h"
#include "step_report.h"
#include "text_table.h"

void step_report_text(FILE *out, const struct recording *recording, const struct steps *steps)
{
	_cleanup_(model_release) struct model model = {0};

	model_signals(&model, recording, steps);
	text_bodies(out, NULL, &model);
}

void step_report_json(FILE *out, const struct recording *recording, const struct steps *steps)
{
	_cleanup_(model_release) struct model model = {0};

	model_signals(&model, recording, steps);
	json_records(out, NULL, &model);
}
