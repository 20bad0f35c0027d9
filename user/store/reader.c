/*
 * A path in; out come the facts of the recording that lies there, or the one reason why none can be
 * read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "reader.h"
#include "store_file.h"
#include "utf8.h"

#define TEXT_BYTES_MAX (16 << 20) /* of one name or command line */

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

/* Column @at into a fixed field, cleaned and cut. */
static void read_field(sqlite3_stmt *row, int at, char *field, size_t size)
{
	const void *text = sqlite3_column_blob(row, at);

	utf8_clean(field, size, text, text ? (size_t)sqlite3_column_bytes(row, at) : 0);
}

/* Column @at into *ret, cleaned; NULL stays NULL. 0 or -ENOMEM. */
static int read_text(sqlite3_stmt *row, int at, char **ret)
{
	const void *text = sqlite3_column_blob(row, at);
	size_t len = (size_t)sqlite3_column_bytes(row, at);

	if (!text)
		return 0;
	*ret = malloc(3 * len + 1);
	if (!*ret)
		return -ENOMEM;
	utf8_clean(*ret, 3 * len + 1, text, len);
	return 0;
}

static int read_meta(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	char key[32], value[32];
	char *end;
	uint64_t number;

	read_field(row, 0, key, sizeof(key));
	read_field(row, 1, value, sizeof(value));
	if (!strcmp(key, "version"))
		read_field(row, 1, recording->version, sizeof(recording->version));
	else if (!strcmp(key, "host"))
		read_field(row, 1, recording->host, sizeof(recording->host));
	else if (!strcmp(key, "boot_id"))
		read_field(row, 1, recording->boot_id, sizeof(recording->boot_id));
	errno = 0;
	number = strtoull(value, &end, 10);
	if (strcmp(key, "start_ns") && strcmp(key, "end_ns") && strcmp(key, "complete"))
		return 0;
	if (errno || *end || end == value || number > INT64_MAX)
		return 1;
	if (*key == 's')
		recording->start_ns = number;
	else if (*key == 'e')
		recording->end_ns = number;
	else
		recording->complete = number == 1;
	return 0;
}

static int read_clock(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t monotonic, realtime;

	if (!reader_unsigned(row, 0, INT64_MAX, &monotonic) ||
		!reader_unsigned(row, 1, INT64_MAX, &realtime))
		return 1;
	reader->recording.realtime_offset_ns = (int64_t)realtime - (int64_t)monotonic;
	return 0;
}

static int read_process(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->processes.count;
	uint64_t id, pid, ns_pid, ppid, seen_ns, exit_ns = 0;
	const void *cmdline = sqlite3_column_blob(row, 5);
	size_t len = (size_t)sqlite3_column_bytes(row, 5);
	struct process *process;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, INT32_MAX, &pid) ||
		!reader_unsigned(row, 2, INT32_MAX, &ns_pid) ||
		!reader_unsigned(row, 3, INT32_MAX, &ppid) ||
		!reader_unsigned(row, 6, INT64_MAX, &seen_ns) || !id ||
		(count && recording->processes.items[count - 1].id >= id))
		return 1;
	if (sqlite3_column_type(row, 7) != SQLITE_NULL &&
		!reader_unsigned(row, 7, INT64_MAX, &exit_ns))
		return 1;
	process = vec_add(&recording->processes);
	if (!process)
		return -ENOMEM;
	*process = (struct process){
		.id = (uint32_t)id,
		.pid = (pid_t)pid,
		.ns_pid = (pid_t)ns_pid,
		.ppid = (pid_t)ppid,
		.seen_ns = seen_ns,
		.exit_ns = exit_ns,
		.cmdline = len ? malloc(len) : NULL,
		.cmdline_len = (uint32_t)len,
	};
	if (len && !process->cmdline)
		return -ENOMEM;
	if (len)
		memcpy(process->cmdline, cmdline, len);
	read_field(row, 4, process->comm, sizeof(process->comm));
	return 0;
}

