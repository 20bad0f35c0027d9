/* The once-a-second lines of the live view: steps, requests, and pauses that got no line of their own. */
#pragma once

#include "live_requests.h"
#include "live_steps.h"

struct live_sums {
	struct live_lines lines; /* which pauses get a line */
	struct live_steps steps;
	struct live_requests requests;
	uint64_t start_ns; /* when it was first asked what there is to say */
	uint64_t last_ns;  /* when it last was said */
	bool hinted;	   /* it was said that steps are not told yet */
	bool full;	   /* it was said that no more marks are kept */
};

/* Takes a mark, of a step or a request. */
void live_sums_mark(struct live_sums *sums, FILE *out, const struct recording *recording,
	const struct mark *mark);
void live_sums_release(struct live_sums *sums);

/*
 * Says what there is to say since it last did, if it is due at @now_ns: the time of an event, or the clock's.
 * UINT64_MAX: the session is over.
 */
void live_sums_tell(struct live_sums *sums, FILE *out, const struct recording *recording,
	uint64_t now_ns);
