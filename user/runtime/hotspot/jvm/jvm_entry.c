/* What the tables of a JVM hold, by kind and name. */
#include <errno.h>
#include <string.h>

#include "jvm_priv.h"

static uint64_t key_of(enum jvm_kind kind, const char *type, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ kind; /* FNV-1a */

	for (; *type; type++)
		hash = (hash ^ (uint8_t)*type) * 0x100000001b3ull;
	hash = u64_mix(hash);
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3ull;
	return u64_mix(hash);
}

int jvm_entry_add(struct jvm *jvm, const struct jvm_entry *entry)
{
	uint64_t key = key_of(entry->kind, strtab_get(jvm->texts, entry->type),
		strtab_get(jvm->texts, entry->name));
	struct jvm_entry *slot;

	if (u64map_get(&jvm->by_key, key))
		return 0;
	slot = vec_add(&jvm->entries);
	if (!slot)
		return -ENOMEM;
	*slot = *entry;
	return u64map_put(&jvm->by_key, key, jvm->entries.count - 1);
}

const struct jvm_entry *jvm_entry_find(const struct jvm *jvm, enum jvm_kind kind, const char *type,
	const char *name)
{
	const uint64_t *index = u64map_get(&jvm->by_key, key_of(kind, type, name));
	const struct jvm_entry *entry;

	if (!index)
		return NULL;
	entry = &jvm->entries.items[*index];
	if (entry->kind != kind || strcmp(strtab_get(jvm->texts, entry->type), type) ||
		strcmp(strtab_get(jvm->texts, entry->name), name))
		return NULL;
	return entry;
}

int jvm_field(const struct jvm *jvm, const char *type, const char *field, uint32_t *ret)
{
	const struct jvm_entry *entry = jvm_entry_find(jvm, JVM_FIELD, type, field);

	if (!entry || entry->value > INT32_MAX)
		return -ENOENT;
	*ret = (uint32_t)entry->value;
	return 0;
}

int jvm_static(const struct jvm *jvm, const char *type, const char *field, uint64_t *ret)
{
	const struct jvm_entry *entry = jvm_entry_find(jvm, JVM_STATIC, type, field);

	if (!entry || !entry->value)
		return -ENOENT;
	*ret = entry->value;
	return 0;
}

int jvm_type_size(const struct jvm *jvm, const char *type, uint64_t *ret)
{
	const struct jvm_entry *entry = jvm_entry_find(jvm, JVM_TYPE, type, "");

	if (!entry)
		return -ENOENT;
	*ret = entry->value;
	return 0;
}

int jvm_constant(const struct jvm *jvm, const char *name, int64_t *ret)
{
	const struct jvm_entry *entry = jvm_entry_find(jvm, JVM_CONSTANT, name, "");

	if (!entry)
		return -ENOENT;
	*ret = (int64_t)entry->value;
	return 0;
}
