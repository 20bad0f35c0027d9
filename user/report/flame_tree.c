/*
 * Leaves → boxes in three passes: weigh every node, choose the wide ones, attach the leaves to those chosen. The only
 * state per node is one 64-bit cell.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "flame_tree.h"
#include "u64map.h"

/* A node that may become a box, and its pause time within one origin. */
struct candidate {
	uint64_t ns;
	uint32_t origin, node, depth;
};

struct builder {
	struct flame_leaves *leaves;
	const struct stack_table *stacks;
	const struct flame_limits *limits;
	uint64_t *cells; /* by node; each pass says what they hold */
	VEC(struct candidate) calls;
	VEC(struct flame_box) boxes; /* parents first, in no other order */
	struct u64map merged;	     /* parent box, kind, id → box */
	uint64_t narrow;
};

static void builder_release(struct builder *builder)
{
	free(builder->cells);
	vec_free(&builder->calls);
	vec_free(&builder->boxes);
	u64map_release(&builder->merged);
}

void flame_tree_release(struct flame_tree *tree)
{
	if (tree)
		vec_free(&tree->boxes);
}

static void cut_leaves(struct builder *b)
{
	for (size_t o = 0; o < b->leaves->origins.count; o++) {
		struct flame_origin *origin = &b->leaves->origins.items[o];

		for (size_t i = 0; i < origin->leaves.count; i++) {
			struct flame_leaf *leaf = &origin->leaves.items[i];
			uint32_t kept = (uint32_t)b->cells[leaf->stack];

			leaf->cut |= kept != leaf->stack;
			leaf->stack = kept;
		}
	}
}

/*
 * Checks that every node's parent comes before it, and cuts stacks at the greatest depth, so that every walk
 * to the root is short. Cells: depth << 32 | the node, or its ancestor at the greatest depth; then all 0.
 */
static int cut_depth(struct builder *b, struct err *err)
{
	const struct stack_node *nodes = b->stacks->nodes;
	uint64_t deepest = 0;

	for (uint32_t n = 1; n < b->stacks->node_count; n++) {
		uint64_t above, depth;

		if (nodes[n].parent >= n)
			return err_set(err, EBADMSG,
				"stack %u of the recording is its own caller: the file is damaged",
				n);
		above = b->cells[nodes[n].parent];
		depth = (above >> 32) + 1;
		b->cells[n] = depth <= b->limits->depth ? depth << 32 | n : above;
		deepest = depth > deepest ? depth : deepest;
	}
	if (deepest > b->limits->depth)
		cut_leaves(b);
	memset(b->cells, 0, b->stacks->node_count * sizeof(*b->cells));
	return 0;
}

/* Whether to sweep over all nodes once rather than to walk from each leaf of @origin to the root. */
static bool dense(const struct builder *b, const struct flame_origin *origin)
{
	return origin->leaves.count > b->stacks->node_count / 8;
}

static int add_candidate(struct builder *b, uint32_t origin, uint32_t node, uint64_t ns)
{
	struct candidate *candidate = vec_add(&b->calls);

	if (!candidate)
		return -ENOMEM;
	*candidate = (struct candidate){ns, origin, node, 0};
	return 0;
}

/* Children come after their parents, so that backwards every node is complete when it is reached. */
static int weigh_by_sweep(struct builder *b, uint32_t at, uint64_t least_ns)
{
	const struct flame_origin *origin = &b->leaves->origins.items[at];
	uint64_t *cells = b->cells;

	for (size_t i = 0; i < origin->leaves.count; i++)
		cells[origin->leaves.items[i].stack] += origin->leaves.items[i].ns;
	for (uint32_t n = b->stacks->node_count - 1; n > 0; n--) {
		uint64_t ns = cells[n];

		if (!ns)
			continue;
		cells[b->stacks->nodes[n].parent] += ns;
		cells[n] = 0;
		if (ns >= least_ns && add_candidate(b, at, n, ns))
			return -ENOMEM;
	}
	cells[0] = 0;
	return 0;
}

static int weigh_by_walk(struct builder *b, uint32_t at, uint64_t least_ns)
{
	const struct flame_origin *origin = &b->leaves->origins.items[at];
	const struct stack_node *nodes = b->stacks->nodes;
	uint64_t *cells = b->cells;

	for (size_t i = 0; i < origin->leaves.count; i++)
		for (uint32_t n = origin->leaves.items[i].stack; n; n = nodes[n].parent)
			cells[n] += origin->leaves.items[i].ns;
	for (size_t i = 0; i < origin->leaves.count; i++)
		for (uint32_t n = origin->leaves.items[i].stack; n && cells[n];
			n = nodes[n].parent) {
			if (cells[n] >= least_ns && add_candidate(b, at, n, cells[n]))
				return -ENOMEM;
			cells[n] = 0;
		}
	return 0;
}

