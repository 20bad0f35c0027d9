/*
 * The requests of servers. In: the marks of a recording. Out: when each request began and ended. They may overlap, which
 * steps do not.
 */
#pragma once

#include "step.h"

/* From when its first bytes had been read until the first of its response were to be written. */
struct request {
	uint32_t process; /* struct process.id */
	uint64_t start_ns, end_ns;
};

/* What of a process's requests is not among the items. */
struct request_rest {
	uint32_t process;
	uint64_t unanswered;   /* that have no response */
	uint64_t untold;       /* responses of which it is not certain which requests they answer */
	bool encrypted, http2; /* a connection's requests cannot be read */
};

struct requests {
	VEC(struct request) items; /* by process, then by start */
	VEC(struct request_rest) rests;
};

/*
 * Pairs them by connection. One on which request and response do not take turns is left out as a whole: its client does not
 * wait for the one before (pipelining), or what looks like a request was none. 0 or -ENOMEM; the caller releases *ret in any
 * case.
 */
int requests_find(const struct recording *recording, const struct step_marks *marks,
	struct requests *ret);
/* Of a process; NULL: there is none. */
const struct request_rest *requests_rest(const struct requests *requests, uint32_t process);
void requests_release(struct requests *requests);
