/* An open database in; out comes whether its tables are those of a recording, new or old. */
#include <errno.h>

#include "cleanup.h"
#include "reader.h"

static const struct {
	const char *name;
	bool added; /* came after the first recordings: may be missing */
} tables[] = {
	{"meta", false},
	{"clock", false},
	{"process", false},
	{"runtime", false},
	{"pause", false},
	{"stack", false},
	{"frame", false},
	{"string", false},
	{"drops", false},
	{"step_signal", true},
	{"step_series", true},
	{"step_mark", true},
	{"safepoint", true},
	{"stall", true},
	{"phase", true},
	{"thread", true},
	{"process_cpu", true},
	{"fact", true},
	{"gpu_device", true},
	{"gpu_busy", true},
	{"gpu_call", true},
	{"gpu_launcher", true},
	{"gpu_memory", true},
	{"gpu_unknown", true},
	{"gpu_driver", true},
	{"gpu_driver_call", true},
};

/* Asks what SQLite itself resolved the name to: rows of sqlite_schema can be forged. */
static int look_up(const struct store_reader *reader, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(reader->db, "main", table, column, NULL, NULL, NULL,
		NULL, NULL);
}

bool reader_has(const struct store_reader *reader, const char *table, const char *column)
{
	return look_up(reader, table, column) == SQLITE_OK;
}

/* The one number that @sql gives for @table into *ret. An SQLite code. */
static int ask(struct store_reader *reader, const char *sql, const char *table, int *ret)
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		*ret = sqlite3_column_int(statement, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return rc;
}

/* *ret_fit: whether the table can be read, or is missing and may be. An SQLite code. */
static int judge(struct store_reader *reader, const char *table, bool added, bool *ret_fit)
{
	int rc = look_up(reader, table, NULL), odd = 0;

	if (rc == SQLITE_OK)
		rc = ask(reader, "SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0",
			table, &odd);
	else if (rc == SQLITE_ERROR && added) /* there is none, or a view of that name */
		rc = ask(reader, "SELECT count(*) FROM sqlite_schema WHERE name = ? COLLATE NOCASE",
			table, &odd);
	else if (rc == SQLITE_ERROR) {
		odd = 1;
		rc = SQLITE_OK;
	}
	*ret_fit = !odd;
	return rc;
}

int reader_check_tables(struct store_reader *reader, struct err *err)
{
	bool fit = true;
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && rc == SQLITE_OK && fit; i++)
		rc = judge(reader, tables[i].name, tables[i].added, &fit);
	if (rc == SQLITE_NOMEM)
		return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
	if (rc != SQLITE_OK)
		return err_set(err, EBADMSG,
			"%s is damaged beyond reading (%s): take another copy of it", reader->path,
			sqlite3_errmsg(reader->db));
	if (!fit)
		return err_set(err, EBADMSG,
			"%s lacks tables of a gctrace recording: it is damaged, or was cut off "
			"before recording began",
			reader->path);
	return 0;
}
