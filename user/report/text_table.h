/* Tables of a report in; aligned columns out. */
#pragma once

#include <stdio.h>

#include "model.h"
#include "stack_table.h"

/* Nothing for a table without rows and notes, or without a view for text. Its title comes after an empty line. */
void text_table(FILE *out, const struct stack_table *stacks, const struct model_table *table);
void text_tables(FILE *out, const struct stack_table *stacks, const struct model *model);
/* All tables without those lines and titles. */
void text_bodies(FILE *out, const struct stack_table *stacks, const struct model *model);
