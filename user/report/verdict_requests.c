/* What pauses stopped of a server's requests → a sentence of the answer. */
#include <inttypes.h>
#include <stdio.h>

#include "cleanup.h"
#include "parse.h"
#include "verdict.h"

const char *verdict_requests(const struct attribution *attribution, char *text, size_t size)
{
	const struct request_cost *cost =
		attribution && attribution->requests.count ? attribution->requests.items : NULL;
	const char *name;

	*text = '\0';
	if (!cost)
		return text;
	name = VERDICT_NAME(recording_process(attribution->recording, cost->process));
	if (!cost->stopped) {
		snprintf(text, size, " Pauses stopped none of the %" PRIu64 " request%s to %s.",
			cost->requests, cost->requests == 1 ? "" : "s", name);
		return text;
	}
	snprintf(text, size,
		" Pauses stopped %" PRIu64 " of %" PRIu64
		" request%s to %s (%s), for %s on average and %s at most: the 99th percentile is %s, "
		"and %s without that.",
		cost->stopped, cost->requests, cost->requests == 1 ? "" : "s", name,
		VERDICT_SHARE(cost->stopped, cost->requests),
		FORMAT_DURATION(cost->overlap_ns / cost->stopped),
		FORMAT_DURATION(cost->overlap_max_ns), FORMAT_DURATION(cost->with.p99_ns),
		FORMAT_DURATION(cost->without.p99_ns));
	return text;
}
