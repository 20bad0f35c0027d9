/* The registry of code objects, and frames → stack nodes. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "python_code.h"
#include "u64map.h"
#include "utf8.h"
#include "vec.h"

struct code {
	uint32_t function, file; /* strings of the stack table */
	uint32_t first_line;
	int minor;
	bool has_table;
	uint8_t *table; /* NULL also for an empty one */
	uint32_t table_bytes;
};

/* A line table of which the code object's record has not come yet. */
struct table {
	uint64_t id;
	uint8_t *bytes;
	uint32_t size;
};

struct python_codes {
	VEC(struct code) codes;
	struct u64map by_id;   /* id → index + 1 */
	struct u64map frames;  /* mix of id and lasti → frame of the stack table */
	VEC(struct table) pending; /* a handful: one for each process that is sending */
};

struct python_codes *python_codes_new(void)
{
	return calloc(1, sizeof(struct python_codes));
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < codes->codes.count; i++)
		free(codes->codes.items[i].table);
	vec_free(&codes->codes);
	u64map_release(&codes->by_id);
	u64map_release(&codes->frames);
	for (size_t i = 0; i < codes->pending.count; i++)
		free(codes->pending.items[i].bytes);
	vec_free(&codes->pending);
	free(codes);
}

static struct table *find_pending(struct python_codes *codes, uint64_t id)
{
	for (size_t i = 0; i < codes->pending.count; i++)
		if (codes->pending.items[i].id == id)
			return &codes->pending.items[i];
	return NULL;
}

/* Pieces of one table come in order; one that does not continue its table is of no use. */
static int add_piece(struct python_codes *codes, const struct event *event)
{
	struct table *table = find_pending(codes, event->table.id);
	uint32_t end = event->table.offset + event->table.length;
	uint8_t *grown;

	if (!table) {
		table = vec_add(&codes->pending);
		if (!table)
			return -ENOMEM;
		table->id = event->table.id;
	}
	if (!event->table.offset)
		table->size = 0;
	if (table->size != event->table.offset || !event->table.length)
		return 0;
	grown = realloc(table->bytes, end);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + event->table.offset, event->table.bytes, event->table.length);
	table->bytes = grown;
	table->size = end;
	return 0;
}

/* Gives the complete table to @code, and forgets it in any case. */
static void take_table(struct python_codes *codes, const struct event *event, struct code *code)
{
	struct table *table = find_pending(codes, event->code.id);

	code->has_table = event->code.has_table && !event->code.table_bytes;
	if (!table)
		return;
	if (event->code.has_table && table->size == event->code.table_bytes) {
		code->has_table = true;
		code->table = steal_ptr(table->bytes);
		code->table_bytes = table->size;
	}
	free(table->bytes);
	*table = codes->pending.items[--codes->pending.count];
}

size_t python_utf8(const struct event_text *text, char *ret)
{
	size_t used = 0;

	for (size_t i = 0; i < text->characters; i++) {
		uint32_t c = 0;

		memcpy(&c, text->bytes + i * text->kind, text->kind); /* little-endian */
		if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
			c = UTF8_REPLACEMENT;
		used += utf8_put(ret + used, c);
	}
	return used;
}

/* Interns a name; what was cut off ends in "…", what could not be read is @unreadable. */
static uint32_t intern(struct stack_table *stacks, const struct event_text *text,
	const char *unreadable)
{
	char utf8[2048 + 4];
	size_t len;

	if (!text->kind)
		return strtab_add(stacks->strings, unreadable, strlen(unreadable));
	len = python_utf8(text, utf8);
	if (text->cut) {
		memcpy(utf8 + len, "…", strlen("…"));
		len += strlen("…");
	}
	return strtab_add(stacks->strings, utf8, len);
}

static int add_code(struct python_codes *codes, const struct event *event, int minor,
	struct stack_table *stacks)
{
	struct code *code = vec_add(&codes->codes);

	if (!code)
		return -ENOMEM;
	code->function = intern(stacks, &event->code.name, "[unreadable name]");
	code->file = intern(stacks, &event->code.file, "");
	code->first_line = event->code.first_line;
	code->minor = minor;
	take_table(codes, event, code);
	if (code->function == STRTAB_NONE || code->file == STRTAB_NONE)
		return -ENOMEM;
	return u64map_put(&codes->by_id, event->code.id, codes->codes.count);
}

int python_codes_add(struct python_codes *codes, const struct event *event, int minor,
	struct stack_table *stacks)
{
	if (event->type == EVENT_TABLE)
		return add_piece(codes, event);
	if (u64map_get(&codes->by_id, event->code.id))
		return 0; /* sent again after its slot was taken: the id says that nothing changed */
	return add_code(codes, event, minor, stacks);
}

static uint32_t mark(struct stack_table *stacks, const char *text)
{
	struct frame frame = {.lang = LANG_MARK};

	frame.function = strtab_add(stacks->strings, text, strlen(text));
	return frame.function == STRTAB_NONE ? 0 : stack_table_frame(stacks, &frame);
}

static uint32_t make_frame(struct python_codes *codes, const struct event_frame *raw,
	struct stack_table *stacks)
{
	const uint64_t *index = u64map_get(&codes->by_id, raw->code);
	const struct code *code;
	struct frame frame = {.lang = LANG_PYTHON};

	if (!index)
		return mark(stacks, "[gone]");
	code = &codes->codes.items[*index - 1];
	frame.function = code->function;
	frame.file = code->file;
	if (code->has_table)
		frame.line = python_line(code->minor, code->first_line, code->table,
			code->table_bytes, raw->lasti);
	if (code->has_table && !frame.line) /* the compiler's own instruction: set-up of the call */
		frame.line = code->first_line;
	return stack_table_frame(stacks, &frame);
}

/* The frame of the stack table for a raw one: decoded once, then remembered. */
static uint32_t find_frame(struct python_codes *codes, const struct event_frame *raw,
	struct stack_table *stacks)
{
	uint64_t key = u64_mix(raw->code + u64_mix((uint32_t)raw->lasti));
	const uint64_t *known = u64map_get(&codes->frames, key);
	uint32_t frame;

	if (known)
		return (uint32_t)*known;
	frame = make_frame(codes, raw, stacks);
	if (frame && u64map_get(&codes->by_id, raw->code))
		u64map_put(&codes->frames, key, frame);
	return frame;
}

uint32_t python_stack(struct python_codes *codes, const struct event *event,
	struct stack_table *stacks)
{
	uint32_t node = STACK_NONE;

	if (!event->pause.frame_count)
		return STACK_NONE;
	if (event->pause.flags & EVENT_TRUNCATED)
		node = stack_table_node(stacks, node, mark(stacks, "[truncated]"));
	else if (event->pause.flags & EVENT_BROKEN_STACK)
		node = stack_table_node(stacks, node, mark(stacks, "[unreadable]"));
	for (size_t i = event->pause.frame_count; i--;)
		node = stack_table_node(stacks, node,
			find_frame(codes, &event->pause.frames[i], stacks));
	return node;
}
