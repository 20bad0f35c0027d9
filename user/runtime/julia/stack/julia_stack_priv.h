/* What is known of one process's code, for the files of this room. */
#pragma once

#include "code_file.h"
#include "julia_stack.h"
#include "u64map.h"
#include "vec.h"

#define INLINED_MOST 32

/* How to get from an address to its caller. */
struct known_rule {
	int result; /* of elf_rules_find() */
	struct elf_rule rule;
};

struct julia_stacks {
	bool numbered;
	struct jit_code *jit;
	struct code_files files;

	struct u64map ruled; /* address → index into rules */
	VEC(struct known_rule) rules;

	const struct stack_table *table;
	uint32_t generation; /* of the table */
	struct u64map known; /* address → index into runs */
	/* How many frames, then the stack table's ids of them, innermost first; run after run. */
	VEC(uint32_t) runs;
	uint32_t found[1 + INLINED_MOST];
};
