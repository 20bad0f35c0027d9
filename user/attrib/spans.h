/* Spans of time, as lists that are sorted and do not touch. Not for other rooms. */
#pragma once

#include "attrib_priv.h"

struct span {
	uint64_t start_ns, end_ns;
};

struct spans {
	struct span *items;
	size_t count, capacity;
};

void spans_release(struct spans *list);
/* By start, then by end. */
int span_compare(const struct span *one, const struct span *other);
/* 0 or -ENOMEM; one without a length is left out. */
int span_add(struct spans *list, uint64_t start_ns, uint64_t end_ns);
/* Makes them ascending, none touching another. */
void spans_unite(struct spans *list);
/* The part of [from, to) that @list covers; *at: the first span that may, never moved back. */
uint64_t spans_covered(const struct spans *list, size_t *at, uint64_t from, uint64_t to);
/* Adds the charged pauses of @track, united. @charging's intervals are sorted. 0 or -ENOMEM. */
int spans_of_track(const struct charging *charging, uint32_t track, struct spans *ret);
