/* Tables of a report in; members of the summary's JSON out. */
#pragma once

#include <stdio.h>

#include "model.h"
#include "stack_table.h"

/* ,"generations":[{…},…],… of all tables that have a view for JSON. */
void json_tables(FILE *out, const struct stack_table *stacks, const struct model *model);
