/* Spans of time in; their union, and what of a step they cover, out. */
#include "spans.h"

#include <errno.h>
#include <stdlib.h>

void spans_release(struct spans *list)
{
	vec_free(list);
}

int span_compare(const struct span *one, const struct span *other)
{
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns > other->end_ns) - (one->end_ns < other->end_ns);
}

static int by_start(const void *a, const void *b)
{
	return span_compare(a, b);
}

int span_add(struct spans *list, uint64_t start_ns, uint64_t end_ns)
{
	struct span *span;

	if (end_ns <= start_ns)
		return 0;
	span = vec_add(list);
	if (!span)
		return -ENOMEM;
	*span = (struct span){start_ns, end_ns};
	return 0;
}

void spans_unite(struct spans *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_start);
	for (size_t i = 0; i < list->count; i++) {
		const struct span *span = &list->items[i];

		if (kept && span->start_ns <= list->items[kept - 1].end_ns) {
			if (span->end_ns > list->items[kept - 1].end_ns)
				list->items[kept - 1].end_ns = span->end_ns;
			continue;
		}
		list->items[kept++] = *span;
	}
	list->count = kept;
}

uint64_t spans_covered(const struct spans *list, size_t *at, uint64_t from, uint64_t to)
{
	uint64_t sum_ns = 0;

	while (*at < list->count && list->items[*at].end_ns <= from)
		++*at;
	for (size_t i = *at; i < list->count && list->items[i].start_ns < to; i++) {
		const struct span *span = &list->items[i];

		sum_ns += (span->end_ns < to ? span->end_ns : to) -
			  (span->start_ns > from ? span->start_ns : from);
	}
	return sum_ns;
}

/* The first interval of @track or of one behind it. */
static size_t first_of(const struct charging *charging, uint32_t track)
{
	return vec_first(&charging->intervals, track, track);
}

int spans_of_track(const struct charging *charging, uint32_t track, struct spans *ret)
{
	for (size_t i = first_of(charging, track); i < charging->intervals.count; i++) {
		const struct interval *interval = &charging->intervals.items[i];

		if (interval->track != track)
			break;
		if (span_add(ret, interval->start_ns, interval->end_ns))
			return -ENOMEM;
	}
	spans_unite(ret);
	return 0;
}
