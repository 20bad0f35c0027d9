/* Pauses one by one → sums by class and by fact. Memory: 8 bytes a pause, 8 more one that left a known heap. */
#include <errno.h>
#include <stdlib.h>

#include "summary_kind.h"

bool summary_by_class(const struct pause *pause)
{
	return pause->class && !pause->class->of->generations;
}

int64_t summary_freed(int64_t heap_before, int64_t heap_after)
{
	if (heap_before < 0 || heap_after < 0 || heap_after > heap_before)
		return UNKNOWN;
	return heap_before - heap_after;
}

static void kind_begin(struct summary_kind *kind, const struct runtime_meaning *meaning)
{
	kind->meaning = kind->facts.meaning = meaning;
	kind->places = (struct summary_places){
		.operation = meaning_fact(meaning, FACT_OPERATION),
		.cause = meaning_fact(meaning, FACT_CAUSE),
		.ttsp = meaning_fact(meaning, FACT_TTSP),
		.heap_before = meaning_fact(meaning, FACT_HEAP_BEFORE),
		.heap_after = meaning_fact(meaning, FACT_HEAP_AFTER),
		.late = meaning_fact(meaning, FACT_LATE),
		.late_stack = meaning_fact(meaning, FACT_LATE_STACK),
	};
	for (size_t i = 0; i < CLASSES_MOST; i++) {
		kind->counts[i].freed = UNKNOWN;
		for (size_t k = 0; k < PAUSE_FACTS; k++)
			kind->counts[i].facts[k] = UNKNOWN;
	}
}

const struct summary_kind *summary_kinds_find(const struct summary_kinds *kinds,
	const struct runtime_meaning *meaning)
{
	for (size_t i = 0; i < kinds->items.count; i++)
		if (kinds->items.items[i].meaning == meaning)
			return &kinds->items.items[i];
	return NULL;
}

