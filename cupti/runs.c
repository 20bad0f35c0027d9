#include "runs.h"

#include <errno.h>

static int by_start(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

/* Joins @next into @block if it starts no earlier and leaves no gap. */
static bool join(struct block *block, const struct block *next)
{
	if (next->start_ns < block->start_ns || next->start_ns > block->end_ns)
		return false;
	if (next->end_ns > block->end_ns)
		block->end_ns = next->end_ns;
	return true;
}

void runs_settle(struct runs *runs)
{
	struct block *blocks = runs->blocks.items;
	size_t kept = 0;

	if (!runs->unordered)
		return;
	runs->unordered = false;
	qsort(blocks, runs->blocks.count, sizeof(*blocks), by_start);
	for (size_t i = 0; i < runs->blocks.count; i++)
		if (!kept || !join(&blocks[kept - 1], &blocks[i]))
			blocks[kept++] = blocks[i];
	runs->blocks.count = kept;
}

int runs_add(struct runs *runs, uint64_t start_ns, uint64_t end_ns, uint32_t correlation)
{
	struct block next = {.start_ns = start_ns, .end_ns = end_ns, .correlation = correlation};
	struct block *last =
		runs->blocks.count ? &runs->blocks.items[runs->blocks.count - 1] : NULL;

	if (last && join(last, &next))
		return 0;
	if (last && start_ns < last->start_ns)
		runs->unordered = true;
	return list_add(&runs->blocks, next) ? 0 : -ENOMEM;
}
