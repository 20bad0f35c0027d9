/* Stalls and phases one by one → sums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stall_sums.h"
#include "u64map.h"

static const char unknown[] = "unknown"; /* as meaning_wait() has it */

/* The class of @stall, a new one if none is called so. NULL: no memory. */
static struct stall_class *find(struct stall_sums *sums, const struct recording *recording,
	const struct stall *stall)
{
	const char *name = meaning_wait(recording, stall);
	struct stall_class *class;

	for (size_t i = 0; i < sums->kinds.count; i++)
		if (!strcmp(sums->kinds.items[i].name, name))
			return &sums->kinds.items[i];
	class = vec_add(&sums->kinds);
	if (!class)
		return NULL;
	class->kind = strcmp(name, unknown) ? stall->kind : 0;
	class->name = name;
	return class;
}

static int by_kind(const void *a, const void *b)
{
	const struct stall_class *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return strcmp(one->name, other->name);
}

int stall_sums_make(struct stall_sums *sums, const struct recording *recording)
{
	*sums = (struct stall_sums){0};
	for (size_t i = 0; i < recording->stalls.count; i++) {
		const struct stall *stall = &recording->stalls.items[i];
		struct stall_class *class = find(sums, recording, stall);
		uint64_t ns = stall_duration(stall);

		if (!class || sums_add(&class->class, ns))
			return -ENOMEM;
		stats_add(&sums->total_ns, ns);
		if (!sums->count++ || ns > sums->max_ns) {
			sums->max_ns = ns;
			sums->max_name = class->name;
		}
	}
	if (sums->kinds.count)
		qsort(sums->kinds.items, sums->kinds.count, sizeof(*sums->kinds.items), by_kind);
	return 0;
}

void stall_sums_release(struct stall_sums *sums)
{
	for (size_t i = 0; i < sums->kinds.count; i++)
		sums_release(&sums->kinds.items[i].class);
	vec_free(&sums->kinds);
}

static int costliest_first(const void *a, const void *b)
{
	const struct phase_sum *one = a, *other = b;

	if (one->sum.total_ns != other->sum.total_ns)
		return one->sum.total_ns < other->sum.total_ns ? 1 : -1;
	return (one->name > other->name) - (one->name < other->name);
}

static int phase_add(struct phase_sums *sums, struct u64map *index, const struct phase *phase)
{
	const uint64_t *known = u64map_get(index, phase->name);
	struct phase_sum *sum;

	if (known) {
		sum = &sums->items.items[*known];
	} else {
		if (u64map_put(index, phase->name, sums->items.count))
			return -ENOMEM;
		sum = vec_add(&sums->items);
		if (!sum)
			return -ENOMEM;
		sum->name = phase->name;
	}
	summary_sum_add(&sum->sum,
		phase->end_ns > phase->start_ns ? phase->end_ns - phase->start_ns : 0);
	return 0;
}

int phase_sums_make(struct phase_sums *sums, const struct recording *recording)
{
	struct u64map index = {0};
	int r = 0;

	*sums = (struct phase_sums){0};
	for (size_t i = 0; !r && i < recording->phases.count; i++)
		r = phase_add(sums, &index, &recording->phases.items[i]);
	u64map_release(&index);
	if (!r && sums->items.count)
		qsort(sums->items.items, sums->items.count, sizeof(*sums->items.items),
			costliest_first);
	return r;
}

void phase_sums_release(struct phase_sums *sums)
{
	vec_free(&sums->items);
}
