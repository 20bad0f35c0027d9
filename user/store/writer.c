/*
 * Facts in, rows of a .gct file out: prepared statements, large transactions, one failure that ends
 * it all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mem.h"
#include "store.h"
#include "store_file.h"
#include "utf8.h"

/*
 * Pauses a transaction when the caller never commits: bounds the WAL and what a failure can lose.
 */
#define COMMIT_PAUSES 16384

/* Pauses that one INSERT takes: a third cheaper than one each. */
#define BATCH	16
#define COLUMNS 12

enum put { META, CLOCK, PROCESS, RUNTIME, DROP, STRING, FRAME, STACK, PAUSE, PAUSES, PUTS };

#define PAUSE_1	 "(?,?,?,?,?,?,?,?,?,?,?,?)"
#define PAUSE_4	 PAUSE_1 "," PAUSE_1 "," PAUSE_1 "," PAUSE_1
#define PAUSE_16 PAUSE_4 "," PAUSE_4 "," PAUSE_4 "," PAUSE_4

static const char *const put_sql[PUTS] = {
	[META] = "INSERT OR REPLACE INTO meta VALUES (?,?)",
	[CLOCK] = "INSERT OR REPLACE INTO clock VALUES (?,?)",
	[PROCESS] = "INSERT OR REPLACE INTO process VALUES (?,?,?,?,?,?,?,?)",
	[RUNTIME] = "INSERT OR REPLACE INTO runtime VALUES (?,?,?,?,?,?,?,?,?)",
	[DROP] = "INSERT OR REPLACE INTO drops VALUES (?,?,?,?)",
	[STRING] = "INSERT INTO string VALUES (?,?)",
	[FRAME] = "INSERT INTO frame VALUES (?,?,?,?,?)",
	[STACK] = "INSERT INTO stack VALUES (?,?,?)",
	[PAUSE] = "INSERT INTO pause VALUES " PAUSE_1,
	[PAUSES] = "INSERT INTO pause VALUES " PAUSE_16,
};

struct store_writer {
	sqlite3 *db;
	sqlite3_stmt *put[PUTS], *begin, *commit;
	char *path;
	uint32_t strings, frames, nodes; /* of the stack table: the next one to write */
	struct pause batch[BATCH];
	unsigned batched;
	uint64_t pending; /* pauses in the open transaction, those in the batch too */
	uint64_t lost;			 /* pauses that a failure cost */
	bool open;			 /* a transaction is */
	int failed; /* -errno of the first failure, after which nothing is taken */
	struct err error;
};

/*
 * No fsync while recording: the ring buffer would overflow meanwhile. What is committed survives
 * the death of this process but perhaps not of the machine. The exclusive lock keeps the WAL's
 * index in memory (no -shm file) and a second recorder out. 4 MiB of WAL, then its pages move into
 * the file.
 */
static const char setup_sql[] = "PRAGMA page_size = 8192;"
				"PRAGMA locking_mode = EXCLUSIVE;"
				"PRAGMA journal_mode = MEMORY;"
				"PRAGMA synchronous = OFF;"
				"PRAGMA temp_store = MEMORY;"
				"PRAGMA cache_size = -1024;";
static const char record_sql[] = "COMMIT;"
				 "PRAGMA journal_mode = WAL;"
				 "PRAGMA wal_autocheckpoint = 512;";

static int fail_text(struct store_writer *writer, int code, struct err *err)
{
	const char *path = writer->path;

	switch (code) {
	case ENOSPC:
	case EDQUOT:
		return err_set(err, code,
			"cannot write %s: the disk is full; what was recorded before stays "
			"readable: "
			"free space, or record to another disk with -o",
			path);
	case EFBIG:
		return err_set(err, code,
			"cannot write %s: it has reached the largest size allowed (ulimit -f, or "
			"the "
			"file system); what was recorded before stays readable",
			path);
	case ENOMEM:
		return err_set(err, code, "cannot write %s: out of memory", path);
	}
	return err_set(err, code,
		"cannot write %s: %s (%s); what was recorded before stays readable: check the "
		"disk, or "
		"record elsewhere with -o",
		path, sqlite3_errmsg(writer->db), strerror(code));
}

/* The first failure undoes the open transaction and is remembered. Returns its -errno. */
static int fail(struct store_writer *writer, int rc)
{
	if (!writer->failed) {
		int code = -store_errno(writer->db, rc);

		fail_text(writer, code, &writer->error);
		writer->failed = -code;
		writer->lost += writer->pending;
		writer->pending = writer->batched = 0;
		if (writer->open)
			sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
		writer->open = false;
	}
	return writer->failed;
}

