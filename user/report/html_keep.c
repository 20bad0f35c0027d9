/* Keeps the longest of many pauses in bounded memory: pauses in any order → a heap → a sorted list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "html_keep.h"

/* Of two equally long ones the earlier is kept. */
static bool shorter(const struct html_pause *a, const struct html_pause *b)
{
	uint64_t a_ns = html_pause_ns(a), b_ns = html_pause_ns(b);

	return a_ns != b_ns ? a_ns < b_ns : a->order > b->order;
}

static void swap(struct html_pause *a, struct html_pause *b)
{
	struct html_pause other = *a;

	*a = *b;
	*b = other;
}

static void rise(struct html_pause *heap, size_t at)
{
	for (; at && shorter(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sink(struct html_pause *heap, size_t count)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && shorter(&heap[child + 1], &heap[child]))
			child++;
		if (!shorter(&heap[child], &heap[at]))
			return;
		swap(&heap[child], &heap[at]);
		at = child;
	}
}

static void drop(struct html_keep *keep, const struct html_pause *pause)
{
	uint64_t ns = html_pause_ns(pause);

	keep->dropped++;
	keep->dropped_ns += ns;
	if (ns > keep->dropped_max_ns)
		keep->dropped_max_ns = ns;
}

static int add_longest(struct html_keep *keep, const struct html_pause *pause, const int64_t *facts)
{
	size_t at = keep->longest.count;
	struct html_long *items;

	if (!pause->passes)
		return 0;
	while (at && shorter(&keep->longest.items[at - 1].pause, pause))
		at--;
	if (at == keep->longest_most)
		return 0;
	if (keep->longest.count < keep->longest_most && !vec_add(&keep->longest))
		return -ENOMEM;
	items = keep->longest.items;
	memmove(&items[at + 1], &items[at], (keep->longest.count - at - 1) * sizeof(*items));
	items[at].pause = *pause;
	memcpy(items[at].facts, facts, sizeof(items[at].facts));
	return 0;
}

int html_keep_add(struct html_keep *keep, const struct html_pause *pause, const int64_t *facts)
{
	struct html_pause *slot;

	if (add_longest(keep, pause, facts))
		return -ENOMEM;
	if (keep->pauses.count < keep->most) {
		slot = vec_add(&keep->pauses);
		if (!slot)
			return -ENOMEM;
		*slot = *pause;
		rise(keep->pauses.items, keep->pauses.count - 1);
		return 0;
	}
	if (!keep->most || !shorter(&keep->pauses.items[0], pause)) {
		drop(keep, pause);
		return 0;
	}
	drop(keep, &keep->pauses.items[0]);
	keep->pauses.items[0] = *pause;
	sink(keep->pauses.items, keep->pauses.count);
	return 0;
}

void html_keep_release(struct html_keep *keep)
{
	vec_free(&keep->pauses);
	vec_free(&keep->longest);
}

static int by_length(const void *one, const void *other)
{
	return shorter(one, other) ? 1 : -1; /* no two are equal: their orders differ */
}

static int by_track(const void *one, const void *other)
{
	const struct html_pause *a = one, *b = other;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

void html_keep_longest_first(struct html_keep *keep)
{
	if (keep->pauses.count)
		qsort(keep->pauses.items, keep->pauses.count, sizeof(*keep->pauses.items),
			by_length);
}

void html_keep_by_track(struct html_keep *keep)
{
	if (keep->pauses.count)
		qsort(keep->pauses.items, keep->pauses.count, sizeof(*keep->pauses.items),
			by_track);
}
