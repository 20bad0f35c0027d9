/*
 * The tables of a report. In: a recording, its attribution and summary. Out: tables of the model. A new table is a layout
 * and a builder in a model_*.c, and a line in model_build().
 */
#pragma once

#include "model.h"
#include "report.h"
#include "summary.h"

/* All tables of the summary. 0 or -ENOMEM. Sorts what is in @summary. */
int model_build(struct model *model, const struct report_input *input, struct summary *summary);

/*
 * Every reason why the figures may be too low, with what would have helped. @unread: why not all pauses could be
 * read, or NULL.
 */
void model_missing(struct model *model, const struct recording *recording,
	const struct summary *summary, const char *unread);
/* What would have helped. */
void model_advice(struct model *model, const struct report_input *input);
/* Every process, with the sums of its runtime. */
void model_processes(struct model *model, const struct report_input *input,
	const struct summary *summary);

/* What each line cost the steps: no rows without steps. */
void model_costs(struct model *model, const struct report_input *input);
/* What pauses each line triggered, for a recording without steps: no rows without stacks. */
void model_lines(struct model *model, const struct stack_table *stacks,
	const struct summary *summary);

/* The builders, for model_build(). */
void model_pauses(struct model *model, const struct report_input *input,
	const struct summary *summary);
void model_kinds(struct model *model, const struct report_input *input, struct summary *summary);
void model_waits(struct model *model, const struct report_input *input);
/* None without requests; JSON has what is not told of them, too. */
void model_requests(struct model *model, const struct report_input *input);
/* None without a timeline of GPUs; the second without one that is inferred. */
void model_gpu(struct model *model, const struct report_input *input);
void model_launches(struct model *model, const struct report_input *input);

/* Tables that a runtime's own may stand between. The parts of pauses that took @total_ns; @caption: of the page. */
void model_facts(struct model *model, const struct summary_facts *facts, uint64_t total_ns,
	const char *caption);
void model_causes(struct model *model, const struct report_input *input,
	const struct summary_kind *kind);
void model_heaps(struct model *model, const struct report_input *input,
	const struct summary_kind *kind);
void model_late(struct model *model, const struct report_input *input,
	const struct summary_kind *kind);