static int step(struct store_writer *writer, sqlite3_stmt *statement)
{
	int rc, r = 0;

	errno = 0; /* for store_errno() */
	rc = sqlite3_step(statement);
	if (rc != SQLITE_DONE)
		r = fail(writer, rc);
	sqlite3_reset(statement);
	return r;
}

/* A transaction stands open afterwards, and the statement is handed out, or NULL: it has failed. */
static sqlite3_stmt *begin_put(struct store_writer *writer, enum put put)
{
	if (writer->failed)
		return NULL;
	if (!writer->open) {
		if (step(writer, writer->begin))
			return NULL;
		writer->open = true;
	}
	return writer->put[put];
}

static void bind_unsigned(sqlite3_stmt *statement, int at, uint64_t value)
{
	sqlite3_bind_int64(statement, at, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void bind_known(sqlite3_stmt *statement, int at, int64_t value)
{
	if (value < 0)
		sqlite3_bind_null(statement, at);
	else
		sqlite3_bind_int64(statement, at, value);
}

/* The text must live until the step unless it had to be cleaned; NULL stays NULL. */
static void bind_bytes(sqlite3_stmt *statement, int at, const char *text, size_t len)
{
	char *clean;

	if (!text || utf8_valid(text, len)) {
		sqlite3_bind_text64(statement, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
		return;
	}
	clean = sqlite3_malloc64(3 * (sqlite3_uint64)len + 1);
	len = clean ? utf8_clean(clean, 3 * len + 1, text, len) : 0;
	sqlite3_bind_text64(statement, at, clean ? clean : "", len,
		clean ? sqlite3_free : SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	bind_bytes(statement, at, text, text ? strlen(text) : 0);
}

static int put_meta(struct store_writer *writer, const char *key, const char *value)
{
	sqlite3_stmt *put = begin_put(writer, META);

	if (!put)
		return writer->failed;
	bind_text(put, 1, key);
	bind_text(put, 2, value);
	return step(writer, put);
}

static int put_meta_number(struct store_writer *writer, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return put_meta(writer, key, text);
}

int store_put_process(struct store_writer *writer, const struct process *process)
{
	sqlite3_stmt *put = begin_put(writer, PROCESS);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, process->pid);
	sqlite3_bind_int64(put, 3, process->ns_pid);
	sqlite3_bind_int64(put, 4, process->ppid);
	bind_bytes(put, 5, process->comm, strnlen(process->comm, sizeof(process->comm)));
	sqlite3_bind_blob64(put, 6, process->cmdline, process->cmdline_len, SQLITE_STATIC);
	bind_unsigned(put, 7, process->seen_ns);
	bind_known(put, 8, process->exit_ns ? (int64_t)process->exit_ns : UNKNOWN);
	return step(writer, put);
}

int store_put_runtime(struct store_writer *writer, const struct runtime *runtime)
{
	sqlite3_stmt *put = begin_put(writer, RUNTIME);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, runtime->id);
	sqlite3_bind_int64(put, 2, runtime->process);
	bind_bytes(put, 3, runtime->kind, strnlen(runtime->kind, sizeof(runtime->kind)));
	bind_bytes(put, 4, runtime->version, strnlen(runtime->version, sizeof(runtime->version)));
	bind_bytes(put, 5, runtime->tier, strnlen(runtime->tier, sizeof(runtime->tier)));
	bind_text(put, 6, runtime->path);
	bind_text(put, 7, runtime->detail);
	bind_unsigned(put, 8, runtime->attached_ns);
	bind_unsigned(put, 9, runtime->missed);
	return step(writer, put);
}

int store_put_drop(struct store_writer *writer, const struct drop *drop)
{
	sqlite3_stmt *put = begin_put(writer, DROP);

	if (!put)
		return writer->failed;
	bind_bytes(put, 1, drop->cause, strnlen(drop->cause, sizeof(drop->cause)));
	bind_bytes(put, 2, drop->remedy, strnlen(drop->remedy, sizeof(drop->remedy)));
	bind_unsigned(put, 3, drop->count);
	bind_unsigned(put, 4, drop->time_ns);
	return step(writer, put);
}

static int put_string(struct store_writer *writer, const struct strtab *strings, uint32_t id)
{
	sqlite3_stmt *put = begin_put(writer, STRING);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, id);
	bind_bytes(put, 2, strtab_get(strings, id), strtab_len(strings, id));
	return step(writer, put);
}

static int put_frame(struct store_writer *writer, const struct frame *frame, uint32_t id)
{
	sqlite3_stmt *put = begin_put(writer, FRAME);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, id);
	sqlite3_bind_int64(put, 2, frame->function);
	bind_known(put, 3, frame->file ? (int64_t)frame->file : UNKNOWN);
	bind_known(put, 4, frame->line ? (int64_t)frame->line : UNKNOWN);
	sqlite3_bind_int64(put, 5, frame->lang);
	return step(writer, put);
}

