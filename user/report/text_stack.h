/* The parts of the text report that need call stacks. */
#pragma once

#include <stdio.h>

#include "pause.h"
#include "stack_table.h"
#include "summary.h"

/* The longest pauses, each with its stack. */
void text_worst(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct summary *summary);

/* Which lines triggered the most pause time. */
void text_triggers(FILE *out, const struct stack_table *stacks, const struct summary *summary);

/*
 * "function  file:line" of frame @index, the function padded to @width columns, both cut where very
 * long.
 */
void text_frame(FILE *out, const struct stack_table *stacks, uint32_t index, int width);

/* The same in little room, for the live view: "Trainer.step:41" of Java's "org.example.Trainer.step". */
void text_frame_short(FILE *out, const struct stack_table *stacks, uint32_t index);

/* A stack's frames, innermost first, a line each; what is deeper than is of use is counted. */
void text_stack(FILE *out, const struct stack_table *stacks, uint32_t node);