struct summary_kind *summary_kinds_get(struct summary_kinds *kinds,
	const struct runtime_meaning *meaning)
{
	struct summary_kind *kind = (void *)summary_kinds_find(kinds, meaning);

	if (kind)
		return kind;
	kind = vec_add(&kinds->items);
	if (kind)
		kind_begin(kind, meaning);
	return kind;
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

/* The fact of @pause at @place of the kind's places. */
static int64_t fact_at(const struct pause *pause, int place)
{
	return place < 0 ? UNKNOWN : pause->facts[place];
}

static int operation_add(struct summary_kind *kind, const struct pause *pause)
{
	uint32_t name = (uint32_t)pause->facts[kind->places.operation];
	int64_t ttsp_ns = fact_at(pause, kind->places.ttsp);
	struct summary_operation *operation;
	bool fresh;

	operation = FIND(&kind->operations, &kind->operation_index, name, &fresh);
	if (!operation)
		return -ENOMEM;
	operation->name = name;
	if (ttsp_ns >= 0) {
		stats_add(&operation->reach_ns, (uint64_t)ttsp_ns);
		stats_add(&operation->reach_of_ns, pause_duration(pause));
	}
	return sums_add(&operation->class, pause_duration(pause));
}

static int cause_add(struct summary_kind *kind, const struct pause *pause)
{
	uint32_t name = kind->places.cause < 0 ? 0 : (uint32_t)pause->facts[kind->places.cause];
	struct summary_cause *cause;
	bool fresh;

	if (!name)
		return 0;
	cause = FIND(&kind->causes, &kind->cause_index, name, &fresh);
	if (!cause)
		return -ENOMEM;
	cause->name = name;
	summary_sum_add(&cause->sum, pause_duration(pause));
	return 0;
}

static int late_add(struct summary_kind *kind, const struct pause *pause)
{
	int64_t tid = fact_at(pause, kind->places.late);
	int64_t ttsp_ns = fact_at(pause, kind->places.ttsp);
	uint64_t reach_ns = ttsp_ns > 0 ? (uint64_t)ttsp_ns : 0;
	uint32_t stack = kind->places.late_stack < 0
				 ? STACK_NONE
				 : (uint32_t)pause->facts[kind->places.late_stack];
	struct summary_late *late;
	bool fresh;

	if (tid <= 0 || tid > UINT32_MAX)
		return 0;
	late = FIND(&kind->late, &kind->late_index, (uint64_t)pause->runtime << 32 | (uint32_t)tid,
		&fresh);
	if (!late)
		return -ENOMEM;
	late->runtime = pause->runtime;
	late->tid = (uint32_t)tid;
	summary_sum_add(&late->sum, reach_ns);
	if (stack && (!late->stack || reach_ns > late->stack_ns)) {
		late->stack = stack;
		late->stack_ns = reach_ns;
	}
	return 0;
}

static int heap_add(struct summary_kind *kind, const struct pause *pause)
{
	int64_t after = fact_at(pause, kind->places.heap_after);
	struct summary_heap *heap;
	bool fresh;

	if (after < 0 || !pause->class->leaves_live)
		return 0;
	heap = FIND(&kind->heaps, &kind->heap_index,
		(uint64_t)pause->runtime << 32 | pause->class->order, &fresh);
	if (!heap)
		return -ENOMEM;
	if (fresh)
		*heap = (struct summary_heap){
			.runtime = pause->runtime, .class = pause->class, .first = (uint64_t)after};
	heap->last = (uint64_t)after;
	return sums_add(&heap->bytes, (uint64_t)after);
}

/* For sums alone: its durations are kept elsewhere. */
static void count(struct sums *class, uint64_t duration_ns)
{
	class->count++;
	stats_add(&class->total_ns, duration_ns);
	if (duration_ns > class->max_ns)
		class->max_ns = duration_ns;
}

static int class_add(struct summary_kind *kind, const struct pause *pause)
{
	struct sums *class = &kind->classes[pause->class->order];
	struct summary_counts *counts = &kind->counts[pause->class->order];
	uint64_t duration_ns = pause_duration(pause);

	counts->freed = summary_add_known(counts->freed,
		summary_freed(fact_at(pause, kind->places.heap_before),
			fact_at(pause, kind->places.heap_after)));
	if (kind->places.operation < 0)
		return sums_add(class, duration_ns);
	count(class, duration_ns);
	return operation_add(kind, pause);
}

bool summary_facts_add(struct summary_facts *facts, const struct pause *pause)
{
	const struct runtime_meaning *meaning = facts->meaning = pause->class->of;
	uint64_t duration_ns = pause_duration(pause), split_ns = 0;
	bool any = false;

	for (size_t i = 0; i < meaning->fact_count; i++) {
		const struct pause_fact *fact = &meaning->facts[i];

		if (fact->unit != FACT_NS || pause->facts[i] < 0)
			continue;
		any = true;
		summary_sum_add(&facts->sums[i], (uint64_t)pause->facts[i]);
		if (fact->part)
			stats_add(&split_ns, (uint64_t)pause->facts[i]);
	}
	if (duration_ns > split_ns)
		stats_add(&facts->unsplit_ns, duration_ns - split_ns);
	return any;
}

static void facts_add(struct summary_kind *kind, const struct pause *pause)
{
	const struct runtime_meaning *meaning = kind->meaning;
	struct summary_counts *counts = &kind->counts[pause->class->order];

	for (size_t i = 0; i < meaning->fact_count; i++)
		if (meaning->facts[i].unit == FACT_COUNT)
			counts->facts[i] = summary_add_known(counts->facts[i], pause->facts[i]);
	summary_facts_add(&kind->facts, pause);
}

int summary_kinds_add(struct summary_kinds *kinds, const struct pause *pause)
{
	struct summary_kind *kind = summary_kinds_get(kinds, pause->class->of);

	if (!kind || class_add(kind, pause) || cause_add(kind, pause) || late_add(kind, pause) ||
		heap_add(kind, pause))
		return -ENOMEM;
	summary_sum_add(&kind->sum, pause_duration(pause));
	kind->inexact += !!(pause->flags & PAUSE_INEXACT);
	kind->unsure += pause->collects < 0;
	if (pause->collects > 0) {
		kind->collecting++;
		stats_add(&kind->collecting_ns, pause_duration(pause));
	}
	facts_add(kind, pause);
	return 0;
}

static void kind_release(struct summary_kind *kind)
{
	for (size_t i = 0; i < CLASSES_MOST; i++)
		sums_release(&kind->classes[i]);
	for (size_t i = 0; i < kind->operations.count; i++)
		sums_release(&kind->operations.items[i].class);
	for (size_t i = 0; i < kind->heaps.count; i++)
		sums_release(&kind->heaps.items[i].bytes);
	vec_free(&kind->operations);
	vec_free(&kind->causes);
	vec_free(&kind->late);
	vec_free(&kind->heaps);
	u64map_release(&kind->operation_index);
	u64map_release(&kind->cause_index);
	u64map_release(&kind->late_index);
	u64map_release(&kind->heap_index);
}

void summary_kinds_release(struct summary_kinds *kinds)
{
	for (size_t i = 0; i < kinds->items.count; i++)
		kind_release(&kinds->items.items[i]);
	vec_free(&kinds->items);
}

struct sums_group summary_kind_group(const struct summary_kind *kind)
{
	const struct summary_operation *first = kind->operations.items;

	if (kind->places.operation < 0)
		return (struct sums_group){kind->classes, CLASSES_MOST, sizeof(kind->classes[0])};
	return (struct sums_group){
		first ? &first->class : NULL, kind->operations.count, sizeof(*first)};
}

uint64_t summary_quantile_kind(const struct summary_kind *kind, double q)
{
	const struct sums_group group = summary_kind_group(kind);

	return sums_quantile_groups(&group, 1, q);
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
	const struct summary_operation *one = a, *other = b;

	return compare(one->class.total_ns, other->class.total_ns, one->name, other->name);
}

static int by_cause(const void *a, const void *b)
{
	const struct summary_cause *one = a, *other = b;

	return compare(one->sum.total_ns, other->sum.total_ns, one->name, other->name);
}

static int by_late(const void *a, const void *b)
{
	const struct summary_late *one = a, *other = b;

	return compare(one->sum.total_ns, other->sum.total_ns,
		(uint64_t)one->runtime << 32 | one->tid,
		(uint64_t)other->runtime << 32 | other->tid);
}

static int by_heap(const void *a, const void *b)
{
	const struct summary_heap *one = a, *other = b;

	if (one->runtime != other->runtime)
		return one->runtime < other->runtime ? -1 : 1;
	return (one->class->order > other->class->order) -
	       (one->class->order < other->class->order);
}

#define SORT(vec, order)                                                                           \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), (order));         \
	} while (0)

void summary_kind_sort(struct summary_kind *kind)
{
	SORT(&kind->operations, by_operation);
	SORT(&kind->causes, by_cause);
	SORT(&kind->late, by_late);
	SORT(&kind->heaps, by_heap);
}
