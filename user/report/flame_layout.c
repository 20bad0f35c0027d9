/* Boxes in the order they were made → boxes where they are drawn: depth first, siblings side by side. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "flame_tree.h"

/* A box on its way to its place among its siblings. */
struct sibling {
	uint64_t ns;
	uint32_t parent, kind, id, box;
};

static uint32_t rank(uint32_t kind)
{
	return kind == FLAME_PAUSE ? 2 : kind == FLAME_NARROW || kind == FLAME_DEEPER;
}

static int by_place(const void *left, const void *right)
{
	const struct sibling *a = left, *b = right;
	uint32_t a_rank = rank(a->kind), b_rank = rank(b->kind);

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a_rank != b_rank)
		return a_rank < b_rank ? -1 : 1;
	if (a->ns != b->ns && a->kind != FLAME_PAUSE)
		return a->ns > b->ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

struct layout {
	struct sibling *siblings; /* by_place() */
	uint32_t *first;	  /* by box: its first child in siblings; one more at the end */
	uint32_t *place;	  /* by box: its index in the tree */
	uint64_t *edge;		  /* by box: where its next child begins */
	uint32_t *stack;	  /* boxes to lay out, the next one last */
};

static void layout_release(struct layout *layout)
{
	free(layout->siblings);
	free(layout->first);
	free(layout->place);
	free(layout->edge);
	free(layout->stack);
}

static int layout_init(struct layout *layout, const struct flame_box *boxes, uint32_t count)
{
	layout->siblings = calloc(count, sizeof(*layout->siblings));
	layout->first = calloc(count + 1, sizeof(*layout->first));
	layout->place = calloc(count, sizeof(*layout->place));
	layout->edge = calloc(count, sizeof(*layout->edge));
	layout->stack = calloc(count, sizeof(*layout->stack));
	if (!layout->siblings || !layout->first || !layout->place || !layout->edge ||
		!layout->stack)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		const struct flame_box *box = &boxes[i];

		layout->siblings[i - 1] =
			(struct sibling){box->ns, box->parent, box->kind, box->id, i};
		layout->first[box->parent + 1]++;
	}
	for (uint32_t i = 1; i <= count; i++)
		layout->first[i] += layout->first[i - 1];
	qsort(layout->siblings, count - 1, sizeof(*layout->siblings), by_place);
	return 0;
}

int flame_tree_lay_out(struct flame_tree *tree, const struct flame_box *boxes, uint32_t count,
	uint32_t root)
{
	_cleanup_(layout_release) struct layout layout = {};
	uint32_t waiting = 0;

	if (layout_init(&layout, boxes, count))
		return -ENOMEM;
	layout.stack[waiting++] = root;
	while (waiting) {
		uint32_t at = layout.stack[--waiting], parent = boxes[at].parent;
		struct flame_box *box = vec_add(&tree->boxes);

		if (!box)
			return -ENOMEM;
		*box = boxes[at];
		layout.place[at] = (uint32_t)tree->boxes.count - 1;
		box->parent = at == root ? 0 : layout.place[parent];
		box->depth = at == root ? 0 : tree->boxes.items[box->parent].depth + 1;
		box->start_ns = at == root ? 0 : layout.edge[parent];
		layout.edge[at] = box->start_ns;
		if (at != root)
			layout.edge[parent] += box->ns;
		if (box->depth >= tree->depth)
			tree->depth = box->depth + 1;
		for (uint32_t i = layout.first[at + 1]; i > layout.first[at]; i--)
			layout.stack[waiting++] = layout.siblings[i - 1].box;
	}
	return 0;
}
