/*
 * What folded stacks and flame graphs are made of. In: the pauses of a report. Out: for each origin the
 * distinct (stack, kind of pause) with their pause time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "report.h"
#include "safepoint_words.h"
#include "vec.h"

#define FLAME_GENERATION_UNKNOWN 15u /* 0 … 14 are generations */
#define FLAME_SAFEPOINT		 16u /* and from here on enum safepoint_kind */
#define FLAME_GENERATIONS	 (FLAME_SAFEPOINT + SAFEPOINT_KINDS)
#define FLAME_OPERATIONS	 127 /* that are told apart */

struct flame_leaf {
	uint64_t ns, pauses;
	uint32_t
		stack; /* node of the stack table, below its node_count; STACK_NONE: none was taken */
	uint8_t generation; /* or FLAME_SAFEPOINT + kind */
	uint8_t cause; /* enum pause_cause; of a safepoint, its operation: see flame_leaves.operations */
	bool cut;      /* for flame_tree_build(): the stack went on deeper */
};

/* One interpreter of one runtime: the bottom frame of its stacks. */
struct flame_origin {
	uint32_t runtime;
	int32_t interpreter; /* 0 also when not known */
	bool shared;	     /* its process has other runtimes */
	uint64_t ns, pauses;
	VEC(struct flame_leaf) leaves; /* in the order they first occurred */
};

struct flame_leaves {
	VEC(struct flame_origin) origins;
	uint64_t ns, pauses;
	struct flame_leaf generations[FLAME_GENERATIONS]; /* totals; ns and pauses only */
	VEC(uint32_t)
	operations; /* string ids, of flame_leaf.cause − 1; cause 0: not known, or one too many */
};

/*
 * Reads every pause of @input from the start. Pauses that differ only in their cause are one leaf unless
 * @causes, safepoints that differ in their operation never. The caller releases. 0 or -errno with a sentence.
 */
int flame_leaves_collect(const struct report_input *input, bool causes, struct flame_leaves *ret,
	struct err *err);
void flame_leaves_release(struct flame_leaves *leaves);
