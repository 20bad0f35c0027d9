/* A frame of the stack table in; whose code it is out. */
#pragma once

#include "stack_table.h"

/* Whose code a frame is. */
enum origin {
	ORIGIN_USER,
	ORIGIN_FRAMEWORK, /* a library that trains, or that such a one is built on */
	ORIGIN_RUNTIME,	  /* the language's own; native; of Python, all that is installed; a mark */
};

/* By the rules of the runtime whose language it is. The rules: docs/steps.md, "Triggers". */
enum origin frame_origin(const struct stack_table *stacks, uint32_t frame);
