/*
 * Sentences put together piece by piece, for the lines of a verdict. For verdict_*.c only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stack_table.h"

/* Text that grows, and is cut where it no longer fits. */
struct prose {
	char *text;
	size_t size, used;
};

void say(struct prose *prose, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* @len bytes from another process, made safe to show. */
void say_shown(struct prose *prose, const char *bytes, size_t len, size_t columns);
/* "Trainer.step (train.py:41)" */
void say_frame(struct prose *prose, const struct stack_table *stacks, uint32_t frame);
/* Gives what was said from @at on a capital, if it begins with a letter of ASCII. */
void say_capital(struct prose *prose, size_t at);
