/* Pauses one by one → figures. Memory: 8 bytes a pause, 24 a stack node that occurred. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

void summary_release(struct summary *summary)
{
	if (!summary)
		return;
	for (size_t i = 0; i < SUMMARY_GENERATIONS; i++)
		sums_release(&summary->generations[i]);
	summary_kinds_release(&summary->kinds);
	vec_free(&summary->stacks);
	vec_free(&summary->runtimes);
	u64map_release(&summary->runtime_index);
}

/* Only free-threaded builds tell: of others nothing is said. */
static void parts_add(struct summary *summary, const struct pause *pause, uint64_t duration_ns)
{
	uint64_t unsplit_ns = summary->parts.unsplit_ns;

	if (!(pause->flags & PAUSE_HAS_FACTS))
		return;
	if (summary_facts_add(&summary->parts, pause))
		stats_add(&summary->parts_of_ns, duration_ns);
	else
		summary->parts.unsplit_ns = unsplit_ns;
}

static int generation_add(struct summary *summary, const struct pause *pause, uint64_t duration_ns)
{
	uint32_t generation = (uint32_t)pause->generation; /* UNKNOWN becomes the greatest value */
	uint32_t cause = pause->cause < SUMMARY_CAUSES ? pause->cause : CAUSE_UNKNOWN;
	struct sums *class;
	struct summary_yield *yield;

	if (generation >= SUMMARY_GENERATIONS - 1)
		generation = SUMMARY_GENERATIONS - 1;
	class = &summary->generations[generation];
	yield = &summary->yields[generation];
	if (!class->count)
		*yield = (struct summary_yield){UNKNOWN, UNKNOWN};
	if (sums_add(class, duration_ns))
		return -ENOMEM;
	yield->collected = summary_add_known(yield->collected, pause->collected);
	yield->uncollectable = summary_add_known(yield->uncollectable, pause->uncollectable);
	summary_sum_add(&summary->causes[cause], duration_ns);
	parts_add(summary, pause, duration_ns);
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
	summary_sum_add(&summary->stacks.items[node], duration_ns);
	return 0;
}

static int runtime_add(struct summary *summary, uint32_t id, uint64_t duration_ns)
{
	const uint64_t *index = u64map_get(&summary->runtime_index, id);
	struct summary_runtime *runtime;

	if (index) {
		summary_sum_add(&summary->runtimes.items[*index].sum, duration_ns);
		return 0;
	}
	runtime = vec_add(&summary->runtimes);
	if (!runtime || u64map_put(&summary->runtime_index, id, summary->runtimes.count - 1))
		return -ENOMEM;
	runtime->runtime = id;
	summary_sum_add(&runtime->sum, duration_ns);
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
	memmove(&summary->worst_at[at + 1], &summary->worst_at[at],
		(summary->worst_count - 1 - at) * sizeof(*summary->worst_at));
	summary->worst[at] = *pause;
	summary->worst_at[at] = summary->count;
}

static int sum_of_its_kind(struct summary *summary, const struct pause *pause, uint64_t duration_ns)
{
	if (summary_by_class(pause))
		return summary_kinds_add(&summary->kinds, pause);
	return generation_add(summary, pause, duration_ns);
}

int summary_add(struct summary *summary, const struct pause *pause)
{
	uint64_t duration_ns = pause_duration(pause);

	if (sum_of_its_kind(summary, pause, duration_ns))
		return -ENOMEM;
	if (stack_add(summary, pause->stack, duration_ns) ||
		runtime_add(summary, pause->runtime, duration_ns))
		return -ENOMEM;
	worst_add(summary, pause, duration_ns);
	summary->count++;
	stats_add(&summary->total_ns, duration_ns);
	if (duration_ns > summary->max_ns)
		summary->max_ns = duration_ns;
	if (pause->end_ns > summary->last_end_ns)
		summary->last_end_ns = pause->end_ns;
	summary->histogram[duration_ns ? 63 - __builtin_clzll(duration_ns) : 0]++;
	summary->slept += !!(pause->flags & PAUSE_SLEPT);
	summary->open += pause_is_open(pause);
	return 0;
}

static struct sums_group generations_of(const struct summary *summary)
{
	return (struct sums_group){
		summary->generations, SUMMARY_GENERATIONS, sizeof(summary->generations[0])};
}

#define KINDS_MOST 15 /* more are in no quantile of all: nobody has so many runtimes */

uint64_t summary_quantile_all(const struct summary *summary, double q)
{
	struct sums_group groups[1 + KINDS_MOST] = {generations_of(summary)};
	size_t count = 1;

	for (size_t i = 0; i < summary->kinds.items.count && i < KINDS_MOST; i++)
		groups[count++] = summary_kind_group(&summary->kinds.items.items[i]);
	return sums_quantile_groups(groups, count, q);
}

uint64_t summary_quantile_generations(const struct summary *summary, double q)
{
	const struct sums_group group = generations_of(summary);

	return sums_quantile_groups(&group, 1, q);
}

struct summary_sum summary_of_generations(const struct summary *summary)
{
	struct summary_sum sum = {0};

	for (size_t i = 0; i < SUMMARY_GENERATIONS; i++) {
		const struct sums *class = &summary->generations[i];

		sum.count += class->count;
		stats_add(&sum.total_ns, class->total_ns);
		sum.max_ns = class->max_ns > sum.max_ns ? class->max_ns : sum.max_ns;
	}
	return sum;
}
