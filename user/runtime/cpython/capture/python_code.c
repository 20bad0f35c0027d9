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
	uint32_t function, file; /* strings of its generation */
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

/* The code objects that were sent, or met, between two turns. */
struct generation {
	VEC(struct code) codes;
	struct u64map by_id; /* id → index + 1 */
	struct strtab *texts;
	size_t table_bytes;
};

/* A code object that is met again moves from the one generation into the other: it is found in one of them. */
struct python_codes {
	struct generation now, before;
	struct u64map frames;	   /* mix of id and lasti → frame of the stack table */
	uint32_t frames_of;	   /* stack_table.generation of these */
	VEC(struct table) pending; /* a handful: one for each process that is sending */
};

#define CODES_MOST   16384	 /* of a generation */
#define BYTES_MOST   (32u << 20) /* of its line tables; and of its texts */
#define FRAMES_MOST  65536
#define PENDING_MOST 256

static void generation_release(struct generation *generation)
{
	for (size_t i = 0; i < generation->codes.count; i++)
		free(generation->codes.items[i].table);
	vec_free(&generation->codes);
	u64map_release(&generation->by_id);
	strtab_free(generation->texts);
	*generation = (struct generation){};
}

struct python_codes *python_codes_new(void)
{
	struct python_codes *codes = calloc(1, sizeof(*codes));

	if (codes)
		codes->now.texts = strtab_new();
	if (codes && !codes->now.texts) {
		free(codes);
		return NULL;
	}
	return codes;
}

bool python_codes_are_many(const struct python_codes *codes)
{
	const struct generation *now = &codes->now;

	return now->codes.count >= CODES_MOST || now->table_bytes >= BYTES_MOST ||
	       strtab_bytes(now->texts) >= BYTES_MOST;
}

void python_codes_turn(struct python_codes *codes)
{
	struct generation fresh = {.texts = strtab_new()};

	if (!fresh.texts)
		return; /* another time */
	generation_release(&codes->before);
	codes->before = codes->now;
	codes->now = fresh;
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	generation_release(&codes->now);
	generation_release(&codes->before);
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

static void drop_pending(struct python_codes *codes, struct table *table)
{
	free(table->bytes);
	*table = codes->pending.items[--codes->pending.count];
}

/* Pieces of one table come in order; one that does not continue its table is of no use. */
static int add_piece(struct python_codes *codes, const struct cpython_event *event)
{
	struct table *table = find_pending(codes, event->table.id);
	uint32_t end = event->table.offset + event->table.length;
	uint8_t *grown;

	if (!table) {
		if (codes->pending.count >=
			PENDING_MOST) /* their code objects were lost with a full ring */
			drop_pending(codes, codes->pending.items);
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
static void take_table(struct python_codes *codes, const struct cpython_event *event,
	struct code *code)
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
	drop_pending(codes, table);
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
static uint32_t intern(struct strtab *texts, const struct event_text *text, const char *unreadable)
{
	char utf8[2048 + 4];
	size_t len;

	if (!text->kind)
		return strtab_add(texts, unreadable, strlen(unreadable));
	len = python_utf8(text, utf8);
	if (text->cut) {
		memcpy(utf8 + len, "…", strlen("…"));
		len += strlen("…");
	}
	return strtab_add(texts, utf8, len);
}

static int add_code(struct python_codes *codes, const struct cpython_event *event, int minor)
{
	struct generation *now = &codes->now;
	struct code *code = vec_add(&now->codes);

	if (!code)
		return -ENOMEM;
	code->function = intern(now->texts, &event->code.name, "[unreadable name]");
	code->file = intern(now->texts, &event->code.file, "");
	code->first_line = event->code.first_line;
	code->minor = minor;
	take_table(codes, event, code);
	now->table_bytes += code->table_bytes;
	if (code->function == STRTAB_NONE || code->file == STRTAB_NONE)
		return -ENOMEM;
	return u64map_put(&now->by_id, event->code.id, now->codes.count);
}

static struct code *code_in(struct generation *generation, uint64_t id)
{
	const uint64_t *index = u64map_get(&generation->by_id, id);

	return index ? &generation->codes.items[*index - 1] : NULL;
}

/* From the generation before into this one. NULL when memory is out. */
static const struct code *take_over(struct generation *now, const struct generation *before,
	struct code *old, uint64_t id)
{
	struct code *code = vec_add(&now->codes);

	if (!code)
		return NULL;
	*code = *old;
	code->function = strtab_add(now->texts, strtab_get(before->texts, old->function),
		strtab_len(before->texts, old->function));
	code->file = strtab_add(now->texts, strtab_get(before->texts, old->file),
		strtab_len(before->texts, old->file));
	if (code->function == STRTAB_NONE || code->file == STRTAB_NONE ||
		u64map_put(&now->by_id, id, now->codes.count)) {
		now->codes.count--;
		return NULL;
	}
	old->table = NULL; /* the new one's */
	now->table_bytes += code->table_bytes;
	return code;
}

/* The code object that is known by this id, or NULL. */
static const struct code *find_code(struct python_codes *codes, uint64_t id)
{
	const struct code *code = code_in(&codes->now, id);
	struct code *old = code ? NULL : code_in(&codes->before, id);

	return old ? take_over(&codes->now, &codes->before, old, id) : code;
}

int python_codes_add(struct python_codes *codes, const struct cpython_event *event, int minor)
{
	if (event->type == EVENT_TABLE)
		return add_piece(codes, event);
	if (find_code(codes, event->code.id))
		return 0; /* sent again after its slot was taken: the id says that nothing changed */
	return add_code(codes, event, minor);
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
	const struct code *code = find_code(codes, raw->code);
	struct strtab *texts = codes->now.texts;
	struct frame frame = {.lang = LANG_PYTHON};

	if (!code)
		return mark(stacks, "[gone]");
	frame.function = strtab_add(stacks->strings, strtab_get(texts, code->function),
		strtab_len(texts, code->function));
	frame.file = strtab_add(stacks->strings, strtab_get(texts, code->file),
		strtab_len(texts, code->file));
	if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
		return 0;
	if (code->has_table)
		frame.line = python_line(code->minor, code->first_line, code->table,
			code->table_bytes, raw->lasti);
	if (code->has_table && !frame.line) /* the compiler's own instruction: set-up of the call */
		frame.line = code->first_line;
	return stack_table_frame(stacks, &frame);
}

/* Forgets the frames of another stack table, and those of too many code objects that came and went. */
static void prepare_frames(struct python_codes *codes, const struct stack_table *stacks)
{
	if (codes->frames_of == stacks->generation && codes->frames.count < FRAMES_MOST)
		return;
	u64map_release(&codes->frames);
	codes->frames_of = stacks->generation;
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
	if (frame && code_in(&codes->now, raw->code))
		u64map_put(&codes->frames, key, frame);
	return frame;
}

uint32_t python_stack(struct python_codes *codes, const struct cpython_event *event,
	struct stack_table *stacks)
{
	uint32_t node = STACK_NONE;

	if (!event->pause.frame_count)
		return STACK_NONE;
	prepare_frames(codes, stacks);
	if (event->pause.flags & EVENT_TRUNCATED)
		node = stack_table_node(stacks, node, mark(stacks, "[truncated]"));
	else if (event->pause.flags & EVENT_BROKEN_STACK)
		node = stack_table_node(stacks, node, mark(stacks, "[unreadable]"));
	for (size_t i = event->pause.frame_count; i--;)
		node = stack_table_node(stacks, node,
			find_frame(codes, &event->pause.frames[i], stacks));
	return node;
}
