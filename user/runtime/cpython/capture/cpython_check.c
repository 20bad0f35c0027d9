/*
 * Whether a running CPython keeps its collector's state where its version says. In: a pid and a
 * layout. Out: yes, no, or not known yet. A layout that does not fit reads as a collector at
 * rest.
 */
#include <errno.h>
#include <time.h>

#include "cpython_memory.h"
#include "cpython_plan.h"
#include "mem.h"

#define TRIES	    20
#define MOST_COUNTS (1ull << 40) /* collections: a microsecond each for 12 days */

/* GC_HEADs of the two older generations: only a collection changes them. */
static bool is_list(pid_t pid, uint64_t head)
{
	const uint64_t flags =
		3; /* in the low bits of _gc_prev; Debian's 3.13 packs heads by 4 bytes */
	uint64_t links[2], before = 0, after = 0;

	return !mem_read(pid, head, links, sizeof(links)) && !(links[0] & flags) &&
	       !mem_read(pid, links[0] + 8, &before, sizeof(before)) &&
	       !mem_read(pid, links[1] & ~flags, &after, sizeof(after)) &&
	       (before & ~flags) == head && (after & ~flags) == head;
}

/* Each is {GC_HEAD head; int threshold, count}, and gc_counts where the first threshold is. */
static bool are_generations(pid_t pid, uint64_t gc, const struct gc_layout *layout)
{
	const uint64_t bytes = 24, head_bytes = 16;

	if (layout->gc_counts == GC_NO_FIELD || layout->free_threaded)
		return true; /* no such lists, or not where they could be found */
	for (uint64_t i = 1; i < 3; i++) {
		uint64_t at = gc + layout->gc_counts + i * bytes;
		int32_t threshold;

		if (mem_read(pid, at, &threshold, sizeof(threshold)) || threshold < 0 ||
			!is_list(pid, at - head_bytes))
			return false;
	}
	return true;
}

static bool is_flag(pid_t pid, uint64_t address, bool *ret)
{
	int32_t value;

	if (mem_read(pid, address, &value, sizeof(value)) || (value != 0 && value != 1))
		return false;
	*ret = value;
	return true;
}

/* 0, -EPROTO, or -EAGAIN: a collection has its lists in pieces. */
static int look(pid_t pid, uint64_t bias, uint64_t gc, const struct probe_plan *plan)
{
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	struct probe_books books;
	bool enabled, collecting;

	if (!is_flag(pid, gc + layout->gc_enabled, &enabled) ||
		!is_flag(pid, gc + layout->gc_collecting, &collecting) ||
		cpython_books(pid, bias, plan, &books))
		return -EPROTO;
	for (int i = 0; i < 3; i++)
		if (books.counts[i] > MOST_COUNTS)
			return -EPROTO;
	if (are_generations(pid, gc, layout))
		return 0;
	return collecting ? -EAGAIN : -EPROTO;
}

int cpython_fits(pid_t pid, uint64_t bias, const struct probe_plan *plan)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	uint64_t runtime = layout->runtime_address + bias, head = 0, main;
	int64_t number;
	int r = -EPROTO;

	if (mem_read(pid, runtime + layout->runtime_head, &head, sizeof(head)) || !head)
		return -EAGAIN; /* not initialised yet, or gone */
	main = cpython_main_interpreter(pid, runtime, layout);
	if (!main || mem_read(pid, main + layout->interp_number, &number, sizeof(number)) || number)
		return -EPROTO;
	/* It runs on meanwhile: what was torn once is whole the next time. */
	for (int i = 0; i < TRIES && r == -EPROTO; i++) {
		if (i)
			nanosleep(&nap, NULL);
		r = look(pid, bias, cpython_main_gc(pid, runtime, layout), plan);
	}
	/* It may have ended under us. */
	return r && mem_read(pid, main, &number, sizeof(number)) ? -EAGAIN : r;
}
