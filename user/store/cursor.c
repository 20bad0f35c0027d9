/* A table's rows in, by id; out come the readable ones, past any damage, with a note of it. */
#include <errno.h>

#include "reader.h"

/* Damaged places to step over before giving up: a hostile file may have any number of them. */
#define FAULTS_MAX 256

/* The next rows will be those after id @after. 0 or an SQLite code. */
static int seek(struct cursor *cursor, int64_t after)
{
	sqlite3_reset(cursor->rows);
	return sqlite3_bind_int64(cursor->rows, 1, after);
}

int cursor_begin(struct store_reader *reader, struct cursor *cursor, const char *sql,
	struct err *err)
{
	int rc = sqlite3_prepare_v2(reader->db, sql, -1, &cursor->rows, NULL);

	if (rc == SQLITE_OK)
		rc = seek(cursor, 0);
	if (rc == SQLITE_OK)
		return 0;
	sqlite3_finalize(cursor->rows);
	cursor->rows = NULL;
	return err_set(err, rc == SQLITE_NOMEM ? ENOMEM : EBADMSG, "cannot read the %s of %s: %s",
		cursor->things, reader->path, sqlite3_errmsg(reader->db));
}

void cursor_rewind(struct cursor *cursor)
{
	cursor->last_id = 0;
	cursor->read = 0;
	cursor->faults = 0;
	cursor->ended = false;
	if (cursor->rows)
		seek(cursor, 0);
}

/*
 * Steps over a place that cannot be read: tries ids further and further on until one can be.
 * Returns whether there is one; the cursor then stands before it.
 */
static bool step_over(struct cursor *cursor)
{
	for (int64_t gap = 1; cursor->last_id <= INT64_MAX - gap; gap *= 2) {
		if (cursor->faults >= FAULTS_MAX)
			return false;
		cursor->faults++;
		if (seek(cursor, cursor->last_id + gap - 1) != SQLITE_OK)
			return false;
		switch (sqlite3_step(cursor->rows)) {
		case SQLITE_ROW:
			/* stands on a row: read it again through the loop */
			return seek(cursor, cursor->last_id + gap - 1) == SQLITE_OK;
		case SQLITE_DONE:
			return false;
		}
		if (gap > INT64_MAX / 2)
			return false;
	}
	return false;
}

static int end(struct store_reader *reader, struct cursor *cursor, struct err *err)
{
	cursor->ended = true;
	if (!*reader->recording.damage)
		return 0;
	return err_set(err, EBADMSG, "%s is damaged (%s): %llu %s of it could be read",
		reader->path, reader->recording.damage, (unsigned long long)cursor->read,
		cursor->things);
}

int cursor_next(struct store_reader *reader, struct cursor *cursor,
	bool (*read)(struct store_reader *, const struct cursor *, void *ret), void *ret,
	struct err *err)
{
	while (cursor->rows && !cursor->ended) {
		int rc = sqlite3_step(cursor->rows);
		int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(cursor->rows, 0) : 0;

		if (rc == SQLITE_DONE)
			break;
		if (rc == SQLITE_NOMEM)
			return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
		if (rc == SQLITE_ROW && id > cursor->last_id) {
			cursor->last_id = id;
			if (read(reader, cursor, ret)) {
				cursor->read++;
				return 1;
			}
			reader_damaged(reader, "table %s holds an impossible row", cursor->table);
			continue;
		}
		reader_damaged(reader, "table %s: %s", cursor->table,
			rc == SQLITE_ROW ? "rows out of order" : sqlite3_errmsg(reader->db));
		if (!step_over(cursor))
			break;
	}
	return end(reader, cursor, err);
}