/*
 * Weighs every node of an origin and appends those at least @least_ns wide to the candidates. Cells: the pause time of
 * a node's subtree; all 0 before and after. Only nodes that the origin has are visited.
 */
static int weigh_origin(struct builder *b, uint32_t at, uint64_t least_ns)
{
	return dense(b, &b->leaves->origins.items[at]) ? weigh_by_sweep(b, at, least_ns)
						       : weigh_by_walk(b, at, least_ns);
}

/* Widest first, of equals the outermost, so that the caller of a node that is kept is kept, too. */
static int by_width(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Origin by origin, callers first. */
static int by_node(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Keeps the widest candidates, as many as the limits allow, and puts them into the order of by_node(). */
static void choose_calls(struct builder *b)
{
	struct candidate *calls = b->calls.items;

	if (b->calls.count > b->limits->calls) {
		for (size_t i = 0; i < b->calls.count; i++)
			for (uint32_t n = calls[i].node; n; n = b->stacks->nodes[n].parent)
				calls[i].depth++;
		qsort(calls, b->calls.count, sizeof(*calls), by_width);
		b->calls.count = b->limits->calls;
	}
	if (b->calls.count)
		qsort(calls, b->calls.count, sizeof(*calls), by_node);
}

static struct flame_box *add_box(struct builder *b, uint32_t parent, uint32_t kind, uint32_t id)
{
	struct flame_box *box = b->boxes.count < UINT32_MAX ? vec_add(&b->boxes) : NULL;

	if (box)
		*box = (struct flame_box){.parent = parent, .kind = kind, .id = id};
	return box;
}

/* The child of box @parent that stands for @kind, and for @id among several; NULL without memory. */
static struct flame_box *merged_box(struct builder *b, uint32_t parent, uint32_t kind, uint32_t id)
{
	uint64_t key = (uint64_t)parent << 32 | kind << 16 | id;
	const uint64_t *known = u64map_get(&b->merged, key);

	if (known)
		return &b->boxes.items[*known];
	if (u64map_put(&b->merged, key, b->boxes.count))
		return NULL;
	return add_box(b, parent, kind, id);
}

/*
 * Cells of the last pass: the origin they are about (those of another are stale) and the node's box or, if MERGED, the
 * outermost merged node on the way to it; that node's own cell is COUNTED once a leaf was found below it.
 */
#define MERGED	(1ull << 63)
#define COUNTED (1ull << 62)

static uint64_t cell_of(uint32_t origin, uint32_t box_or_node)
{
	return ((uint64_t)origin + 1) << 32 | box_or_node;
}

static bool cell_is_of(uint64_t cell, uint32_t origin)
{
	return (cell & ~(MERGED | COUNTED)) >> 32 == (uint64_t)origin + 1;
}

/* Fills the cells of all nodes that have no box, so that no leaf needs a walk. */
static void spread_cells(struct builder *b, uint32_t origin)
{
	for (uint32_t n = 1; n < b->stacks->node_count; n++) {
		uint64_t above = b->cells[b->stacks->nodes[n].parent];

		if (!cell_is_of(b->cells[n], origin))
			b->cells[n] = above & MERGED ? above : cell_of(origin, n) | MERGED;
	}
}

/* The merged box of @parent, in which one more frame is counted if @more. */
static struct flame_box *narrow_box(struct builder *b, uint32_t parent, bool more)
{
	struct flame_box *box = merged_box(b, parent, FLAME_NARROW, 0);

	if (box && more) {
		box->id++;
		b->narrow++;
	}
	return box;
}

/* Finds the box that holds the pauses of @leaf: that of its innermost frame, or one merged above it. */
static struct flame_box *owner_of(struct builder *b, uint32_t origin, const struct flame_leaf *leaf)
{
	const struct stack_node *nodes = b->stacks->nodes;
	uint32_t n = leaf->stack, merged = 0, box;
	bool more;

	if (n == STACK_NONE)
		return merged_box(b, (uint32_t)b->cells[0], FLAME_NO_STACK, 0);
	for (; !cell_is_of(b->cells[n], origin); n = nodes[n].parent)
		merged = n;
	if (b->cells[n] & MERGED)
		merged = (uint32_t)b->cells[n];
	box = (uint32_t)b->cells[merged ? nodes[merged].parent : n];
	if (!merged)
		return leaf->cut ? merged_box(b, box, FLAME_DEEPER, 0) : &b->boxes.items[box];
	more = !cell_is_of(b->cells[merged], origin) || !(b->cells[merged] & COUNTED);
	b->cells[merged] = cell_of(origin, merged) | MERGED | COUNTED;
	return narrow_box(b, box, more);
}

static int hang_leaf(struct builder *b, struct flame_box *owner, const struct flame_leaf *leaf)
{
	struct flame_box *box;

	if (!owner)
		return -ENOMEM;
	box = merged_box(b, (uint32_t)(owner - b->boxes.items), FLAME_PAUSE,
		(uint32_t)leaf->class << 8 | leaf->cause);
	if (!box)
		return -ENOMEM;
	box->ns += leaf->ns;
	box->pauses += leaf->pauses;
	return 0;
}

/* Makes boxes for the chosen calls of one origin, from *next on, then attaches its leaves to them. */
static int build_origin(struct builder *b, uint32_t at, size_t *next)
{
	const struct flame_origin *origin = &b->leaves->origins.items[at];
	int r = 0;

	b->cells[0] = cell_of(at, (uint32_t)b->boxes.count);
	if (!add_box(b, 0, FLAME_ORIGIN, at))
		return -ENOMEM;
	for (; *next < b->calls.count && b->calls.items[*next].origin == at; ++*next) {
		uint32_t node = b->calls.items[*next].node;
		uint32_t caller_box = (uint32_t)b->cells[b->stacks->nodes[node].parent];

		b->cells[node] = cell_of(at, (uint32_t)b->boxes.count);
		if (!add_box(b, caller_box, FLAME_CALL, node))
			return -ENOMEM;
	}
	if (dense(b, origin))
		spread_cells(b, at);
	for (size_t i = 0; !r && i < origin->leaves.count; i++) {
		const struct flame_leaf *leaf = &origin->leaves.items[i];

		r = hang_leaf(b, owner_of(b, at, leaf), leaf);
	}
	return r;
}

/* An origin too narrow to draw: all its pauses go to one box at the bottom. */
static int merge_origin(struct builder *b, uint32_t at)
{
	const struct flame_origin *origin = &b->leaves->origins.items[at];
	int r = narrow_box(b, 0, true) ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < origin->leaves.count; i++)
		r = hang_leaf(b, narrow_box(b, 0, false), &origin->leaves.items[i]);
	return r;
}

static int build_boxes(struct builder *b)
{
	const struct flame_leaves *leaves = b->leaves;
	uint64_t least_ns = (leaves->ns + b->limits->share - 1) / b->limits->share;
	size_t next = 0;
	int r = 0;

	for (uint32_t o = 0; !r && o < leaves->origins.count; o++)
		r = weigh_origin(b, o, least_ns);
	if (r)
		return r;
	choose_calls(b);
	if (!add_box(b, 0, FLAME_ALL, 0))
		return -ENOMEM;
	for (uint32_t o = 0; !r && o < leaves->origins.count; o++)
		r = leaves->origins.items[o].ns >= least_ns || leaves->origins.count == 1
			    ? build_origin(b, o, &next)
			    : merge_origin(b, o);
	for (size_t i = b->boxes.count - 1; !r && i > 0; i--) {
		struct flame_box *box = &b->boxes.items[i];

		b->boxes.items[box->parent].ns += box->ns;
		b->boxes.items[box->parent].pauses += box->pauses;
	}
	return r;
}

int flame_tree_build(struct flame_leaves *leaves, const struct stack_table *stacks,
	const struct flame_limits *limits, struct flame_tree *ret, struct err *err)
{
	_cleanup_(builder_release) struct builder b = {
		.leaves = leaves,
		.stacks = stacks,
		.limits = limits,
		.cells = calloc(stacks->node_count, sizeof(*b.cells)),
	};
	struct flame_tree tree = {};
	int r = b.cells ? cut_depth(&b, err) : -ENOMEM;

	if (!r)
		r = build_boxes(&b);
	if (!r)
		r = flame_tree_lay_out(&tree, b.boxes.items, (uint32_t)b.boxes.count,
			leaves->origins.count == 1 ? 1 : 0);
	if (r) {
		flame_tree_release(&tree);
		return r == -ENOMEM ? err_set(err, ENOMEM,
					      "memory ran out while drawing %u stack frames",
					      stacks->node_count)
				    : r;
	}
	tree.narrow = b.narrow;
	*ret = tree;
	return 0;
}
