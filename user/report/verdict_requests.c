/* What pauses stopped of a server's requests → a sentence of the answer. */
#include <inttypes.h>
#include <stdio.h>

#include "cleanup.h"
#include "parse.h"
#include "verdict.h"

/* Of the busiest server; as snprintf(). */
static size_t say_stopped(const struct attribution *attribution, char *text, size_t size)
{
	const struct request_cost *cost = attribution->requests.items;
	const char *name = VERDICT_NAME(recording_process(attribution->recording, cost->process));

	if (!cost->stopped)
		return (size_t)snprintf(text, size,
			" Pauses stopped none of the %" PRIu64 " request%s to %s.", cost->requests,
			cost->requests == 1 ? "" : "s", name);
	return (size_t)snprintf(text, size,
		" Pauses stopped %" PRIu64 " of %" PRIu64
		" request%s to %s (%s), for %s on average and %s at most: the 99th percentile is %s, "
		"and %s without that.",
		cost->stopped, cost->requests, cost->requests == 1 ? "" : "s", name,
		VERDICT_SHARE(cost->stopped, cost->requests),
		FORMAT_DURATION(cost->overlap_ns / cost->stopped),
		FORMAT_DURATION(cost->overlap_max_ns), FORMAT_DURATION(cost->with.p99_ns),
		FORMAT_DURATION(cost->without.p99_ns));
}

/* Of the first server whose connections cannot be read, and of the first that answers out of turn. */
static void say_untold(const struct attribution *attribution, char *text, size_t size)
{
	const struct request_untold *shut = NULL, *unsure = NULL;
	size_t shut_count = 0, used = 0;

	*text = '\0';
	for (size_t i = attribution->requests_untold.count; i-- > 0;) {
		const struct request_untold *untold = &attribution->requests_untold.items[i];
		bool is_shut = untold->encrypted || untold->http2;

		shut = is_shut ? untold : shut;
		shut_count += is_shut;
		unsure = untold->responses ? untold : unsure;
	}
	if (shut)
		used = (size_t)snprintf(text, size,
			" Connections to %s %s%s%s: their requests are not told%s.",
			VERDICT_NAME(recording_process(attribution->recording, shut->process)),
			shut->encrypted ? "are encrypted" : "",
			shut->encrypted && shut->http2 ? " or " : "",
			shut->http2 ? "speak HTTP/2" : "",
			shut_count > 1 ? ", nor all those of other servers" : "");
	if (unsure && used < size)
		snprintf(text + used, size - used,
			" %" PRIu64
			" response%s of %s answer%s requests that are not told, since on "
			"their connections not every request was answered before the next.",
			unsure->responses, unsure->responses == 1 ? "" : "s",
			VERDICT_NAME(recording_process(attribution->recording, unsure->process)),
			unsure->responses == 1 ? "s" : "");
}

const char *verdict_requests(const struct attribution *attribution, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	if (attribution && attribution->requests.count)
		used = say_stopped(attribution, text, size);
	if (attribution && used < size)
		say_untold(attribution, text + used, size - used);
	return text;
}
