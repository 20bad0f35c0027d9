/* What can be budgeted. For this room and the runtimes' entries in meaning/. */
#pragma once

#include "attrib.h"

enum budget_unit { BUDGET_TIME, BUDGET_SHARE, BUDGET_COUNT };

/* A value and where it comes from. */
struct budget_measure {
	double value;		   /* in ns, 0 … 1, or a count; of what was lost, maybe below 0 */
	double low, high;	   /* its 95 % interval; both 0: it has none */
	const struct pause *pause; /* that caused it, or NULL */
	uint32_t step;		   /* that caused it, or ATTRIB_NONE */
	uint32_t process;	   /* the process it belongs to, or 0 */
	const struct stall *stall; /* that caused it, or NULL */
	/* Between which ends it lies for certain, however it would be found, where parts of it are not known. */
	bool bounded;
	double least, most;
	char missing[128]; /* why it cannot be known, as the end of "NAME needs …"; "": it is */
	bool untold; /* if it cannot: the recording cannot tell, though nothing was blind to what it tells */
	char basis
		[256]; /* what the value covers, where it is neither time traced nor of steps; or "" */
	bool some;     /* what is missing is known for some pauses, but not for all */
};

struct budget_metric {
	const char *name, *meaning;
	enum budget_unit unit;
	bool steps; /* belongs to one track; otherwise @track is not used */
	double q;   /* for those that are a quantile */
	/* Sets *ret, with whatever else is known about the value. 0 or -ENOMEM. */
	int (*measure)(const struct attribution *attribution, size_t track,
		const struct budget_metric *metric, struct budget_measure *ret);
	const char *fact;   /* of budget_fact(): its key */
	const char *values; /* and what its values are called: "times to safepoint" */
	/* Of what was lost: the name of the same figure of what was stopped, which can always be told. */
	const char *stopped;
};

/* The metrics in the order in which they are listed; NULL: there are no more. */
const struct budget_metric *budget_metric_at(size_t at);

/* By its name; NULL: there is none. */
const struct budget_metric *budget_metric_find(const char *name);

/* A quantile of a time that is a fact whose figures attribution keeps. */
int budget_fact(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);

/* For full collections of runtimes that have another name for them. */
int budget_full_count(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
int budget_full_max(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
int budget_full_total(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret);
