/* Tables of a report in; aligned columns out. */
#pragma once

#include <stdio.h>

#include "model.h"
#include "stack_table.h"

/* Nothing for a table without rows and notes, or without a view for text. */
void text_table(FILE *out, const struct stack_table *stacks, const struct model_table *table);
