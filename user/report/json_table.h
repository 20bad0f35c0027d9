/* Tables of a report in; members of the summary's JSON, and records, out. */
#pragma once

#include <stdio.h>

#include "model.h"
#include "stack_table.h"

/* ,"generations":[{…},…],… of all tables that have a view for JSON and are no records. */
void json_tables(FILE *out, const struct stack_table *stacks, const struct model *model);
/* A line for each row of the tables that are records. */
void json_records(FILE *out, const struct stack_table *stacks, const struct model *model);
