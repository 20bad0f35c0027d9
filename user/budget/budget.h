/*
 * Budgets: "pause.p99<20ms". In: text, a summary of pauses, an attribution. Out: kept, broken or
 * refused, each with a sentence.
 */
#pragma once

#include <stdint.h>

#include "attrib.h"

struct budget_metric;

struct budget {
	char text[96]; /* as typed */
	const struct budget_metric *metric;
	bool at_least; /* > and >=: the limit is a lower bound */
	bool or_equal; /* <= and >= */
	double limit;  /* ns for times, 0 … 1 for shares, otherwise a count */
};

enum budget_outcome {
	BUDGET_KEPT,
	BUDGET_BROKEN,
	BUDGET_REFUSED, /* it could not be judged, which is never a pass */
};

struct budget_result {
	enum budget_outcome outcome;
	bool known;
	bool untold; /* refused because the recording, complete as it may be, cannot tell what was lost, or a GPU did */
	double value;	     /* in the limit's unit, if known */
	char value_text[32]; /* "23.1 ms" */
	char why[512];	     /* a sentence: what breached it and where, or why it was refused */
	char basis[256];     /* what the value covers, where its name does not say it all; or "" */
};

/*
 * "metric<limit", also <=, > and >=, blanks allowed; a unit the metric does not take, or an unknown
 * name, is -EINVAL with a sentence that suggests the nearest.
 */
int budget_parse(const char *text, struct budget *ret, struct err *err);

/*
 * Judges one budget; of several processes the worst decides. A budget on steps is refused unless
 * all steps are marked, with confidence; one on what was lost, unless that can be told of all. 0 or -ENOMEM.
 */
int budget_judge(const struct budget *budget, const struct attribution *attribution,
	struct budget_result *ret);

/* The names and meanings of all metrics, one per line, for --help and the man page. Static. */
const char *budget_metrics(void);
