/*
 * The tables of strings, frames and nodes of an open .gct file in; out comes its stack table, and with it
 * the lists that refer to it.
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
	struct frame frame;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->stacks.frame_count ||
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
	return stack_table_append_frame(&reader->stacks, &frame) ? 0 : -ENOMEM;
}

/* How deep the next node, a child of @parent, is. 0, -ENOMEM, or 1: deeper than a stack can be. */
static int add_size(struct store_reader *reader, uint32_t parent, uint32_t frame)
{
	const struct strtab *strings = reader->stacks.strings;
	const struct frame *added = &reader->stacks.frames[frame];
	struct stack_size *size = vec_add(&reader->sizes);

	if (!size)
		return -ENOMEM;
	*size = reader->sizes.items[parent];
	size->depth++;
	size->bytes += (uint32_t)(strtab_len(strings, added->function) +
		strtab_len(strings, added->file));
	return size->depth > DEPTH_MOST || size->bytes > STACK_MOST;
}

static int read_node(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t parent, frame;
	int r;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->stacks.node_count ||
		!reader_unsigned(row, 1, reader->stacks.node_count - 1, &parent) ||
		!reader_unsigned(row, 2, reader->stacks.frame_count - 1, &frame) || !frame)
		return 1;
	r = add_size(reader, (uint32_t)parent, (uint32_t)frame);
	if (r)
		return r;
	return stack_table_append_node(&reader->stacks, (uint32_t)parent, (uint32_t)frame)
		       ? 0
		       : -ENOMEM;
}

static int load_stacks(struct store_reader *reader)
{
	int r = stack_table_init(&reader->stacks);

	if (r)
		return r;
	reader->stacks_loaded = true;
	/* Id 0 is "", and the root, on both sides. */
	if (!vec_add(&reader->strings) || !vec_add(&reader->sizes))
		r = -ENOMEM;
	if (!r)
		r = reader_scan(reader, "string", "SELECT id, text FROM string ORDER BY id", read_string);
	if (!r)
		r = reader_scan(reader, "frame",
			"SELECT id, function, file, line, lang FROM frame ORDER BY id", read_frame);
	if (!r)
		r = reader_scan(reader, "stack", "SELECT id, parent, frame FROM stack ORDER BY id",
			read_node);
	vec_free(&reader->sizes);
	r = r ? r : reader_read_waits(reader);
	if (r) {
		vec_free(&reader->recording.phases);
		vec_free(&reader->recording.stalls);
		vec_free(&reader->strings);
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
