/*
 * Who calls for collections, and what that does; what other waits for the collector add up to. In: the
 * stalls of a recording, its pauses, threads and stacks. Out, in struct attribution: one line for
 * each caller, one for each kind of stall. Definitions: docs/steps.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pause.h"
#include "stack_table.h"

/*
 * All calls for a collection of one process by one line of code in threads of one
 * name. The line that asks, the thread that it stops and the step that is hurt may be of three
 * threads.
 */
struct explicit_caller {
	uint32_t process; /* struct process.id */
	uint32_t tid;	  /* of its first call; more threads may go by the name */
	char thread[17];  /* "DeallocatorServ": as the kernel knows it; "" if not known */
	bool training;	  /* a thread that makes steps calls: it is blocked itself */
	/*
	 * Frames of the stack table, 0: not known. @caller: the innermost outside the runtime's own
	 * code, which called. @who: the innermost of the user's own code, where there is one, else
	 * the outermost outside it: "BasicMemoryManager.invokeGc" by
	 * "DeallocatorServiceThread.run".
	 */
	uint32_t caller, who;
	uint32_t stack; /* of the first call */
	/* Their sum is calls: a collection came within it, none came, it was not counted. */
	uint64_t calls, collected, idle, unknown;
	uint64_t blocked_ns, blocked_median_ns, blocked_max_ns; /* from the call to its return */
	/*
	 * Pauses that its calls caused: of the same process, overlapping a call, and either with
	 * that cause or requested by the thread that called. Each counts for one caller.
	 */
	uint64_t pauses, pause_ns, pause_max_ns;
	uint64_t overlap_ns; /* of them, in training steps; 0 where there are no steps */
	/* Of those pauses whose heap is known before and after, how many there are, and sums. */
	uint64_t measured, before_bytes;
	int64_t freed_bytes;	    /* before − after; UNKNOWN: of none */
	uint64_t first_ns, last_ns; /* begin of the first call, of the last */
	/* Median times from one begin to the next, and from a return to the next begin; 0: fewer than 3 calls. */
	uint64_t period_ns, rest_ns;
	/*
	 * Of 4 such times or more, half lie within 25 % of their median. Who sleeps between calls is regular from
	 * return to call, however long each call blocks.
	 */
	bool regular, rests;
	/*
	 * What it may have cost: pause_ns; where a training thread calls, blocked_ns if that is
	 * more.
	 */
	uint64_t harm_ns;
};

/* Stalls of one kind in one process. */
struct stall_sum {
	uint32_t process, kind; /* enum stall_kind */
	uint64_t count, total_ns, max_ns;
	uint64_t longest;     /* struct stall.id of that one */
	uint64_t training_ns; /* of total_ns, in threads that make steps */
	/* Those of which a tenth or more lies outside the process's pauses, and these parts of them. */
	uint64_t beside, beside_ns, beside_max_ns;
	uint64_t beside_longest; /* struct stall.id */
};

struct explicit_calls {
	VEC(struct explicit_caller) callers; /* dearest first: by harm_ns, then blocked_ns */
	VEC(struct stall_sum) sums;	     /* by process, then by kind */
	uint64_t stray, stray_ns;	     /* pauses with such a cause in no call that was seen */
};

/*
 * The frame of @stack that called the runtime: its innermost outside that and native code. 0: none.
 */
uint32_t explicit_asked(const struct stack_table *stacks, uint32_t stack);
/* The frame that stands for the caller: see explicit_caller.who. 0: none. */
uint32_t explicit_who(const struct stack_table *stacks, uint32_t stack);
