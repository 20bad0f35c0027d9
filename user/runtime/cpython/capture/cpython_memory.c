/* Reads of CPython's runtime state in another process, each bounded and none trusted. */
#include <errno.h>

#include "cpython_memory.h"
#include "cpython_plan.h"
#include "mem.h"

uint64_t cpython_main_interpreter(pid_t pid, uint64_t runtime, const struct gc_layout *layout)
{
	uint64_t interpreter = 0, next = 0;

	if (mem_read(pid, runtime + layout->runtime_head, &next, sizeof(next)))
		return 0;
	for (int i = 0; i < 1000 && next; i++) {
		interpreter = next;
		if (mem_read(pid, interpreter + layout->interp_next, &next, sizeof(next)))
			return 0;
	}
	return interpreter;
}

uint64_t cpython_main_gc(pid_t pid, uint64_t runtime, const struct gc_layout *layout)
{
	uint64_t interpreter;

	if (layout->runtime_gc)
		return runtime + layout->runtime_gc;
	interpreter = cpython_main_interpreter(pid, runtime, layout);
	return interpreter ? interpreter + layout->interp_gc : 0;
}

static int read_rings(pid_t pid, uint64_t gc, const struct gc_layout *layout, uint64_t ret[3])
{
	uint64_t rings, item, counts[3];
	uint8_t index;

	if (mem_read(pid, gc + layout->gc_stats, &rings, sizeof(rings)))
		return -EFAULT;
	for (int i = 0; i < 3; i++) {
		if (mem_read(pid, rings + layout->stats_ring_index[i], &index, sizeof(index)))
			return -EFAULT;
		item = rings + layout->stats_ring_base[i] + (uint64_t)index * layout->stats_item;
		if (mem_read(pid, item + layout->stats_item_collections, &counts[i],
			    sizeof(counts[i])))
			return -EFAULT;
	}
	for (int i = 0; i < 3; i++)
		ret[i] = counts[i];
	return 0;
}

static int read_inline(pid_t pid, uint64_t gc, const struct gc_layout *layout, uint64_t ret[3])
{
	uint64_t stats[9];

	if (mem_read(pid, gc + layout->gc_stats, stats, sizeof(stats)))
		return -EFAULT;
	for (int i = 0; i < 3; i++)
		ret[i] = stats[3 * i];
	return 0;
}

int cpython_books(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct probe_books *ret)
{
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	uint64_t runtime = layout->runtime_address + bias, gc;
	struct probe_books books = {.owner = cpython_main_interpreter(pid, runtime, layout)};
	int32_t collecting;
	int r;

	if (!books.owner)
		return -EFAULT;
	gc = layout->runtime_gc ? runtime + layout->runtime_gc : books.owner + layout->interp_gc;
	r = mem_read(pid, gc + layout->gc_collecting, &collecting, sizeof(collecting));
	if (!r)
		r = layout->stats_kind == GC_STATS_RINGS
			    ? read_rings(pid, gc, layout, books.counts)
			    : read_inline(pid, gc, layout, books.counts);
	if (r)
		return r;
	books.collecting = collecting;
	if (layout->runtime_gc)
		books.owner = 0;
	*ret = books;
	return 0;
}
