/* A path in; out comes the recording there, open, or the one reason why it cannot be opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "reader.h"
#include "store_file.h"

#define TEXT_BYTES_MAX (16 << 20) /* the most that SQLite may return at once */

/* Whether @path is a recording that this reader can open now. 0 or -errno with a sentence. */
static int inspect(const char *path, struct store_file *ret, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!r && !S_ISREG(st.st_mode))
		return err_set(err, EBADMSG,
			"%s is not a gctrace recording: it is not a regular file", path);
	r = r ? r : store_file_inspect(fd, ret);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "there is no file %s", path);
	if (r)
		return err_set(err, -r, "cannot read %s: %s%s", path, strerror(-r),
			r == -EACCES
				? "; recordings are made for their owner alone: have it chmod the file, or "
				  "use sudo"
				: "");
	switch (ret->kind) {
	case STORE_EMPTY:
		return err_set(err, EBADMSG, "%s is empty: nothing was recorded into it", path);
	case STORE_FOREIGN:
		return err_set(err, EBADMSG, "%s is not a gctrace recording", path);
	case STORE_OTHER:
		return err_set(err, EBADMSG, "%s is a SQLite database but not a gctrace recording",
			path);
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

/* Nothing in a file may cost more than its size, or be executed. An SQLite result. */
static int trust_little(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
	sqlite3_drop_modules(db, NULL); /* a recording has no virtual tables */
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* Lets SQLite open a file that is shorter than its header says, to read what is there. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	return sqlite3_exec(db,
		"PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -1024;",
		NULL, NULL, NULL);
}

/*
 * Without a lock, a -shm file or a write, so that an unprivileged reader and a read-only folder
 * suffice: a file that was closed cleanly is immutable; one that was cut off is read together with
 * its -wal, whose index an exclusive connection keeps in memory.
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
	rc = sqlite3_exec(reader->db, "PRAGMA locking_mode = EXCLUSIVE;", NULL, NULL, NULL);
	return rc == SQLITE_OK ? trust_little(reader->db) : rc;
}

/* The size of the file, or of its WAL (SQLITE_FCNTL_JOURNAL_POINTER). */
static uint64_t bytes_of(struct store_reader *reader, int which)
{
	sqlite3_file *file = NULL;
	sqlite3_int64 bytes = 0;

	if (sqlite3_file_control(reader->db, "main", which, &file) == SQLITE_OK && file &&
		file->pMethods && file->pMethods->xFileSize(file, &bytes) == SQLITE_OK && bytes > 0)
		return (uint64_t)bytes;
	return 0;
}

/*
 * Prepares what is open for reading: its facts and places. 0, or -errno with a sentence and @reader
 * freed.
 */
static int begin_reading(struct store_reader *reader, struct store_reader **ret, struct err *err)
{
	int r = reader_check_tables(reader, err);

	r = r ? r : reader_read_facts(reader, err);
	if (r) {
		store_reader_free(reader);
		return r;
	}
	reader->pauses = (struct cursor){.table = "pause", .things = "pauses"};
	reader->marks = (struct cursor){.table = "step_mark", .things = "step marks"};
	reader_begin_facts(reader);
	reader->recording.bytes = bytes_of(reader, SQLITE_FCNTL_FILE_POINTER) +
				  bytes_of(reader, SQLITE_FCNTL_JOURNAL_POINTER);
	*ret = reader;
	return 0;
}

int store_file_read(sqlite3 *db, const char *path, struct store_reader **ret, struct err *err)
{
	struct store_reader *reader = calloc(1, sizeof(*reader));

	if (!reader || !(reader->path = strdup(path))) {
		free(reader);
		sqlite3_close(db);
		return err_set(err, ENOMEM, "cannot read %s: out of memory", path);
	}
	reader->db = db;
	trust_little(db);
	return begin_reading(reader, ret, err);
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
	if (r) {
		store_reader_free(reader);
		return r;
	}
	return begin_reading(reader, ret, err);
}

void store_reader_free(struct store_reader *reader)
{
	if (!reader)
		return;
	sqlite3_finalize(reader->pauses.rows);
	sqlite3_finalize(reader->marks.rows);
	reader_end_facts(reader);
	sqlite3_close(reader->db);
	recording_release(&reader->recording);
	gpu_release(&reader->gpu);
	if (reader->stacks_loaded)
		stack_table_release(&reader->stacks);
	vec_free(&reader->strings);
	vec_free(&reader->frames);
	vec_free(&reader->nodes);
	vec_free(&reader->sizes);
	u64map_release(&reader->runtimes);
	free(reader->path);
	free(reader);
}

const struct recording *store_recording(const struct store_reader *reader)
{
	return &reader->recording;
}
