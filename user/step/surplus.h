/* Where steps end that are followed by something else. */
#pragma once

#include "step_priv.h"

/*
 * Fills *ret with the end of each step but the last; *ret_let_go: how many of them were followed by
 * a time in which the signal was let go. 0 or -ENOMEM.
 */
int surplus_ends(struct study *study, const struct choice *choice, uint64_t *ret,
	size_t *ret_let_go);

/* Whether the signal that marks step @i was let go for a while before the next one's mark. */
bool surplus_let_go(const struct study *study, const struct strand *strand, const indices *at,
	size_t i);

/* How long a step around step @i is; 0: there is no whole one. */
uint64_t surplus_typical(const struct choice *choice, size_t i);
