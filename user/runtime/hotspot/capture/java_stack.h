/* Java stacks. In: physical frames as BPF walked them. Out: nodes of the stack table. */
#pragma once

#include "hotspot_event.h"
#include "jvm.h"
#include "stack_table.h"

struct java_stacks; /* the cache of one JVM */

struct java_stacks *java_stacks_new(void); /* NULL when memory is out */
void java_stacks_free(struct java_stacks *stacks);

/*
 * Interns @stack. @unloaded: classes that had been unloaded when it was taken, @unloaded_now: a
 * callback that says how many have been by now (both UINT64_MAX: not known; NULL: the same); a
 * frame whose class may have gone is "[unloaded]", one that cannot be read "[unreadable]". A stack that was cut ends, outermost, in "[truncated]", one that broke in
 * "[unreadable]", a virtual thread's in "[virtual thread]". Returns the innermost node; STACK_NONE
 * without frames. A cache serves one JVM and one table at a time: with another it starts afresh.
 */
uint32_t java_stack(struct java_stacks *cache, const struct jvm *jvm,
	const struct event_java_stack *stack, uint64_t unloaded,
	uint64_t (*unloaded_now)(void *arg), void *arg, struct stack_table *table);
