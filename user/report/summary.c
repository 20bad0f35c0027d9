/* Pauses one by one → figures. Memory: 8 bytes a pause, 24 a stack node that occurred. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

/* A hostile file may hold any durations: sums stick at the top rather than wrap. */
static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

int64_t summary_add_known(int64_t sum, int64_t value)
{
	if (sum < 0 || value < 0)
		return sum < 0 ? value : sum;
	return __builtin_add_overflow(sum, value, &sum) ? INT64_MAX : sum;
}

static void sum_add(struct summary_sum *sum, uint64_t duration_ns)
{
	sum->count++;
	add(&sum->total_ns, duration_ns);
	if (duration_ns > sum->max_ns)
		sum->max_ns = duration_ns;
}

void summary_release(struct summary *summary)
{
	if (!summary)
		return;
	for (size_t i = 0; i < SUMMARY_GENERATIONS; i++)
		vec_free(&summary->generations[i].durations);
	vec_free(&summary->stacks);
	vec_free(&summary->runtimes);
	u64map_release(&summary->runtime_index);
}

static int class_add(struct summary_class *class, const struct pause *pause, uint64_t duration_ns)
{
	uint64_t *slot = vec_add(&class->durations);

	if (!slot)
		return -ENOMEM;
	*slot = duration_ns;
	if (!class->count++)
		class->collected = class->uncollectable = UNKNOWN;
	class->collected = summary_add_known(class->collected, pause->collected);
	class->uncollectable = summary_add_known(class->uncollectable, pause->uncollectable);
	add(&class->total_ns, duration_ns);
	if (duration_ns > class->max_ns)
		class->max_ns = duration_ns;
	return 0;
}

static int stack_add(struct summary *summary, uint32_t node, uint64_t duration_ns)
{
	size_t count = summary->stacks.count, need = (size_t)node + 1;

	if (need > count) {
		if (vec_reserve((void **)&summary->stacks.items, &summary->stacks.capacity, need,
			    sizeof(struct summary_sum)))
			return -ENOMEM;
		memset(summary->stacks.items + count, 0,
			(need - count) * sizeof(struct summary_sum));
		summary->stacks.count = need;
	}
	sum_add(&summary->stacks.items[node], duration_ns);
	return 0;
}

static int runtime_add(struct summary *summary, uint32_t id, uint64_t duration_ns)
{
	const uint64_t *index = u64map_get(&summary->runtime_index, id);
	struct summary_runtime *runtime;

	if (index) {
		sum_add(&summary->runtimes.items[*index].sum, duration_ns);
		return 0;
	}
	runtime = vec_add(&summary->runtimes);
	if (!runtime || u64map_put(&summary->runtime_index, id, summary->runtimes.count - 1))
		return -ENOMEM;
	runtime->runtime = id;
	sum_add(&runtime->sum, duration_ns);
	return 0;
}

struct summary_sum summary_of_runtime(const struct summary *summary, uint32_t runtime)
{
	const uint64_t *index = u64map_get(&summary->runtime_index, runtime);

	return index ? summary->runtimes.items[*index].sum : (struct summary_sum){0};
}

/* Keeps the longest, the earlier one first among equals. */
static void worst_add(struct summary *summary, const struct pause *pause, uint64_t duration_ns)
{
	uint32_t at = summary->worst_count;

	while (at > 0 && pause_duration(&summary->worst[at - 1]) < duration_ns)
		at--;
	if (at == SUMMARY_WORST)
		return;
	if (summary->worst_count < SUMMARY_WORST)
		summary->worst_count++;
	memmove(&summary->worst[at + 1], &summary->worst[at],
		(summary->worst_count - 1 - at) * sizeof(*pause));
	summary->worst[at] = *pause;
}

int summary_add(struct summary *summary, const struct pause *pause)
{
	uint64_t duration_ns = pause_duration(pause);
	uint32_t generation = (uint32_t)pause->generation; /* UNKNOWN becomes the greatest */
	uint32_t cause = pause->cause < SUMMARY_CAUSES ? pause->cause : CAUSE_UNKNOWN;

	if (generation >= SUMMARY_GENERATIONS - 1)
		generation = SUMMARY_GENERATIONS - 1;
	if (class_add(&summary->generations[generation], pause, duration_ns) ||
		stack_add(summary, pause->stack, duration_ns) ||
		runtime_add(summary, pause->runtime, duration_ns))
		return -ENOMEM;
	summary->count++;
	add(&summary->total_ns, duration_ns);
	if (duration_ns > summary->max_ns)
		summary->max_ns = duration_ns;
	if (pause->end_ns > summary->last_end_ns)
		summary->last_end_ns = pause->end_ns;
	sum_add(&summary->causes[cause], duration_ns);
	summary->histogram[duration_ns ? 63 - __builtin_clzll(duration_ns) : 0]++;
	summary->slept += !!(pause->flags & PAUSE_SLEPT);
	worst_add(summary, pause, duration_ns);
	return 0;
}

/*
 * Radix selection, 12 bits at a time from the top: each pass counts the values that share the bits
 * found so far by their next digit. No copy, nothing reordered, linear whatever the values are.
 */
#define DIGIT_BITS 12
#define DIGITS	   (1u << DIGIT_BITS)

static void count_digits(const struct summary_class *class, uint64_t found, unsigned shift,
	uint64_t counts[DIGITS])
{
	unsigned above = shift + DIGIT_BITS;

	for (size_t i = 0; i < class->durations.count; i++) {
		uint64_t value = class->durations.items[i];

		if (above >= 64 || value >> above == found)
			counts[value >> shift & (DIGITS - 1)]++;
	}
}

/* The value with @rank (from 0) among @classes, none of which exceeds @max. */
static uint64_t select_rank(const struct summary_class *classes, size_t count, uint64_t rank,
	uint64_t max)
{
	unsigned bits = max ? 64 - __builtin_clzll(max) : 1;
	unsigned shift = (bits + DIGIT_BITS - 1) / DIGIT_BITS * DIGIT_BITS;
	uint64_t found = 0;

	while (shift) {
		uint64_t counts[DIGITS] = {0};
		uint32_t digit = 0;

		shift -= DIGIT_BITS;
		for (size_t i = 0; i < count; i++)
			count_digits(&classes[i], found, shift, counts);
		while (digit < DIGITS - 1 && rank >= counts[digit])
			rank -= counts[digit++];
		found = found << DIGIT_BITS | digit;
	}
	return found;
}

/* Nearest rank: the smallest value that at least q of all do not exceed. */
static uint64_t quantile(const struct summary_class *classes, size_t classes_count, uint64_t count,
	uint64_t max, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)count);

	if (!count)
		return 0;
	rank = rank > count ? count : rank;
	return select_rank(classes, classes_count, rank ? rank - 1 : 0, max);
}

uint64_t summary_quantile(const struct summary_class *class, double q)
{
	return quantile(class, 1, class->count, class->max_ns, q);
}

uint64_t summary_quantile_all(const struct summary *summary, double q)
{
	return quantile(
		summary->generations, SUMMARY_GENERATIONS, summary->count, summary->max_ns, q);
}
