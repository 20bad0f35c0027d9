/*
 * The large tables of an open .gct file in; out come its stacks, and its pauses one by one, past
 * any damage.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"
#include "utf8.h"

/* Damaged places to step over before giving up: a hostile file may hold any number. */
#define FAULTS_MAX 256

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

static int read_node(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t parent, frame;

	if (sqlite3_column_int64(row, 0) != (int64_t)reader->stacks.node_count ||
		!reader_unsigned(row, 1, reader->stacks.node_count - 1, &parent) ||
		!reader_unsigned(row, 2, reader->stacks.frame_count - 1, &frame) || !frame)
		return 1;
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
	if (!vec_add(&reader->strings)) /* id 0 is "" on both sides */
		return -ENOMEM;
	r = reader_scan(reader, "string", "SELECT id, text FROM string ORDER BY id", read_string);
	if (!r)
		r = reader_scan(reader, "frame",
			"SELECT id, function, file, line, lang FROM frame ORDER BY id", read_frame);
	if (!r)
		r = reader_scan(reader, "stack", "SELECT id, parent, frame FROM stack ORDER BY id",
			read_node);
	vec_free(&reader->strings);
	if (r) {
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

/* The next rows will be those after id @after. 0 or an SQLite code. */
static int seek(struct store_reader *reader, int64_t after)
{
	static const char sql[] =
		"SELECT id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, "
		"flags, "
		"collected, uncollectable, stack FROM pause WHERE id > ? ORDER BY id";
	int rc = SQLITE_OK;

	if (!reader->pauses)
		rc = sqlite3_prepare_v2(reader->db, sql, -1, &reader->pauses, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_reset(reader->pauses);
	return sqlite3_bind_int64(reader->pauses, 1, after);
}

int store_rewind(struct store_reader *reader)
{
	reader->last_id = 0;
	reader->read = 0;
	reader->faults = 0;
	reader->ended = false;
	if (reader->pauses)
		seek(reader, 0);
	return 0;
}

/* Column @at, or UNKNOWN when it is NULL or no sensible number. */
static int64_t known(sqlite3_stmt *row, int at, int64_t max)
{
	uint64_t value;

	return reader_unsigned(row, at, (uint64_t)max, &value) ? (int64_t)value : UNKNOWN;
}

/* Whether the row under the cursor is a pause that can have been. */
static bool read_pause(struct store_reader *reader, struct pause *ret)
{
	sqlite3_stmt *row = reader->pauses;
	uint64_t start, duration, runtime, tid, stack = STACK_NONE;

	if (!reader_unsigned(row, 1, INT64_MAX, &start) ||
		!reader_unsigned(row, 2, INT64_MAX - start, &duration) ||
		!reader_unsigned(row, 3, UINT32_MAX, &runtime) ||
		!reader_unsigned(row, 4, UINT32_MAX, &tid))
		return false;
	if (!recording_runtime(&reader->recording, (uint32_t)runtime))
		reader_damaged(reader, "a pause names a runtime that is not there");
	if (sqlite3_column_type(row, 11) != SQLITE_NULL &&
		!reader_unsigned(row, 11, reader->stacks.node_count - 1, &stack))
		reader_damaged(reader, "a pause names a stack that is not there");
	*ret = (struct pause){
		.id = (uint64_t)reader->last_id,
		.start_ns = start,
		.end_ns = start + duration,
		.runtime = (uint32_t)runtime,
		.tid = (uint32_t)tid,
		.interpreter = (int32_t)known(row, 5, INT32_MAX),
		.generation = (int32_t)known(row, 6, INT32_MAX),
		.cause = (uint32_t)sqlite3_column_int64(row, 7),
		.flags = (uint32_t)sqlite3_column_int64(row, 8),
		.collected = known(row, 9, INT64_MAX),
		.uncollectable = known(row, 10, INT64_MAX),
		.stack = (uint32_t)stack,
	};
	return true;
}

/*
 * Steps over a place that cannot be read: tries ids ever further on until one can. Whether there is
 * one; the cursor then stands before it.
 */
static bool step_over(struct store_reader *reader)
{
	for (int64_t gap = 1; reader->last_id <= INT64_MAX - gap; gap *= 2) {
		if (reader->faults >= FAULTS_MAX)
			return false;
		reader->faults++;
		if (seek(reader, reader->last_id + gap - 1) != SQLITE_OK)
			return false;
		switch (sqlite3_step(reader->pauses)) {
		case SQLITE_ROW:
			/* stands on a row: read it again through the loop */
			return seek(reader, reader->last_id + gap - 1) == SQLITE_OK;
		case SQLITE_DONE:
			return false;
		}
		if (gap > INT64_MAX / 2)
			return false;
	}
	return false;
}

static int pauses_end(struct store_reader *reader, struct err *err)
{
	reader->ended = true;
	if (!*reader->recording.damage)
		return 0;
	return err_set(err, EBADMSG, "%s is damaged (%s): %llu pauses of it could be read",
		reader->path, reader->recording.damage, (unsigned long long)reader->read);
}

static int pauses_begin(struct store_reader *reader, struct err *err)
{
	if (!store_stacks(reader, err))
		return -ENOMEM;
	if (seek(reader, 0) == SQLITE_OK)
		return 0;
	return err_set(err, EBADMSG, "cannot read the pauses of %s: %s", reader->path,
		sqlite3_errmsg(reader->db));
}

int store_next_pause(struct store_reader *reader, struct pause *ret, struct err *err)
{
	int r = reader->pauses ? 0 : pauses_begin(reader, err);

	while (!r && !reader->ended) {
		int rc = sqlite3_step(reader->pauses);
		int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(reader->pauses, 0) : 0;

		if (rc == SQLITE_DONE)
			break;
		if (rc == SQLITE_NOMEM)
			return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
		if (rc == SQLITE_ROW && id > reader->last_id) {
			reader->last_id = id;
			if (read_pause(reader, ret)) {
				reader->read++;
				return 1;
			}
			reader_damaged(reader, "table pause holds an impossible row");
			continue;
		}
		reader_damaged(reader, "table pause: %s",
			rc == SQLITE_ROW ? "rows out of order" : sqlite3_errmsg(reader->db));
		if (!step_over(reader))
			break;
	}
	return r ? r : pauses_end(reader, err);
}
