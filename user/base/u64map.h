/* A hash map from 64-bit keys to 64-bit values: open addressing, linear probing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct u64map {
	struct u64map_slot {
		uint64_t key, value;
	} *slots;
	uint8_t *used;
	size_t count, capacity;
};

void u64map_release(struct u64map *map);

/* Returns the value's address, valid until the next put, or NULL. */
uint64_t *u64map_get(const struct u64map *map, uint64_t key);

/* Inserts or replaces. Returns 0 or -ENOMEM. */
int u64map_put(struct u64map *map, uint64_t key, uint64_t value);

/* Removes; returns whether the key was there. */
bool u64map_remove(struct u64map *map, uint64_t key);

/* A strong 64-bit mix (splitmix64's finaliser, Steele et al., OOPSLA 2014). */
static inline uint64_t u64_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}
