/*
 * Where pauses were triggered, in one line or, where that has less than half of them, below a frame that they have in common.
 */
#pragma once

#include <stdint.h>

#include "stack_table.h"

struct where {
	uint32_t line;	   /* frame: the user's line that has most; 0: no stack was taken */
	double line_share; /* its part of all */
	uint32_t
		below; /* frame of the user's own code, as deep as can be, which WHERE_COMMON of it passes through; 0: none */
	double below_share; /* of all */
	double none_share;  /* what part of all has no stack */
};

#define WHERE_COMMON 0.9

/* @by_node: the time that belongs to each node of @stacks, to STACK_NONE what has no stack. 0 or -ENOMEM. */
int where_find(const struct stack_table *stacks, const uint64_t *by_node, struct where *ret);
