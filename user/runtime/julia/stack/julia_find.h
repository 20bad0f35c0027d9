/* Julia's functions by name. In: a process, a name. Out: where what was compiled of them begins. */
#pragma once

#include <stdint.h>

#include "julia_stack.h"
#include "proc.h"

struct julia_function {
	const char *symbol;	    /* "julia_train_step!_40" */
	const struct proc_map *map; /* of the file that it is in; NULL: of the JIT */
	uint64_t offset;	    /* in the file, of the best place for a probe of its entry */
	uint64_t address;	    /* of the JIT: its first instruction, in the process */
};

/*
 * Calls @found for each function called @name of a file or a JIT's object that was not looked through before, which
 * is compiled for some arguments: several may be told of. Those that only unpack arguments, and call another one of
 * that name, are left out. @other gets the names that the JIT's other functions have.
 */
struct julia_finding {
	const char *name;
	void (*found)(const struct julia_function *function, void *arg);
	void (*other)(const char *name, void *arg);
	void *arg;
};

void julia_find(struct julia_stacks *stacks, const struct julia_finding *finding);