static int read_runtime(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->runtimes.count;
	uint64_t id, process, attached_ns, missed;
	struct runtime *runtime;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, UINT32_MAX, &process) ||
		!reader_unsigned(row, 7, INT64_MAX, &attached_ns) ||
		!reader_unsigned(row, 8, INT64_MAX, &missed) || !id ||
		!recording_process(recording, (uint32_t)process) ||
		(count && recording->runtimes.items[count - 1].id >= id))
		return 1;
	runtime = vec_add(&recording->runtimes);
	if (!runtime)
		return -ENOMEM;
	runtime->id = (uint32_t)id;
	runtime->process = (uint32_t)process;
	runtime->attached_ns = attached_ns;
	runtime->missed = missed;
	read_field(row, 2, runtime->kind, sizeof(runtime->kind));
	read_field(row, 3, runtime->version, sizeof(runtime->version));
	read_field(row, 4, runtime->tier, sizeof(runtime->tier));
	return read_text(row, 5, &runtime->path) || read_text(row, 6, &runtime->detail) ? -ENOMEM
											: 0;
}

static int read_drop(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t count, time_ns;
	struct drop *drop;

	if (!reader_unsigned(row, 2, INT64_MAX, &count) ||
		!reader_unsigned(row, 3, INT64_MAX, &time_ns))
		return 1;
	drop = vec_add(&reader->recording.drops);
	if (!drop)
		return -ENOMEM;
	read_field(row, 0, drop->cause, sizeof(drop->cause));
	read_field(row, 1, drop->remedy, sizeof(drop->remedy));
	drop->count = count;
	drop->time_ns = time_ns;
	return 0;
}

/*
 * Only real tables with plain columns are read: a view, a virtual table or a generated column of a
 * hostile file could compute for ever. 0, -ENOMEM, or -EBADMSG with a sentence.
 */
static int check_tables(struct store_reader *reader, struct err *err)
{
	static const char sql[] =
		"SELECT count(*) FROM sqlite_schema AS s WHERE type = 'table' AND rootpage > 0 AND "
		"name IN "
		"('meta','clock','process','runtime','pause','stack','frame','string','drops') "
		"AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(s.name) WHERE hidden <> 0)";
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL), tables = 0;

	if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		tables = sqlite3_column_int(statement, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	if (rc == SQLITE_NOMEM)
		return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
	if (rc != SQLITE_OK)
		return err_set(err, EBADMSG,
			"%s is damaged beyond reading (%s): take another copy of it", reader->path,
			sqlite3_errmsg(reader->db));
	if (tables != 9)
		return err_set(err, EBADMSG,
			"%s lacks tables of a gctrace recording: it is damaged, or was cut off "
			"before "
			"recording began",
			reader->path);
	return 0;
}

static int read_facts(struct store_reader *reader, struct err *err)
{
	static const struct {
		const char *table, *sql;
		int (*row)(struct store_reader *, sqlite3_stmt *);
	} facts[] = {
		{"meta", "SELECT key, value FROM meta", read_meta},
		{"clock",
			"SELECT monotonic_ns, realtime_ns FROM clock ORDER BY monotonic_ns LIMIT 1",
			read_clock},
		{"process",
			"SELECT id, pid, ns_pid, ppid, comm, cmdline, seen_ns, exit_ns FROM "
			"process "
			"ORDER BY id",
			read_process},
		{"runtime",
			"SELECT id, process, kind, version, tier, path, detail, attached_ns, "
			"missed "
			"FROM runtime ORDER BY id",
			read_runtime},
		{"drops", "SELECT cause, remedy, count, time_ns FROM drops ORDER BY time_ns, cause",
			read_drop},
	};
	struct recording *recording = &reader->recording;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (reader_scan(reader, facts[i].table, facts[i].sql, facts[i].row))
			return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
	if (!recording->start_ns)
		reader_damaged(reader, "table meta lacks start_ns");
	if (!recording->start_ns)
		return err_set(err, EBADMSG,
			"%s is damaged beyond reading (%s): take another copy of it", reader->path,
			recording->damage);
	if (recording->end_ns < recording->start_ns)
		recording->end_ns = 0;
	recording->cut_off = !recording->end_ns;
	recording->complete = recording->complete && !recording->cut_off && !*recording->damage &&
		!recording->drops.count;
	return 0;
}

