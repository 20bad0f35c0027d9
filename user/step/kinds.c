/* What lies between the marks of a signal: how often which other symbols occur, as kinds of
 * intervals. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "step_priv.h"

/* Gives symbols their columns; the rarest share the last one. */
static void assign_columns(struct study *study, const struct strand *strand, uint32_t mask,
	uint32_t merged, struct kinds *kinds)
{
	uint8_t of_class[CLASS_COUNT] = {};

	for (size_t i = 0; i < strand->symbol_count; i++) {
		const struct symbol *symbol = &study->symbols.items[strand->symbols[i]];
		uint8_t *column = &study->column[strand->symbols[i]];
		bool shared = merged & CLASS_BIT(symbol->class);

		*column = 0;
		if (!symbol->used || !(mask & CLASS_BIT(symbol->class)))
			continue;
		if (shared && of_class[symbol->class]) {
			*column = of_class[symbol->class];
			continue;
		}
		if (kinds->columns < MAX_COLUMNS)
			kinds->class[kinds->columns++] = symbol->class;
		*column = (uint8_t)kinds->columns;
		if (shared)
			of_class[symbol->class] = *column;
	}
}

/*
 * The kind with these counts, new or known. The hash table cannot grow out of bounds: there are no more kinds
 * than intervals. 0 or -ENOMEM.
 */
static int kind_of(struct kinds *kinds, struct u64map *index, const uint16_t *counts, uint32_t *ret)
{
	size_t bytes = kinds->columns * sizeof(*counts);
	uint64_t hash = kinds->columns;
	const uint64_t *found;

	for (uint32_t i = 0; i < kinds->columns; i++)
		hash = u64_mix(hash ^ ((uint64_t)counts[i] + 1) * 0x9e3779b97f4a7c15ull);
	for (; (found = u64map_get(index, hash)); hash = u64_mix(hash + 1))
		if (!memcmp(kinds_counts(kinds, (uint32_t)*found), counts, bytes)) {
			*ret = (uint32_t)*found;
			return 0;
		}
	if (vec_reserve((void **)&kinds->counts.items, &kinds->counts.capacity,
		    kinds->counts.count + kinds->columns, sizeof(*counts)) ||
		u64map_put(index, hash, kinds->uses.count) || !vec_add(&kinds->uses))
		return -ENOMEM;
	if (bytes)
		memcpy(kinds->counts.items + kinds->counts.count, counts, bytes);
	kinds->counts.count += kinds->columns;
	*ret = (uint32_t)(kinds->uses.count - 1);
	return 0;
}

static int read_intervals(const struct study *study, const struct strand *strand, const indices *at,
	struct u64map *index, struct kinds *kinds)
{
	for (size_t i = 0; i < at->count; i++) {
		size_t to = i + 1 < at->count ? at->items[i + 1] : strand->count;
		uint16_t counts[MAX_COLUMNS] = {};
		uint32_t kind;

		for (size_t j = at->items[i]; j < to; j++) {
			const struct strand_event *event = &strand->events[j];
			uint8_t column = study->column[event->symbol];
			uint64_t count;

			if (!column)
				continue;
			count = counts[column - 1] + event_calls(study, event);
			counts[column - 1] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
		}
		if (kind_of(kinds, index, counts, &kind))
			return -ENOMEM;
		kinds->uses.items[kind]++;
		kinds->of.items[kinds->of.count++] = kind;
	}
	return 0;
}

int kinds_build(struct study *study, const struct strand *strand, const indices *at, uint32_t mask,
	uint32_t merged, struct kinds *ret)
{
	struct u64map index = {};
	int r;

	*ret = (struct kinds){};
	assign_columns(study, strand, mask, merged, ret);
	r = vec_reserve((void **)&ret->of.items, &ret->of.capacity, at->count + 1,
		sizeof(*ret->of.items));
	if (!r)
		r = read_intervals(study, strand, at, &index, ret);
	u64map_release(&index);
	return r;
}

void kinds_release(struct kinds *kinds)
{
	vec_free(&kinds->counts);
	vec_free(&kinds->uses);
	vec_free(&kinds->of);
}

const uint16_t *kinds_counts(const struct kinds *kinds, uint32_t kind)
{
	static const uint16_t none[MAX_COLUMNS];

	return kinds->columns ? kinds->counts.items + (size_t)kind * kinds->columns : none;
}

uint32_t kinds_total(const struct kinds *kinds, uint32_t kind, enum step_class class)
{
	const uint16_t *counts = kinds_counts(kinds, kind);
	uint32_t total = 0;

	for (uint32_t i = 0; i < kinds->columns; i++)
		if (kinds->class[i] == class)
			total += counts[i];
	return total;
}
