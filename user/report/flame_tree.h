/*
 * The frames of a flame graph. In: leaves and the tree of their stacks. Out: boxes with exact pause times, no more of
 * them than a picture can show: frames that would be too narrow are merged by caller, and every box's time is part of
 * its parent's.
 */
#pragma once

#include <stdint.h>

#include "flame_leaves.h"
#include "report.h"
#include "vec.h"

enum flame_kind {
	FLAME_ALL,	/* the whole recording: the bottom where there are several origins */
	FLAME_ORIGIN,	/* id: index of the origin */
	FLAME_CALL,	/* id: node of the stack table */
	FLAME_NARROW,	/* id: how many frames of one caller it stands for */
	FLAME_DEEPER,	/* what lies deeper than the picture goes */
	FLAME_NO_STACK, /* pauses whose stack was not taken */
	FLAME_PAUSE,	/* innermost: the pauses themselves; id: class << 8 | cause of its leaves */
};

struct flame_box {
	uint64_t ns, pauses;
	uint64_t start_ns; /* of its left edge: the pause time of all boxes to its left */
	uint32_t parent;   /* index, smaller than its own; the first box is its own parent */
	uint32_t depth;	   /* 0 at the bottom */
	uint32_t kind, id;
};

struct flame_tree {
	/* Depth first; siblings widest first, then what was merged, then their own pauses. */
	VEC(struct flame_box) boxes;
	uint32_t depth;	 /* levels */
	uint64_t narrow; /* frames merged, without what they called */
};

struct flame_limits {
	uint32_t calls; /* at most so many FLAME_CALL boxes */
	uint32_t share; /* a call narrower than 1/share of everything is merged */
	uint32_t depth; /* calls deeper than this count towards their caller at this depth */
};

/*
 * Cuts the stacks of @leaves at the greatest depth, then builds. 0, or -errno with a sentence: -EBADMSG when
 * the stacks are damaged. The caller releases.
 */
int flame_tree_build(struct flame_leaves *leaves, const struct stack_table *stacks,
	const struct flame_limits *limits, struct flame_tree *ret, struct err *err);
/*
 * The last step of building: fills the empty @tree with the boxes above @root (0 or 1; every box is), given parents
 * first, with ns, pauses, parent, kind and id. 0 or -ENOMEM.
 */
int flame_tree_lay_out(struct flame_tree *tree, const struct flame_box *boxes, uint32_t count,
	uint32_t root);
void flame_tree_release(struct flame_tree *tree);
