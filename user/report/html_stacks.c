/* A part of the stack table, renumbered: ids asked for one by one → the JSON of everything they refer to. */
#include <errno.h>
#include <stdlib.h>

#include "attrib.h"
#include "cleanup.h"
#include "html_pack.h"
#include "html_stacks.h"

#define NAME_MOST 240  /* characters of a function or a path */
#define DEEPEST	  4096 /* frames; a longer chain of parents means damage */
#define VAIN_MOST 100  /* times the limit of nodes: visited at most for stacks that do not fit */

void html_stacks_release(struct html_stacks *stacks)
{
	u64map_release(&stacks->node_ids);
	u64map_release(&stacks->frame_ids);
	u64map_release(&stacks->string_ids);
	vec_free(&stacks->nodes);
	vec_free(&stacks->frames);
	vec_free(&stacks->strings);
	vec_free(&stacks->path);
}

/* The id of @key in @map, which is @next when it is new. 1: it is new, 0: known, -ENOMEM. */
static int number(struct u64map *map, uint32_t key, size_t next, uint32_t *ret)
{
	uint64_t *known = u64map_get(map, key);

	if (!known && u64map_put(map, key, next))
		return -ENOMEM;
	*ret = known ? (uint32_t)*known : (uint32_t)next;
	return !known;
}

static int add_string(struct html_stacks *stacks, uint32_t string, uint32_t *ret)
{
	uint32_t *slot;
	int r = number(&stacks->string_ids, string, stacks->strings.count + 1, ret);
	size_t len = strtab_len(stacks->table->strings, string);

	if (r <= 0)
		return r;
	slot = vec_add(&stacks->strings);
	if (!slot)
		return -ENOMEM;
	*slot = string;
	stacks->text_bytes += len < 4 * NAME_MOST ? len : 4 * NAME_MOST;
	return 0;
}

int html_stacks_string(struct html_stacks *stacks, uint32_t string, uint32_t *ret)
{
	*ret = 0;
	return string ? add_string(stacks, string, ret) : 0;
}

int html_stacks_frame(struct html_stacks *stacks, uint32_t frame, uint32_t *ret)
{
	const struct frame *f;
	uint32_t id, *slot;
	int r;

	*ret = 0;
	if (!frame || frame >= stacks->table->frame_count)
		return 0;
	r = number(&stacks->frame_ids, frame, stacks->frames.count + 1, &id);
	if (r < 0)
		return r;
	*ret = id;
	if (!r)
		return 0;
	slot = vec_add(&stacks->frames);
	if (!slot)
		return -ENOMEM;
	*slot = frame;
	f = &stacks->table->frames[frame];
	r = add_string(stacks, f->function, &id);
	return r ? r : add_string(stacks, f->file, &id);
}

static int add_node(struct html_stacks *stacks, uint32_t node, uint32_t *ret)
{
	uint32_t *slot, frame;
	int r = number(&stacks->node_ids, node, stacks->nodes.count + 1, ret);

	if (r <= 0)
		return r;
	slot = vec_add(&stacks->nodes);
	if (!slot)
		return -ENOMEM;
	*slot = node;
	return html_stacks_frame(stacks, stacks->table->nodes[node].frame, &frame);
}

/* Puts the ancestors of @node that are new into ->path, innermost first. 1: done, 0: it is damaged, -ENOMEM. */
static int find_path(struct html_stacks *stacks, uint32_t node)
{
	const struct stack_table *table = stacks->table;

	stacks->path.count = 0;
	for (; node; node = table->nodes[node].parent) {
		uint32_t *slot;

		if (node >= table->node_count || stacks->path.count >= DEEPEST ||
			table->nodes[node].parent >= node)
			return 0;
		if (u64map_get(&stacks->node_ids, node))
			break;
		slot = vec_add(&stacks->path);
		if (!slot)
			return -ENOMEM;
		*slot = node;
	}
	return 1;
}

int html_stacks_node(struct html_stacks *stacks, uint32_t node, uint32_t *ret)
{
	uint64_t *known = u64map_get(&stacks->node_ids, node);
	int r;

	*ret = known ? (uint32_t)*known : 0;
	if (node == STACK_NONE || known)
		return 0;
	if (stacks->walked > VAIN_MOST * stacks->nodes_most) {
		stacks->refused++;
		return 0;
	}
	r = find_path(stacks, node);
	if (r <= 0)
		return r;
	if (stacks->nodes.count + stacks->path.count > stacks->nodes_most ||
		stacks->text_bytes > stacks->text_most) {
		stacks->walked += stacks->path.count;
		stacks->refused++;
		return 0;
	}
	r = 0;
	for (size_t i = stacks->path.count; !r && i--;)
		r = add_node(stacks, stacks->path.items[i], ret);
	return r;
}

static void write_strings(const struct html_stacks *stacks, FILE *out, struct flame_text *scratch)
{
	html_key(out, false, "strings");
	fputs("[\"\"", out);
	for (size_t i = 0; i < stacks->strings.count; i++) {
		uint32_t id = stacks->strings.items[i];

		flame_text_clear(scratch);
		flame_text_clean(scratch, strtab_get(stacks->table->strings, id),
			strtab_len(stacks->table->strings, id), NAME_MOST);
		putc_unlocked(',', out);
		html_string(out, scratch);
	}
	putc_unlocked(']', out);
}

static unsigned int id_of(const struct u64map *map, uint32_t key)
{
	const uint64_t *id = u64map_get(map, key);

	return id ? (unsigned int)*id : 0;
}

/* Frames are [function, file, line, language]; a node is three numbers: how far back its parent is, frame, trigger. */
int html_stacks_write(const struct html_stacks *stacks, FILE *out, struct flame_text *scratch)
{
	_cleanup_free_ uint32_t *triggers = attrib_triggers(stacks->table);
	struct html_pack pack;

	if (!triggers)
		return -ENOMEM;
	write_strings(stacks, out, scratch);
	html_key(out, false, "frames");
	fputs("[0", out);
	for (size_t i = 0; i < stacks->frames.count; i++) {
		const struct frame *f = &stacks->table->frames[stacks->frames.items[i]];

		fprintf(out, ",[%u,%u,%u,%u]", id_of(&stacks->string_ids, f->function),
			id_of(&stacks->string_ids, f->file), f->line, f->lang);
	}
	putc_unlocked(']', out);
	html_key(out, false, "nodes");
	html_pack_begin(&pack, out);
	for (size_t i = 0; i < stacks->nodes.count; i++) {
		uint32_t node = stacks->nodes.items[i];
		const struct stack_node *n = &stacks->table->nodes[node];

		html_pack_uint(&pack, i + 1 - id_of(&stacks->node_ids, n->parent));
		html_pack_uint(&pack, id_of(&stacks->frame_ids, n->frame));
		html_pack_uint(&pack, id_of(&stacks->frame_ids, triggers[node]));
	}
	html_pack_end(&pack);
	return 0;
}
