/*
 * The tables of strings, frames and nodes of an open .gct file in; out comes its stack table, and
 * with it the lists that refer to it.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"
#include "utf8.h"

static int read_string(struct store_reader *reader, sqlite3_stmt *row)
{
	const char *text = sqlite3_column_blob(row, 1);
	size_t len = (size_t)sqlite3_column_bytes(row, 1);
	char *clean = NULL;
	uint32_t *id;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->strings.count)
		return 1;
	id = vec_add(&reader->strings);
	if (!id)
		return -ENOMEM;
	len = reader_cut(reader, len, TEXT_MOST);
	if (!utf8_valid(text, len)) {
		clean = malloc(3 * len + 1);
		if (!clean)
			return -ENOMEM;
		len = utf8_clean(clean, 3 * len + 1, text, len);
		text = clean;
	}
	*id = strtab_add(reader->stacks.strings, text ? text : "", len);
	free(clean);
	return *id == STRTAB_NONE ? -ENOMEM : 0;
}

static int read_frame(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t function, file = 0, line = 0, lang, last = reader->strings.count - 1;
	uint32_t *id;
	struct frame frame;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->frames.count ||
		!reader_unsigned(row, 1, last, &function) ||
		!reader_unsigned(row, 4, UINT32_MAX, &lang))
		return 1;
	if (sqlite3_column_type(row, 2) != SQLITE_NULL && !reader_unsigned(row, 2, last, &file))
		return 1;
	if (sqlite3_column_type(row, 3) != SQLITE_NULL &&
		!reader_unsigned(row, 3, UINT32_MAX, &line))
		return 1;
	frame = (struct frame){
		.function = reader->strings.items[function],
		.file = reader->strings.items[file],
		.line = (uint32_t)line,
		.lang = (uint32_t)lang,
	};
	id = vec_add(&reader->frames);
	if (!id)
		return -ENOMEM;
	*id = stack_table_frame(&reader->stacks, &frame);
	return *id ? 0 : -ENOMEM;
}

/* Computes the size of a stack of @frame called by @parent. Returns whether it is allowed. */
static bool size_up(const struct store_reader *reader, uint32_t parent, uint32_t frame,
	struct stack_size *ret)
{
	const struct strtab *strings = reader->stacks.strings;
	const struct frame *added = &reader->stacks.frames[frame];
	const struct stack_size *rest = &reader->sizes.items[parent];

	ret->depth = rest->depth + 1;
	ret->bytes = rest->bytes + (uint32_t)(strtab_len(strings, added->function) +
					      strtab_len(strings, added->file));
	return ret->depth <= DEPTH_MOST && ret->bytes <= STACK_MOST;
}

/* Both are ids in the table. 0 or -ENOMEM. */
static int add_node(struct store_reader *reader, uint32_t parent, uint32_t frame,
	const struct stack_size *size)
{
	uint32_t *id = vec_add(&reader->nodes);
	struct stack_size *slot;

	if (!id)
		return -ENOMEM;
	*id = stack_table_node(&reader->stacks, parent, frame);
	if (!*id)
		return -ENOMEM;
	if (*id < reader->sizes.count)
		return 0;
	slot = vec_add(&reader->sizes);
	if (!slot)
		return -ENOMEM;
	*slot = *size;
	return 0;
}

static int read_node(struct store_reader *reader, sqlite3_stmt *row)
{
	struct stack_size size;
	uint64_t parent, frame;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->nodes.count ||
		!reader_unsigned(row, 1, reader->nodes.count - 1, &parent) ||
		!reader_unsigned(row, 2, reader->frames.count - 1, &frame) || !frame)
		return 1;
	parent = reader->nodes.items[parent];
	frame = reader->frames.items[frame];
	if (!size_up(reader, (uint32_t)parent, (uint32_t)frame, &size))
		return 1;
	return add_node(reader, (uint32_t)parent, (uint32_t)frame, &size);
}

static int load_stacks(struct store_reader *reader)
{
	int r = stack_table_init(&reader->stacks);

	if (r)
		return r;
	reader->stacks_loaded = true;
	/* Id 0 is "", and the root, on both sides. */
	if (!vec_add(&reader->strings) || !vec_add(&reader->frames) || !vec_add(&reader->nodes) ||
		!vec_add(&reader->sizes))
		r = -ENOMEM;
	if (!r)
		r = reader_scan(reader, "string", "SELECT id, text FROM string ORDER BY id",
			read_string);
	if (!r)
		r = reader_scan(reader, "frame",
			"SELECT id, function, file, line, lang FROM frame ORDER BY id", read_frame);
	if (!r)
		r = reader_scan(reader, "stack", "SELECT id, parent, frame FROM stack ORDER BY id",
			read_node);
	vec_free(&reader->sizes);
	vec_free(&reader->frames);
	r = r ? r : reader_read_waits(reader);
	if (r) {
		vec_free(&reader->recording.phases);
		vec_free(&reader->recording.stalls);
		vec_free(&reader->strings);
		vec_free(&reader->frames);
		vec_free(&reader->nodes);
		stack_table_release(&reader->stacks);
		reader->stacks_loaded = false;
	}
	return r;
}

const struct stack_table *store_stacks(struct store_reader *reader, struct err *err)
{
	int r = reader->stacks_loaded ? 0 : load_stacks(reader);

	if (r)
		err_set(err, -r, "cannot read the stacks of %s: out of memory", reader->path);
	return r ? NULL : &reader->stacks;
}
