/* Open addressing with linear probing; at most two thirds full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "u64map.h"

void u64map_release(struct u64map *map)
{
	free(map->slots);
	free(map->used);
	memset(map, 0, sizeof(*map));
}

/* The slot that holds @key, or the free one where it would go. Needs capacity > count. */
static size_t find(const struct u64map *map, uint64_t key)
{
	size_t i = u64_mix(key) & (map->capacity - 1);

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return i;
}

uint64_t *u64map_get(const struct u64map *map, uint64_t key)
{
	size_t i;

	if (!map->capacity)
		return NULL;
	i = find(map, key);
	return map->used[i] ? &map->slots[i].value : NULL;
}

static int grow(struct u64map *map)
{
	struct u64map bigger = {.capacity = map->capacity ? map->capacity * 2 : 16};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	bigger.used = calloc(bigger.capacity, sizeof(*bigger.used));
	if (!bigger.slots || !bigger.used) {
		u64map_release(&bigger);
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->capacity; i++) {
		size_t to;

		if (!map->used[i])
			continue;
		to = find(&bigger, map->slots[i].key);
		bigger.slots[to] = map->slots[i];
		bigger.used[to] = 1;
	}
	bigger.count = map->count;
	u64map_release(map);
	*map = bigger;
	return 0;
}

int u64map_put(struct u64map *map, uint64_t key, uint64_t value)
{
	size_t i;

	if ((map->count + 1) * 3 > map->capacity * 2 && grow(map))
		return -ENOMEM;
	i = find(map, key);
	map->count += !map->used[i];
	map->used[i] = 1;
	map->slots[i] = (struct u64map_slot){key, value};
	return 0;
}

bool u64map_remove(struct u64map *map, uint64_t key)
{
	size_t mask = map->capacity - 1, hole, i;

	if (!map->capacity)
		return false;
	hole = find(map, key);
	if (!map->used[hole])
		return false;
	/* Backward-shift deletion: later members of the run move into the hole if they may. */
	for (i = (hole + 1) & mask; map->used[i]; i = (i + 1) & mask) {
		size_t home = u64_mix(map->slots[i].key) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->used[hole] = 0;
	map->count--;
	return true;
}
