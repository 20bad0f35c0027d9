/* What the files of this folder share: what reports have of HotSpot alone. */
#pragma once

#include <stdio.h>

#include "hotspot_meaning.h"
#include "reporting.h"

void hotspot_tables(struct model *model, const struct report_input *input,
	const struct summary_kind *kind);
void hotspot_json(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct pause *pause, struct report_room *room);
