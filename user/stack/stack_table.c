/*
 * Interned frames and call-tree nodes in dense arrays. A frame, and a node that is not its parent's first
 * child, is looked up in a hash set of ids; a first child in an array indexed by its parent, because most
 * nodes have one child only: a new chain then costs neither hashing nor a cache miss.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stack_table.h"
#include "u64map.h"
#include "vec.h"

/* Open addressing, linear probing, at most half full; an id of 0 is a free slot. */
struct id_set {
	struct id_slot {
		uint32_t id, tag; /* the hash's upper half, to skip others without reading them */
	} *slots;
	size_t size, count; /* size: a power of two, or 0 */
};

struct stack_index {
	struct id_set frames, siblings;		/* siblings: nodes that are not a first child */
	VEC(uint32_t) first;			/* by parent: its first child, or 0 */
	uint32_t frames_indexed, nodes_indexed; /* ids from here on are not in the sets yet */
	size_t frame_capacity, node_capacity;
};

static uint64_t frame_hash(const struct frame *frame)
{
	uint64_t names = (uint64_t)frame->function << 32 | frame->file;
	uint64_t place = (uint64_t)frame->line << 32 | frame->lang;

	return u64_mix(u64_mix(names) ^ place);
}

static uint64_t node_hash(uint32_t parent, uint32_t frame)
{
	return u64_mix((uint64_t)parent << 32 | frame);
}

static struct id_slot *id_set_free(const struct id_set *set, uint64_t hash)
{
	size_t i = hash & (set->size - 1);

	while (set->slots[i].id)
		i = (i + 1) & (set->size - 1);
	return &set->slots[i];
}

/*
 * The low bits choose the slot and the tag holds the high ones only: @hash_at recomputes the rest.
 */
static int id_set_grow(struct id_set *set, const struct stack_table *table,
	uint64_t (*hash_at)(const struct stack_table *, uint32_t))
{
	struct id_set bigger = {.size = set->size ? set->size * 2 : 64, .count = set->count};

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->size; i++)
		if (set->slots[i].id)
			*id_set_free(&bigger, hash_at(table, set->slots[i].id)) = set->slots[i];
	free(set->slots);
	*set = bigger;
	return 0;
}

/* Adds @id, which is not in the set. 0 or -ENOMEM. */
static int id_set_add(struct id_set *set, const struct stack_table *table, uint32_t id,
	uint64_t (*hash_at)(const struct stack_table *, uint32_t))
{
	uint64_t hash = hash_at(table, id);

	if ((set->count + 1) * 2 > set->size && id_set_grow(set, table, hash_at))
		return -ENOMEM;
	*id_set_free(set, hash) = (struct id_slot){id, (uint32_t)(hash >> 32)};
	set->count++;
	return 0;
}

static uint64_t frame_hash_at(const struct stack_table *table, uint32_t id)
{
	return frame_hash(&table->frames[id]);
}

static uint64_t node_hash_at(const struct stack_table *table, uint32_t id)
{
	return node_hash(table->nodes[id].parent, table->nodes[id].frame);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->lang == b->lang;
}

static uint32_t find_frame(const struct stack_table *table, const struct frame *frame)
{
	const struct id_set *set = &table->index->frames;
	uint64_t hash = frame_hash(frame);

	for (size_t i = hash & (set->size - 1); set->size && set->slots[i].id;
		i = (i + 1) & (set->size - 1))
		if (set->slots[i].tag == (uint32_t)(hash >> 32) &&
			same_frame(&table->frames[set->slots[i].id], frame))
			return set->slots[i].id;
	return 0;
}

static uint32_t find_node(const struct stack_table *table, uint32_t parent, uint32_t frame)
{
	const struct id_set *set = &table->index->siblings;
	uint32_t first = table->index->first.items[parent];
	uint64_t hash;

	if (!first || table->nodes[first].frame == frame)
		return first;
	hash = node_hash(parent, frame);
	for (size_t i = hash & (set->size - 1); set->size && set->slots[i].id;
		i = (i + 1) & (set->size - 1)) {
		const struct stack_node *node = &table->nodes[set->slots[i].id];

		if (set->slots[i].tag == (uint32_t)(hash >> 32) && node->parent == parent &&
			node->frame == frame)
			return set->slots[i].id;
	}
	return 0;
}

