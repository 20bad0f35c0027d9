/* What can be budgeted. For this room and the runtimes' entries in meaning/. */
#pragma once

#include "attrib.h"

enum budget_unit { BUDGET_TIME, BUDGET_SHARE, BUDGET_COUNT };

/* A value and where it comes from. */
struct budget_measure {
	double value;		   /* ns, 0 … 1, a number */
	const struct pause *pause; /* that made it, or NULL */
	uint32_t step;		   /* that made it, or ATTRIB_NONE */
	uint32_t process;	   /* it is of this one, or 0 */
	const struct stall *stall; /* that made it, or NULL */
	const char *missing; /* why it cannot be known, as the end of "NAME needs …"; NULL: it is */
	bool some;	     /* ->missing is there, but not of all pauses */
};

struct budget_metric {
	const char *name, *meaning;
	enum budget_unit unit;
	bool steps; /* is of one track; else @track is not looked at */
	double q;   /* for those that are a quantile */
	/* Gives what is known beside the value, too. 0 or -ENOMEM. */
	int (*measure)(const struct attribution *attribution, size_t track,
		const struct budget_metric *metric, struct budget_measure *ret);
	const char *fact;   /* of budget_fact(): its key */
	const char *values; /* and what it is called: "times to safepoint" */
};

/* The metrics in the order in which they are listed; NULL: there are no more. */
const struct budget_metric *budget_metric_at(size_t at);

/* A quantile of a time that is a fact whose figures attribution keeps. */
int budget_fact(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);

/* Of full collections, for runtimes that have another name for them. */
int budget_full_count(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
int budget_full_max(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
int budget_full_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
