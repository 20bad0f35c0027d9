/* The facts of a pause that only its runtime has, as JSON. */
#pragma once

#include <stdio.h>

#include "pause.h"
#include "room.h"
#include "stack_table.h"

/* The keys class, gc, and one for each fact of @pause's runtime. @room: as json_pause() has it. */
void json_facts(FILE *out, const struct stack_table *stacks, const struct pause *pause,
	struct report_room *room);

/* Of a runtime whose classes are generations: one key for each time that is a fact and is known of @pause. */
void json_known_times(FILE *out, const struct pause *pause);
