/* Rows of a recording in; their values out, checked. What is implausible is noted as damage. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "reader.h"

void reader_damaged(struct store_reader *reader, const char *format, ...)
{
	char *damage = reader->recording.damage;
	va_list args;

	reader->recording.complete = false;
	if (*damage)
		return;
	va_start(args, format);
	vsnprintf(damage, sizeof(reader->recording.damage), format, args);
	va_end(args);
}

size_t reader_cut(struct store_reader *reader, size_t len, size_t most)
{
	if (len <= most)
		return len;
	reader_damaged(reader, "a text of %zu bytes is longer than any that is recorded", len);
	return most;
}

int reader_scan(struct store_reader *reader, const char *table, const char *sql,
	int (*row)(struct store_reader *, sqlite3_stmt *))
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL), r = 0;

	while (rc == SQLITE_OK && !r) {
		rc = sqlite3_step(statement);
		if (rc == SQLITE_ROW) {
			rc = SQLITE_OK;
			r = row(reader, statement);
		}
	}
	if (r > 0)
		reader_damaged(reader, "table %s holds an impossible row", table);
	else if (rc != SQLITE_OK && rc != SQLITE_DONE)
		reader_damaged(reader, "table %s: %s", table, sqlite3_errmsg(reader->db));
	sqlite3_finalize(statement);
	if (rc == SQLITE_NOMEM)
		return -ENOMEM;
	return r < 0 ? r : 0;
}

bool reader_unsigned(sqlite3_stmt *row, int at, uint64_t max, uint64_t *ret)
{
	int64_t value = sqlite3_column_int64(row, at);

	if (sqlite3_column_type(row, at) != SQLITE_INTEGER || value < 0 || (uint64_t)value > max)
		return false;
	*ret = (uint64_t)value;
	return true;
}

int64_t reader_known(sqlite3_stmt *row, int at, int64_t max)
{
	uint64_t value;

	return reader_unsigned(row, at, (uint64_t)max, &value) ? (int64_t)value : UNKNOWN;
}
