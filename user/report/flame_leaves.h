/*
 * What folded stacks and flame graphs are made of. In: the pauses of a report. Out: for each origin the
 * distinct (stack, kind of pause) with their pause time, or whatever else the report weights them by.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "meaning.h"
#include "report.h"
#include "vec.h"

/* Classes by number: those of each runtime that was built in, one runtime after the other. */
#define FLAME_CLASSES 256
#define FLAME_CAUSES  16  /* a leaf's cause below it is an enum pause_cause */
#define FLAME_WORDS   111 /* of runtimes, for why a pause was, that are kept apart */

struct flame_leaf {
	uint64_t ns, pauses;
	uint32_t
		stack; /* node of the stack table, below its node_count; STACK_NONE: none was taken */
	uint8_t class; /* index into flame_leaves.classes */
	uint8_t cause; /* enum pause_cause, or FLAME_CAUSES + index into flame_leaves.words */
	bool cut;      /* for flame_tree_build(): the stack went on deeper */
};

/* All pauses of a class. */
struct flame_class {
	const struct pause_class *class; /* NULL: there are none */
	uint64_t ns, pauses;
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
	uint64_t unknown; /* pauses left out, as their weight is not known */
	struct flame_class classes[FLAME_CLASSES];
	VEC(uint32_t)
	words; /* string ids: operations, or reasons where a runtime has no operations */
};

/*
 * Reads every pause of @input from the start; those that left no GPU idle are left out if that is the weight. Pauses that differ only in their enum pause_cause share a leaf unless
 * @causes, those that differ in their runtime's own words never. The caller releases. 0 or -errno with a sentence.
 */
int flame_leaves_collect(const struct report_input *input, bool causes, struct flame_leaves *ret,
	struct err *err);
void flame_leaves_release(struct flame_leaves *leaves);