/* Whether @path is a recording that this reader can open now. 0 or -errno with a sentence. */
static int inspect(const char *path, struct store_file *ret, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!r && !S_ISREG(st.st_mode))
		return err_set(
			err, EBADMSG, "%s is not a gctrace recording: it is no regular file", path);
	r = r ? r : store_file_inspect(fd, ret);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "there is no file %s", path);
	if (r)
		return err_set(err, -r, "cannot read %s: %s", path, strerror(-r));
	switch (ret->kind) {
	case STORE_EMPTY:
		return err_set(err, EBADMSG, "%s is empty: nothing was recorded into it", path);
	case STORE_FOREIGN:
		return err_set(err, EBADMSG, "%s is not a gctrace recording", path);
	case STORE_OTHER:
		return err_set(err, EBADMSG,
			"%s is a SQLite database but not a gctrace recording", path);
	case STORE_GCT:
		break;
	}
	if (ret->version > STORE_SCHEMA_VERSION)
		return err_set(err, EBADMSG,
			"%s was recorded by a newer gctrace (schema version %u, this one reads up "
			"to %d): "
			"update gctrace",
			path, ret->version, STORE_SCHEMA_VERSION);
	if (ret->writer)
		return err_set(err, EBUSY,
			"%s is still being recorded, by process %d: stop that first, with SIGINT",
			path, (int)ret->writer);
	return 0;
}

/*
 * Without a lock, a -shm file or a write, so that an unprivileged reader and a read-only folder do:
 * a file closed clean is immutable; one cut off is read together with its -wal, whose index an
 * exclusive connection keeps in memory.
 */
static int open_database(struct store_reader *reader, const struct store_file *file)
{
	_cleanup_free_ char *real = realpath(reader->path, NULL); /* as SQLite does */
	_cleanup_free_ char *wal = store_file_companion(real ? real : reader->path, "-wal");
	struct stat st;
	bool with_wal;
	int rc;

	if (!wal)
		return SQLITE_NOMEM;
	with_wal = file->wal && !stat(wal, &st) && st.st_size;
	rc = store_file_open(reader->path, with_wal ? "?mode=ro" : "?immutable=1",
		SQLITE_OPEN_READONLY, with_wal ? "unix-none" : NULL, &reader->db);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_limit(reader->db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* Lets SQLite open a file that is shorter than its header says, to read what is there. */
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	return sqlite3_exec(reader->db,
		"PRAGMA locking_mode = EXCLUSIVE; PRAGMA cell_size_check = ON; PRAGMA mmap_size = "
		"0;"
		"PRAGMA cache_size = -1024;",
		NULL, NULL, NULL);
}

int store_open(const char *path, struct store_reader **ret, struct err *err)
{
	struct store_file file = {0};
	struct store_reader *reader;
	int r = inspect(path, &file, err);

	if (r)
		return r;
	reader = calloc(1, sizeof(*reader));
	if (!reader || !(reader->path = strdup(path))) {
		free(reader);
		return err_set(err, ENOMEM, "cannot read %s: out of memory", path);
	}
	r = store_errno(reader->db, open_database(reader, &file));
	if (r)
		err_set(err, -r, "cannot read %s: %s", path,
			reader->db ? sqlite3_errmsg(reader->db) : strerror(-r));
	r = r ? r : check_tables(reader, err);
	r = r ? r : read_facts(reader, err);
	if (r) {
		store_reader_free(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

void store_reader_free(struct store_reader *reader)
{
	if (!reader)
		return;
	sqlite3_finalize(reader->pauses);
	sqlite3_close(reader->db);
	recording_release(&reader->recording);
	if (reader->stacks_loaded)
		stack_table_release(&reader->stacks);
	vec_free(&reader->strings);
	free(reader->path);
	free(reader);
}

const struct recording *store_recording(const struct store_reader *reader)
{
	return &reader->recording;
}
