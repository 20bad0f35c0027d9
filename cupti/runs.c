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
	if (runs->unordered)
		qsort(runs->blocks.items, runs->blocks.count, sizeof(struct block), by_start);
	runs->unordered = false;
}

int runs_add(struct runs *runs, uint64_t start_ns, uint64_t end_ns, uint32_t correlation,
	bool alone)
{
	struct block next = {.start_ns = start_ns, .end_ns = end_ns, .correlation = correlation};
	struct block *last =
		runs->blocks.count ? &runs->blocks.items[runs->blocks.count - 1] : NULL;

	if (alone && last && join(last, &next))
		return 0;
	if (last && start_ns < last->start_ns)
		runs->unordered = true;
	return list_add(&runs->blocks, next) ? 0 : -ENOMEM;
}
