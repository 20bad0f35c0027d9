/* Safepoints one by one → sums. Memory: 8 bytes a safepoint, 8 more one that left a known heap. */
#include <errno.h>
#include <stdlib.h>

#include "safepoints.h"

void safepoints_release(struct safepoints *safepoints)
{
	for (size_t i = 0; i < safepoints->operations.count; i++)
		sums_release(&safepoints->operations.items[i].class);
	for (size_t i = 0; i < safepoints->heaps.count; i++)
		sums_release(&safepoints->heaps.items[i].bytes);
	vec_free(&safepoints->operations);
	vec_free(&safepoints->causes);
	vec_free(&safepoints->late);
	vec_free(&safepoints->heaps);
	u64map_release(&safepoints->operation_index);
	u64map_release(&safepoints->cause_index);
	u64map_release(&safepoints->late_index);
	u64map_release(&safepoints->heap_index);
}

/* The item of @vec that @index has for @key, a new one if none. NULL: no memory; *ret_new: it is new. */
#define FIND(vec, index, key, ret_new)                                                             \
	({                                                                                         \
		const uint64_t *at_ = u64map_get((index), (key));                                  \
		__typeof__((vec)->items) found_ = NULL;                                            \
		*(ret_new) = !at_;                                                                 \
		if (at_)                                                                           \
			found_ = &(vec)->items[*at_];                                              \
		else if (!u64map_put((index), (key), (vec)->count))                                \
			found_ = vec_add(vec);                                                     \
		found_;                                                                            \
	})

static int operation_add(struct safepoints *safepoints, const struct pause *pause)
{
	const struct safepoint *facts = pause_safepoint(pause);
	bool fresh;
	struct safepoint_operation *operation = FIND(&safepoints->operations,
		&safepoints->operation_index, facts->operation, &fresh);

	if (!operation)
		return -ENOMEM;
	operation->name = facts->operation;
	if (facts->ttsp_ns >= 0) {
		stats_add(&operation->reach_ns, (uint64_t)facts->ttsp_ns);
		stats_add(&operation->reach_of_ns, pause_duration(pause));
	}
	return sums_add(&operation->class, pause_duration(pause));
}

static int cause_add(struct safepoints *safepoints, const struct pause *pause)
{
	struct safepoint_cause *cause;
	bool fresh;

	if (!pause_safepoint(pause)->cause)
		return 0;
	cause = FIND(&safepoints->causes, &safepoints->cause_index, pause_safepoint(pause)->cause,
		&fresh);
	if (!cause)
		return -ENOMEM;
	cause->name = pause_safepoint(pause)->cause;
	summary_sum_add(&cause->sum, pause_duration(pause));
	return 0;
}

static int late_add(struct safepoints *safepoints, const struct pause *pause)
{
	const struct safepoint *facts = pause_safepoint(pause);
	uint64_t reach_ns = facts->ttsp_ns > 0 ? (uint64_t)facts->ttsp_ns : 0;
	struct safepoint_late *late;
	bool fresh;

	if (facts->late_tid <= 0 || facts->late_tid > UINT32_MAX)
		return 0;
	late = FIND(&safepoints->late, &safepoints->late_index,
		(uint64_t)pause->runtime << 32 | (uint32_t)facts->late_tid, &fresh);
	if (!late)
		return -ENOMEM;
	late->runtime = pause->runtime;
	late->tid = (uint32_t)facts->late_tid;
	summary_sum_add(&late->sum, reach_ns);
	if (facts->late_stack && (!late->stack || reach_ns > late->stack_ns)) {
		late->stack = facts->late_stack;
		late->stack_ns = reach_ns;
	}
	return 0;
}

static int heap_add(struct safepoints *safepoints, const struct pause *pause,
	enum safepoint_kind kind)
{
	int64_t after = pause_safepoint(pause)->heap_after;
	struct safepoint_heap *heap;
	bool fresh;

	if (after < 0 || (kind != SAFEPOINT_YOUNG && kind != SAFEPOINT_FULL))
		return 0;
	heap = FIND(&safepoints->heaps, &safepoints->heap_index,
		(uint64_t)pause->runtime << 32 | kind, &fresh);
	if (!heap)
		return -ENOMEM;
	if (fresh)
		*heap = (struct safepoint_heap){
			.runtime = pause->runtime, .kind = kind, .first = (uint64_t)after};
	heap->last = (uint64_t)after;
	return sums_add(&heap->bytes, (uint64_t)after);
}

static void kind_add(struct safepoints *safepoints, const struct pause *pause,
	enum safepoint_kind kind)
{
	const struct safepoint *facts = pause_safepoint(pause);
	struct safepoint_class *class = &safepoints->kinds[kind];

	if (!class->sum.count)
		class->young = class->full = class->freed = UNKNOWN;
	summary_sum_add(&class->sum, pause_duration(pause));
	class->young = summary_add_known(class->young, facts->young);
	class->full = summary_add_known(class->full, facts->full);
	class->freed = summary_add_known(class->freed, safepoint_freed(facts));
}

int safepoints_add(struct safepoints *safepoints, const struct pause *pause)
{
	uint64_t duration_ns = pause_duration(pause);
	enum safepoint_kind kind = safepoint_kind(pause);
	int collects = pause->collects;

	if (operation_add(safepoints, pause) || cause_add(safepoints, pause) ||
		late_add(safepoints, pause) || heap_add(safepoints, pause, kind))
		return -ENOMEM;
	safepoints->count++;
	stats_add(&safepoints->total_ns, duration_ns);
	if (duration_ns > safepoints->max_ns)
		safepoints->max_ns = duration_ns;
	safepoints->inexact += !!(pause->flags & PAUSE_INEXACT);
	safepoints->unsure += collects < 0;
	if (collects > 0) {
		safepoints->collecting++;
		stats_add(&safepoints->collecting_ns, duration_ns);
	}
	summary_facts_add(&safepoints->facts, pause);
	kind_add(safepoints, pause, kind);
	return 0;
}

/* Equal ones in the order of their strings' ids, which is that of their first mention. */
static int compare(uint64_t a_ns, uint64_t b_ns, uint64_t a_id, uint64_t b_id)
{
	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return (a_id > b_id) - (a_id < b_id);
}

static int by_operation(const void *a, const void *b)
{
	const struct safepoint_operation *one = a, *other = b;

	return compare(one->class.total_ns, other->class.total_ns, one->name, other->name);
}

static int by_cause(const void *a, const void *b)
{
	const struct safepoint_cause *one = a, *other = b;

	return compare(one->sum.total_ns, other->sum.total_ns, one->name, other->name);
}

static int by_late(const void *a, const void *b)
{
	const struct safepoint_late *one = a, *other = b;

	return compare(one->sum.total_ns, other->sum.total_ns,
		(uint64_t)one->runtime << 32 | one->tid,
		(uint64_t)other->runtime << 32 | other->tid);
}

static int by_heap(const void *a, const void *b)
{
	const struct safepoint_heap *one = a, *other = b;

	if (one->runtime != other->runtime)
		return one->runtime < other->runtime ? -1 : 1;
	return (one->kind > other->kind) - (one->kind < other->kind);
}

#define SORT(vec, order)                                                                           \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), (order));         \
	} while (0)

void safepoints_sort(struct safepoints *safepoints)
{
	SORT(&safepoints->operations, by_operation);
	SORT(&safepoints->causes, by_cause);
	SORT(&safepoints->late, by_late);
	SORT(&safepoints->heaps, by_heap);
}