static int put_node(struct store_writer *writer, const struct stack_node *node, uint32_t id)
{
	sqlite3_stmt *put = begin_put(writer, STACK);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, id);
	sqlite3_bind_int64(put, 2, node->parent);
	sqlite3_bind_int64(put, 3, node->frame);
	return step(writer, put);
}

int store_put_stacks(struct store_writer *writer, const struct stack_table *stacks)
{
	int r = writer->failed;

	for (; !r && writer->strings < strtab_count(stacks->strings); writer->strings++)
		r = put_string(writer, stacks->strings, writer->strings);
	for (; !r && writer->frames < stacks->frame_count; writer->frames++)
		r = put_frame(writer, &stacks->frames[writer->frames], writer->frames);
	for (; !r && writer->nodes < stacks->node_count; writer->nodes++)
		r = put_node(writer, &stacks->nodes[writer->nodes], writer->nodes);
	return r;
}

/* Binds @pause to the parameters after the first @at. */
static void bind_pause(sqlite3_stmt *put, int at, const struct pause *pause)
{
	bind_unsigned(put, at + 1, pause->id);
	bind_unsigned(put, at + 2, pause->start_ns);
	bind_unsigned(put, at + 3, pause_duration(pause));
	sqlite3_bind_int64(put, at + 4, pause->runtime);
	sqlite3_bind_int64(put, at + 5, pause->tid);
	bind_known(put, at + 6, pause->interpreter);
	bind_known(put, at + 7, pause->generation);
	sqlite3_bind_int64(put, at + 8, pause->cause);
	sqlite3_bind_int64(put, at + 9, pause->flags);
	bind_known(put, at + 10, pause->collected);
	bind_known(put, at + 11, pause->uncollectable);
	bind_known(put, at + 12, pause->stack ? (int64_t)pause->stack : UNKNOWN);
}

/* Writes the pauses of the batch, all at once if it is full. */
static int put_batch(struct store_writer *writer)
{
	unsigned count = writer->batched;
	int r = 0;

	writer->batched = 0;
	if (count == BATCH) {
		for (unsigned i = 0; i < BATCH; i++)
			bind_pause(writer->put[PAUSES], (int)i * COLUMNS, &writer->batch[i]);
		return step(writer, writer->put[PAUSES]);
	}
	for (unsigned i = 0; i < count && !r; i++) {
		bind_pause(writer->put[PAUSE], 0, &writer->batch[i]);
		r = step(writer, writer->put[PAUSE]);
	}
	return r;
}

int store_put_pause(struct store_writer *writer, const struct pause *pause)
{
	if (!begin_put(writer, PAUSE)) {
		writer->lost++;
		return writer->failed;
	}
	if (pause->end_ns < pause->start_ns)
		return -EINVAL;
	writer->batch[writer->batched++] = *pause;
	writer->pending++;
	if (writer->pending >= COMMIT_PAUSES)
		return store_commit(writer);
	return writer->batched == BATCH ? put_batch(writer) : 0;
}

int store_commit(struct store_writer *writer)
{
	int r;

	if (writer->failed || !writer->open)
		return writer->failed;
	r = put_batch(writer);
	r = r ? r : step(writer, writer->commit);
	if (!r) {
		writer->open = false;
		writer->pending = 0;
	}
	return r;
}

const char *store_writer_error(const struct store_writer *writer)
{
	return writer->failed ? writer->error.text : "the pause ends before it begins";
}

