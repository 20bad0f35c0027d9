/* Processes that run Julia, and what is known of their code. In: a pid. Out: their stacks, named. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "julia_stack.h"
#include "julia_wire.h"
#include "vec.h"

struct julia_process {
	pid_t pid;
	struct julia_stacks *stacks;
};

/* A stack whose pause has not come yet. */
struct waiting_stack {
	uint32_t tid, node;
	uint32_t generation; /* of the table */
};

struct julia_processes {
	bool numbered; /* see julia_stacks_new() */
	VEC(struct julia_process) list;
	VEC(struct waiting_stack) waiting;
	uint64_t unnamed; /* frames of code that nothing named */
};

void julia_processes_release(struct julia_processes *processes);

/* That of @pid, new if need be; NULL: memory is out. Valid until the next call. */
struct julia_process *julia_process(struct julia_processes *processes, pid_t pid);
/* The program that @pid was has ended. */
void julia_process_over(struct julia_processes *processes, pid_t pid);

/*
 * capture_ops.find_step: where functions called @name were compiled in @pid, as far as was not told of before. Nothing
 * for a process that julia_process() was not asked for.
 */
struct trace;
void julia_process_find(struct julia_processes *processes, struct trace *trace, pid_t pid,
	const char *name);

/*
 * A gc_julia_stack record: its stack is interned, and kept for the pause that comes next of its thread. 0, or -EBADMSG:
 * it makes no sense.
 */
int julia_process_stack(struct julia_processes *processes, const void *bytes, size_t size,
	struct stack_table *table);
/* The stack of the pause of @header; STACK_NONE: it has none. */
uint32_t julia_process_take(struct julia_processes *processes, const struct gc_header *header,
	const struct stack_table *table);
