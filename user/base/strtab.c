/* Interned strings: bytes in one growing arena, offsets by id, ids by content hash. */
#include <stdlib.h>
#include <string.h>

#include "strtab.h"
#include "u64map.h"
#include "vec.h"

struct entry {
	size_t offset, len;
	uint32_t next; /* entry with the same hash, 0 at the end */
};

struct strtab {
	VEC(char) bytes;
	VEC(struct entry) entries;
	struct u64map by_hash; /* content hash → newest entry's id */
};

static uint64_t content_hash(const char *text, size_t len)
{
	uint64_t hash = len, word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		hash = u64_mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, text, len);
	return u64_mix(hash ^ word);
}

struct strtab *strtab_new(void)
{
	struct strtab *tab = calloc(1, sizeof(*tab));

	if (tab && strtab_add(tab, "", 0) != 0) {
		strtab_free(tab);
		return NULL;
	}
	return tab;
}

void strtab_free(struct strtab *tab)
{
	if (!tab)
		return;
	vec_free(&tab->bytes);
	vec_free(&tab->entries);
	u64map_release(&tab->by_hash);
	free(tab);
}

static uint32_t lookup(const struct strtab *tab, uint64_t hash, const char *text, size_t len)
{
	const uint64_t *newest = u64map_get(&tab->by_hash, hash);

	if (!newest)
		return STRTAB_NONE;
	for (uint32_t id = (uint32_t)*newest;; id = tab->entries.items[id].next) {
		const struct entry *e = &tab->entries.items[id];

		if (e->len == len && !memcmp(tab->bytes.items + e->offset, text, len))
			return id;
		if (!e->next)
			return STRTAB_NONE;
	}
}

uint32_t strtab_add(struct strtab *tab, const char *text, size_t len)
{
	uint64_t hash = content_hash(text, len);
	uint32_t id = lookup(tab, hash, text, len);
	const uint64_t *collision;
	struct entry *e;

	if (id != STRTAB_NONE)
		return id;
	if (tab->entries.count >= STRTAB_NONE - 1)
		return STRTAB_NONE;
	if (vec_reserve((void **)&tab->bytes.items, &tab->bytes.capacity,
		    tab->bytes.count + len + 1, 1))
		return STRTAB_NONE;
	e = vec_add(&tab->entries);
	if (!e)
		return STRTAB_NONE;
	id = (uint32_t)(tab->entries.count - 1);
	collision = u64map_get(&tab->by_hash, hash);
	*e = (struct entry){tab->bytes.count, len, collision ? (uint32_t)*collision : 0};
	if (u64map_put(&tab->by_hash, hash, id)) {
		tab->entries.count--;
		return STRTAB_NONE;
	}
	memcpy(tab->bytes.items + tab->bytes.count, text, len);
	tab->bytes.items[tab->bytes.count + len] = '\0';
	tab->bytes.count += len + 1;
	return id;
}

const char *strtab_get(const struct strtab *tab, uint32_t id)
{
	return id < tab->entries.count ? tab->bytes.items + tab->entries.items[id].offset : "";
}

size_t strtab_len(const struct strtab *tab, uint32_t id)
{
	return id < tab->entries.count ? tab->entries.items[id].len : 0;
}

uint32_t strtab_count(const struct strtab *tab)
{
	return (uint32_t)tab->entries.count;
}

size_t strtab_bytes(const struct strtab *tab)
{
	return tab->bytes.count;
}
