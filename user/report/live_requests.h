/* The requests of servers in a session that goes on. In: marks as they come. Out: those answered since the last line. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "pause.h"
#include "u64map.h"

#define LIVE_OPEN 65536 /* requests under way that are kept; with more, none of them is known */

struct live_requests {
	struct u64map open; /* process << 32 | connection → when it began */
	VEC(struct live_server {
		uint32_t process;
		VEC(uint64_t) durations; /* since the last line */
	})
	servers;
	bool seen; /* there was a request */
};

/* Whether the marks of @signal are of requests. */
bool live_requests_has(const struct signal *signal);
/* Takes @mark if it is of a request, and whether it is. Requests are paired as in the report. */
bool live_requests_mark(struct live_requests *requests, const struct recording *recording,
	const struct mark *mark);
void live_requests_release(struct live_requests *requests);

/* Whether some were answered since the last line. */
bool live_requests_any(const struct live_requests *requests);
/* A line for each of the servers that answered most. */
void live_requests_tell(struct live_requests *requests, FILE *out,
	const struct recording *recording, uint64_t time_ns);
