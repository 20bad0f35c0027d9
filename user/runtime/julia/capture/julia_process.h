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
	uint32_t type, pid, tid; /* of its record */
	uint32_t node;
	uint32_t generation; /* of the table */
	uint64_t time_ns;
};

struct julia_processes {
	bool numbered; /* see julia_stacks_new() */
	VEC(struct julia_process) list;
	VEC(struct waiting_stack) waiting;
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
 * A gc_julia_stack record: its stack is interned, and kept for the pause that comes next of its thread, or of another
 * that it was late for; in place of one that no pause came for. 0, or -EBADMSG: it makes no sense.
 */
int julia_process_stack(struct julia_processes *processes, const void *bytes, size_t size,
	struct stack_table *table);
/* The stack of @type of thread @tid that was sent at @time_ns; STACK_NONE: there is none. */
struct julia_moment {
	uint32_t type, pid, tid;
	uint64_t time_ns;
};
uint32_t julia_process_take(struct julia_processes *processes, const struct julia_moment *moment,
	const struct stack_table *table);
