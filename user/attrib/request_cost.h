/* What pauses stopped of the requests of servers. In: requests, pauses. Out: figures for each process that serves. */
#pragma once

#include "attrib.h"
#include "requests.h"

/*
 * Fills attribution->requests with the pauses of @next, from the first on; none at a runtime's exit, or of an interpreter
 * that stops no other; and attribution->requests_untold. 0 or -errno with a sentence; what @next returned passes
 * through, after a damaged row with what came before.
 */
int request_cost_find(struct attribution *attribution, const struct requests *requests,
	attrib_next_fn next, void *source, struct err *err);

/* Whether pauses stopped hardly any request: a server may be paused where its loop, if it has one, is not. @attribution may be NULL. */
bool request_costs_harmless(const struct attribution *attribution);
