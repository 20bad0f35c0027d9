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

struct requests {
	VEC(struct request) items; /* by process, then by start */
	VEC(struct unanswered {
		uint64_t count;
		uint32_t process;
	})
	unanswered; /* that have no response */
};

/* Pairs them by connection. 0 or -ENOMEM; the caller releases *ret in any case. */
int requests_find(const struct recording *recording, const struct step_marks *marks,
	struct requests *ret);
void requests_release(struct requests *requests);
