/* Frames and call stacks as text. */
#pragma once

#include <stdio.h>

#include "stack_table.h"

/*
 * "function  file:line" of frame @index, the function padded to @width columns, both cut where very
 * long.
 */
void text_frame(FILE *out, const struct stack_table *stacks, uint32_t index, int width);

/* @width, or more if the name of frame @index's function needs it. */
int text_frame_widen(const struct stack_table *stacks, uint32_t index, int width);

/* The same in little room, for the live view: "Trainer.step:41" of "org.example.Trainer.step". */
void text_frame_short(FILE *out, const struct stack_table *stacks, uint32_t index);

/* A stack's frames, innermost first, a line each; those too deep to be of use are counted. */
void text_stack(FILE *out, const struct stack_table *stacks, uint32_t node);
