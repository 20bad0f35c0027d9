/* The parts of a plan. Each fills its own fields of @plan and leaves the others alone. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "jvm_plan.h"

/* Adds a sentence to what a JVM lacks; what does not fit is cut. */
static inline void plan_lacks(struct jvm_plan *plan, const char *what)
{
	size_t used = strlen(plan->lacks);

	snprintf(plan->lacks + used, sizeof(plan->lacks) - used, "%s%s", used ? "; " : "", what);
}

/* Java threads: class JavaThread's vtable, where a thread keeps its own address. -EAGAIN: too few
 * yet. */
int plan_threads(const struct jvm *jvm, struct jvm_plan *plan);

/* Interpreter, stubs, code heaps, how blobs are told apart. -EAGAIN: not all is there yet. */
int plan_code(const struct jvm *jvm, struct jvm_plan *plan);

/* hsperf: places of the counters. -EAGAIN: not all is there yet. */
int plan_counters(const struct jvm *jvm, struct jvm_plan *plan);
