/* The longest pauses, each with its stack, as text. */
#pragma once

#include <stdio.h>

#include "stack_table.h"
#include "summary.h"

void text_worst(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct summary *summary);