/* Makes every frame that was appended findable. 0 or -ENOMEM. */
static int index_frames(struct stack_table *table)
{
	struct stack_index *index = table->index;

	for (; index->frames_indexed < table->frame_count; index->frames_indexed++)
		if (id_set_add(&index->frames, table, index->frames_indexed, frame_hash_at))
			return -ENOMEM;
	return 0;
}

/* Makes every node that was appended findable. 0 or -ENOMEM. */
static int index_nodes(struct stack_table *table)
{
	struct stack_index *index = table->index;

	for (; index->nodes_indexed < table->node_count; index->nodes_indexed++) {
		uint32_t id = index->nodes_indexed, *slot = vec_add(&index->first);

		if (!slot)
			return -ENOMEM;
		slot = id ? &index->first.items[table->nodes[id].parent] : NULL;
		if (slot && !*slot)
			*slot = id;
		else if (slot && id_set_add(&index->siblings, table, id, node_hash_at)) {
			index->first.count--;
			return -ENOMEM;
		}
	}
	return 0;
}

int stack_table_init(struct stack_table *table)
{
	struct stack_table fresh = {
		.strings = strtab_new(),
		.index = calloc(1, sizeof(*fresh.index)),
		.frame_count = 1,
		.node_count = 1,
	};

	if (!fresh.strings || !fresh.index ||
		vec_reserve((void **)&fresh.frames, &fresh.index->frame_capacity, 1,
			sizeof(*fresh.frames)) ||
		vec_reserve((void **)&fresh.nodes, &fresh.index->node_capacity, 1,
			sizeof(*fresh.nodes))) {
		stack_table_release(&fresh);
		return -ENOMEM;
	}
	fresh.index->frames_indexed = 1;
	fresh.frames[0] = (struct frame){};
	fresh.nodes[0] = (struct stack_node){};
	*table = fresh;
	return 0;
}

void stack_table_release(struct stack_table *table)
{
	if (!table)
		return;
	if (table->index) {
		free(table->index->frames.slots);
		free(table->index->siblings.slots);
		vec_free(&table->index->first);
		free(table->index);
	}
	strtab_free(table->strings);
	free(table->frames);
	free(table->nodes);
	*table = (struct stack_table){};
}

#define ENTRIES_MOST 65536
#define BYTES_MOST   (32u << 20)

bool stack_table_is_large(const struct stack_table *table)
{
	return table->frame_count > ENTRIES_MOST || table->node_count > ENTRIES_MOST ||
	       strtab_count(table->strings) > ENTRIES_MOST ||
	       strtab_bytes(table->strings) > BYTES_MOST;
}

uint32_t stack_table_append_frame(struct stack_table *table, const struct frame *frame)
{
	if (table->frame_count == UINT32_MAX ||
		vec_reserve((void **)&table->frames, &table->index->frame_capacity,
			(size_t)table->frame_count + 1, sizeof(*table->frames)))
		return 0;
	table->frames[table->frame_count] = *frame;
	return table->frame_count++;
}

uint32_t stack_table_append_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	if (parent >= table->node_count || !frame || frame >= table->frame_count)
		return 0;
	if (table->node_count == UINT32_MAX ||
		vec_reserve((void **)&table->nodes, &table->index->node_capacity,
			(size_t)table->node_count + 1, sizeof(*table->nodes)))
		return 0;
	table->nodes[table->node_count] = (struct stack_node){parent, frame};
	return table->node_count++;
}

uint32_t stack_table_frame(struct stack_table *table, const struct frame *frame)
{
	uint32_t id;

	if (index_frames(table))
		return 0;
	id = find_frame(table, frame);
	return id ? id : stack_table_append_frame(table, frame);
}

uint32_t stack_table_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	uint32_t id;

	if (parent >= table->node_count || index_nodes(table))
		return 0;
	id = find_node(table, parent, frame);
	return id ? id : stack_table_append_node(table, parent, frame);
}

const char *frame_lang_name(uint32_t lang)
{
	switch (lang) {
	case LANG_PYTHON:
		return "python";
	case LANG_JAVA:
		return "java";
	case LANG_JULIA:
		return "julia";
	case LANG_NATIVE:
		return "native";
	case LANG_MARK:
		return "mark";
	}
	return "unknown";
}
