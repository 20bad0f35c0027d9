/*
 * Julia's stacks. In: addresses, as the kernel walked frame pointers, and the memory of their process. Out:
 * nodes of the stack table, with a frame for each function, inlined ones too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack_table.h"

struct julia_stacks; /* what is known of one process's code */
struct jit_code;

/* @numbered: functions are told apart by what they were compiled for: "train_step!#40". NULL when memory is out. */
struct julia_stacks *julia_stacks_new(pid_t pid, bool numbered);
void julia_stacks_free(struct julia_stacks *stacks);

/* The code that the process compiled while it ran, which belongs to @stacks. */
struct jit_code *julia_stacks_jit(struct julia_stacks *stacks);

/*
 * Interns a stack: where its thread was, then @count - 1 return addresses, outwards; @cut: there are more. JIT code that cannot be named,
 * or not yet, is "[julia jit] 0x…"; a stack that leaves all code ends in "[unreadable]",
 * one that was cut in "[truncated]". Returns the innermost node; STACK_NONE without frames.
 */
uint32_t julia_stack(struct julia_stacks *stacks, const uint64_t *addresses, size_t count, bool cut,
	struct stack_table *table);
