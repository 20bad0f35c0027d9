/* The large tables of an open .gct file in; out come its pauses and marks, one by one. */
#include <errno.h>

#include "cleanup.h"
#include "meaning.h"
#include "reader.h"

/* Reads the row under the cursor. Returns whether it is a plausible pause. */
static bool read_pause(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct pause *pause = ret;
	uint64_t start, duration, runtime, tid, stack = STACK_NONE;
	int64_t waited = reader_known(row, 16, INT64_MAX);

	if (!reader_unsigned(row, 1, INT64_MAX, &start) ||
		!reader_unsigned(row, 2, INT64_MAX - start, &duration) ||
		!reader_unsigned(row, 3, UINT32_MAX, &runtime) ||
		!reader_unsigned(row, 4, UINT32_MAX, &tid))
		return false;
	if (!recording_runtime(&reader->recording, (uint32_t)runtime))
		reader_damaged(reader, "a pause names a runtime that is not there");
	if (sqlite3_column_type(row, 11) != SQLITE_NULL &&
		!reader_unsigned(row, 11, reader->nodes.count - 1, &stack))
		reader_damaged(reader, "a pause names a stack that is not there");
	stack = reader->nodes.items[stack];
	*pause = (struct pause){
		.id = (uint64_t)cursor->last_id,
		.start_ns = start,
		.end_ns = start + duration,
		.runtime = (uint32_t)runtime,
		.tid = (uint32_t)tid,
		.stack = (uint32_t)stack,
	};
	pause->interpreter = (int32_t)reader_known(row, 5, INT32_MAX);
	pause->generation = (int32_t)reader_known(row, 6, INT32_MAX);
	pause->cause = (uint32_t)sqlite3_column_int64(row, 7);
	pause->flags = (uint32_t)sqlite3_column_int64(row, 8);
	pause->collected = reader_known(row, 9, INT64_MAX);
	pause->uncollectable = reader_known(row, 10, INT64_MAX);
	pause->heap_objects = reader_known(row, 12, MEMORY_MAX);
	pause->heap_pending = reader_known(row, 13, MEMORY_MAX);
	pause->rss_start = reader_known(row, 14, MEMORY_MAX);
	pause->rss_end = reader_known(row, 15, MEMORY_MAX);
	pause->waited_ns = waited < (int64_t)duration ? waited : (int64_t)duration;
	return true;
}

/* Older recordings lack the last columns: NULL stands in for them. */
static int begin_pauses(struct store_reader *reader, struct err *err)
{
	static const char *const added[] = {
		"heap_objects", "heap_pending", "rss_start", "rss_end", "waited_ns"};
	const char *names[ARRAY_SIZE(added)];
	char sql[384];

	if (!store_stacks(reader, err))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		names[i] = reader_has(reader, "pause", added[i]) ? added[i] : "NULL";
	snprintf(sql, sizeof(sql),
		"SELECT id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, "
		"flags, collected, uncollectable, stack, %s, %s, %s, %s, %s FROM pause "
		"WHERE id > ? ORDER BY id",
		names[0], names[1], names[2], names[3], names[4]);
	return cursor_begin(reader, &reader->pauses, sql, err);
}

int store_next_pause(struct store_reader *reader, struct pause *ret, struct err *err)
{
	int r = reader->pauses.rows ? 0 : begin_pauses(reader, err);

	r = r ? r : cursor_next(reader, &reader->pauses, read_pause, ret, err);
	if (r <= 0)
		return r;
	if (reader_join_facts(reader, ret))
		return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
	reader->meaning->judge(reader->stacks.strings, ret);
	return r;
}

int store_rewind(struct store_reader *reader)
{
	cursor_rewind(&reader->pauses);
	reader_rewind_facts(reader);
	return 0;
}

static bool read_mark(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	uint64_t series, time, skipped;

	if (!reader_unsigned(row, 1, UINT32_MAX, &series) ||
		!reader_unsigned(row, 2, INT64_MAX, &time))
		return false;
	if (!recording_series(&reader->recording, (uint32_t)series)) {
		reader_damaged(reader, "a step mark names a series that is not there");
		return false;
	}
	*(struct mark *)ret = (struct mark){
		.series = (uint32_t)series,
		.time_ns = time,
		.rss_bytes = reader_known(row, 3, MEMORY_MAX),
		.skipped = reader_unsigned(row, 4, UINT32_MAX, &skipped) ? (uint32_t)skipped : 0,
		.work_ns = reader_known(row, 5, INT64_MAX),
	};
	return true;
}

/* Older recordings lack the last columns. */
static int begin_marks(struct store_reader *reader, struct err *err)
{
	char sql[128];

	if (!reader_has(reader, "step_mark", NULL))
		return 0;
	snprintf(sql, sizeof(sql),
		"SELECT id, series, time_ns, rss_bytes, %s, %s FROM step_mark WHERE id > ? ORDER BY id",
		reader_has(reader, "step_mark", "skipped") ? "skipped" : "NULL",
		reader_has(reader, "step_mark", "work_ns") ? "work_ns" : "NULL");
	return cursor_begin(reader, &reader->marks, sql, err);
}

int store_next_mark(struct store_reader *reader, struct mark *ret, struct err *err)
{
	int r = reader->marks.rows ? 0 : begin_marks(reader, err);

	return r ? r : cursor_next(reader, &reader->marks, read_mark, ret, err);
}