static int prepare(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	for (enum put i = 0; rc == SQLITE_OK && i < PUTS; i++)
		rc = sqlite3_prepare_v3(writer->db, put_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
			&writer->put[i], NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(writer->db, "BEGIN", -1, SQLITE_PREPARE_PERSISTENT,
			&writer->begin, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(writer->db, "COMMIT", -1, SQLITE_PREPARE_PERSISTENT,
			&writer->commit, NULL);
	return rc;
}

/*
 * The schema and the facts of the start go into the file itself, before there is a WAL: whatever
 * happens later, its first page names it a recording. 0 or -errno, with the failure set.
 */
static int begin_recording(struct store_writer *writer, const struct recording *head)
{
	sqlite3_stmt *put;
	int rc = sqlite3_exec(writer->db, setup_sql, NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(writer->db, store_schema_sql, NULL, NULL, NULL);
	writer->open = true;
	if (rc == SQLITE_OK)
		rc = prepare(writer);
	if (rc != SQLITE_OK)
		return fail(writer, rc);
	put_meta(writer, "version", head->version);
	put_meta(writer, "host", head->host);
	put_meta(writer, "boot_id", head->boot_id);
	put_meta_number(writer, "start_ns", head->start_ns);
	put = begin_put(writer, CLOCK);
	if (put) {
		bind_unsigned(put, 1, head->start_ns);
		sqlite3_bind_int64(put, 2, (int64_t)head->start_ns + head->realtime_offset_ns);
		step(writer, put);
	}
	if (writer->failed)
		return writer->failed;
	rc = sqlite3_exec(writer->db, record_sql, NULL, NULL, NULL);
	writer->open = false;
	return rc == SQLITE_OK ? 0 : fail(writer, rc);
}

static void writer_free(struct store_writer *writer)
{
	for (enum put i = 0; i < PUTS; i++)
		sqlite3_finalize(writer->put[i]);
	sqlite3_finalize(writer->begin);
	sqlite3_finalize(writer->commit);
	sqlite3_close(writer->db);
	free(writer->path);
	free(writer);
}

int store_create(const char *path, const struct recording *head, struct store_writer **ret,
	struct err *err)
{
	struct store_writer *writer;
	int r = store_file_claim(path, err);

	if (r)
		return r;
	writer = calloc(1, sizeof(*writer));
	if (!writer || !(writer->path = strdup(path))) {
		free(writer);
		return err_set(err, ENOMEM, "cannot record to %s: out of memory", path);
	}
	writer->strings = writer->frames = writer->nodes = 1;
	r = store_file_open(path, "", SQLITE_OPEN_READWRITE, NULL, &writer->db);
	r = r == SQLITE_OK ? begin_recording(writer, head) : fail(writer, r);
	if (r) {
		if (err)
			*err = writer->error;
		writer_free(writer);
		unlink(path);
		return r;
	}
	*ret = writer;
	return 0;
}

/*
 * After a failure: what it cost becomes a fact of the recording, if there is room for one row more.
 */
static void put_lost(struct store_writer *writer)
{
	struct drop drop = {
		.cause = "store-failed",
		.remedy = "free space, or record to another disk with -o",
		.count = writer->lost,
		.time_ns = now_ns(),
	};
	int failed = writer->failed;

	writer->failed = 0;
	if (writer->lost)
		store_put_drop(writer, &drop);
	if (!writer->failed)
		store_commit(writer);
	writer->failed = failed;
}

static void put_end(struct store_writer *writer, const struct recording *recording)
{
	int failed = writer->failed;

	writer->failed = 0;
	for (size_t i = 0; i < recording->processes.count; i++)
		store_put_process(writer, &recording->processes.items[i]);
	for (size_t i = 0; i < recording->runtimes.count; i++)
		store_put_runtime(writer, &recording->runtimes.items[i]);
	for (size_t i = 0; i < recording->drops.count; i++)
		store_put_drop(writer, &recording->drops.items[i]);
	put_meta_number(writer, "end_ns", recording->end_ns);
	put_meta(writer, "complete", recording->complete && !failed ? "1" : "0");
	store_commit(writer);
	writer->failed = failed ? failed : writer->failed;
}

/*
 * Moves the WAL into the file, makes it durable, and leaves a plain database that any reader can
 * open.
 */
static int finish(struct store_writer *writer)
{
	int rc = sqlite3_exec(writer->db,
		"PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;", NULL, NULL, NULL);

	return rc == SQLITE_OK ? writer->failed : fail(writer, rc);
}

int store_close(struct store_writer *writer, const struct recording *recording, struct err *err)
{
	int r;

	if (!writer)
		return 0;
	if (writer->failed)
		put_lost(writer);
	else
		store_commit(writer);
	put_end(writer, recording);
	r = finish(writer);
	if (r && err)
		*err = writer->error;
	writer_free(writer);
	return r;
}

void store_abandon(struct store_writer *writer)
{
	if (!writer)
		return;
	store_commit(writer);
	finish(writer);
	writer_free(writer);
}
