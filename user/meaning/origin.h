/* A frame of the stack table in; whose code it is out. */
#pragma once

#include <stdbool.h>

#include "stack_table.h"

/* Whose code a frame is. */
enum origin {
	ORIGIN_USER,
	ORIGIN_FRAMEWORK, /* a training library, or one that such a library is built on */
	ORIGIN_RUNTIME, /* the language's own, and what is installed with it; native code; a mark */
};

/* By the rules of the runtime whose language it is. The rules: docs/steps.md, "Triggers". */
enum origin frame_origin(const struct stack_table *stacks, uint32_t frame);

/* Whether the names of such functions begin with packages, so that their ends say most: "org.example.Trainer.step". */
bool frame_has_packages(const struct frame *frame);
