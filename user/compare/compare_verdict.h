/*
 * Compared figures in, the paragraph that says whether the change helped out. Not for other rooms.
 */
#pragma once

#include "compare.h"

void compare_verdict(struct comparisons *comparisons, const struct attribution *before,
	const struct attribution *after);
