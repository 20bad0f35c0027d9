/* Frames, call stacks and a runtime's own words as JSON has them. */
#pragma once

#include <stdio.h>

#include "room.h"
#include "stack_table.h"

/* The key @key with stack @node as an array, innermost first; null without one. @room: as json_pause() has it. */
void json_stack(FILE *out, const char *key, const struct stack_table *stacks, uint32_t node,
	struct report_room *room);
/* The same without the key; and frame @frame as an object, or null. */
void json_stack_value(FILE *out, const struct stack_table *stacks, uint32_t node,
	struct report_room *room);
void json_frame_value(FILE *out, const struct stack_table *stacks, uint32_t frame);

/* The key @key with string @id, the name of an operation, a cause or a phase, cut beyond the length of real ones. */
void json_word(FILE *out, const char *key, const struct stack_table *stacks, uint32_t id);
