/* A report's figures in; its tables out, in the order in which text and page show them. */
#include <errno.h>

#include "model_tables.h"
#include "verdict.h"

int model_build(struct model *model, const struct report_input *input, struct summary *summary)
{
	model->traced_ns = verdict_traced_ns(input->recording, summary);
	model_gpu(model, input);
	model_launches(model, input);
	model_requests(model, input);
	model_pauses(model, input, summary);
	model_kinds(model, input, summary);
	model_waits(model, input);
	return model->failed ? -ENOMEM : 0;
}
