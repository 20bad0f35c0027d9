/*
 * A path in, a .gct file out: statements, large transactions, and a first failure that ends
 * everything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mem.h"
#include "store_file.h"
#include "writer.h"

#define FOUR(rows) rows "," rows "," rows "," rows
#define PAUSE_1	   "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define PAUSE_16   FOUR(FOUR(PAUSE_1))
#define MARK_1	   "(?,?,?,?,?,?)"
#define MARK_64	   FOUR(FOUR(FOUR(MARK_1)))

_Static_assert(sizeof(PAUSE_16) == PAUSE_BATCH * (2 * PAUSE_COLUMNS + 2), "rows and columns");
_Static_assert(sizeof(MARK_64) == MARK_BATCH * (2 * MARK_COLUMNS + 2), "rows and columns");

static const char *const put_sql[PUTS] = {
	[META] = "INSERT OR REPLACE INTO meta VALUES (?,?)",
	[CLOCK] = "INSERT OR REPLACE INTO clock VALUES (?,?)",
	[PROCESS] = "INSERT OR REPLACE INTO process VALUES (?,?,?,?,?,?,?,?)",
	[RUNTIME] = "INSERT OR REPLACE INTO runtime VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
	[DROP] = "INSERT OR REPLACE INTO drops VALUES (?,?,?,?)",
	[SIGNAL] = "INSERT OR REPLACE INTO step_signal VALUES (?,?,?,?,?,?)",
	[SERIES] = "INSERT OR REPLACE INTO step_series VALUES (?,?,?,?,?,?)",
	[PROCESS_CPU] = "INSERT OR REPLACE INTO process_cpu VALUES (?,?,?,?)",
	[THREAD] = "INSERT OR REPLACE INTO thread VALUES (?,?,?)",
	[STALL] = "INSERT INTO stall VALUES (?,?,?,?,?,?,?,?)",
	[PHASE] = "INSERT INTO phase VALUES (?,?,?,?,?,?)",
	[STRING] = "INSERT INTO string VALUES (?,?)",
	[FRAME] = "INSERT INTO frame VALUES (?,?,?,?,?)",
	[STACK] = "INSERT INTO stack VALUES (?,?,?)",
	[PAUSE] = "INSERT INTO pause VALUES " PAUSE_1,
	[PAUSES] = "INSERT INTO pause VALUES " PAUSE_16,
	[FACT] = "INSERT INTO fact (pause, key, value) VALUES (?,?,?)",
	[MARK] = "INSERT INTO step_mark VALUES " MARK_1,
	[MARKS] = "INSERT INTO step_mark VALUES " MARK_64,
	[GPU_DEVICE] = "INSERT OR REPLACE INTO gpu_device VALUES (?,?,?,?,?,?,?)",
	[GPU_BUSY] = "INSERT INTO gpu_busy VALUES (NULL,?,?,?,?,?,?,?,?,?,?)",
	[GPU_CALL] = "INSERT INTO gpu_call VALUES (NULL,?,?,?,?,?,?,?,?)",
	[GPU_LAUNCHER] = "INSERT OR REPLACE INTO gpu_launcher VALUES (?,?,?,?)",
	[GPU_MEMORY] = "INSERT INTO gpu_memory VALUES (NULL,?,?,?,?)",
	[GPU_UNKNOWN] = "INSERT INTO gpu_unknown VALUES (NULL,?,?,?,?,?,?)",
	[GPU_DRIVER] = "INSERT OR REPLACE INTO gpu_driver VALUES (?,?,?,?)",
	[GPU_DRIVER_CALL] = "INSERT INTO gpu_driver_call VALUES (NULL,?,?,?,?,?,?,?,?)",
};

/*
 * No fsync while recording: the ring buffer would overflow meanwhile. What is committed survives
 * the death of this process but perhaps not of the machine. The exclusive lock keeps the WAL's
 * index in memory (no -shm file) and a second recorder out.
 */
static const char setup_sql[] = "PRAGMA page_size = 8192;"
				"PRAGMA locking_mode = EXCLUSIVE;"
				"PRAGMA journal_mode = MEMORY;"
				"PRAGMA synchronous = OFF;"
				"PRAGMA temp_store = MEMORY;"
				"PRAGMA cache_size = -1024;";

const char *store_writer_error(const struct store_writer *writer)
{
	return writer->failed ? writer->error.text : "its end is before its start";
}

int writer_prepare(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	for (enum put i = 0; rc == SQLITE_OK && i < PUTS; i++)
		rc = sqlite3_prepare_v3(writer->db, put_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
			&writer->put[i], NULL);
	if (rc == SQLITE_OK)
		rc = writer_prepare_facts(writer);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(writer->db, "BEGIN", -1, SQLITE_PREPARE_PERSISTENT,
			&writer->begin, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(writer->db, "COMMIT", -1, SQLITE_PREPARE_PERSISTENT,
			&writer->commit, NULL);
	return rc;
}

int writer_open(struct store_writer *writer, const char *path)
{
	int rc = store_file_open(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL,
		&writer->db);

	return rc == SQLITE_OK ? sqlite3_exec(writer->db, setup_sql, NULL, NULL, NULL) : rc;
}

static void finalize(struct store_writer *writer)
{
	for (enum put i = 0; i < PUTS; i++) {
		sqlite3_finalize(writer->put[i]);
		writer->put[i] = NULL;
	}
	writer_finalize_facts(writer);
	sqlite3_finalize(steal_ptr(writer->begin));
	sqlite3_finalize(steal_ptr(writer->commit));
}

void writer_close(struct store_writer *writer)
{
	finalize(writer);
	sqlite3_close(steal_ptr(writer->db));
}

/*
 * After a failure: records what it cost as a fact of the recording, if there is room for one more
 * row.
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
	for (size_t i = 0; i < recording->signals.count; i++)
		store_put_signal(writer, &recording->signals.items[i]);
	for (size_t i = 0; i < recording->series.count; i++)
		store_put_series(writer, &recording->series.items[i]);
	for (size_t i = 0; i < recording->threads.count; i++)
		store_put_thread(writer, &recording->threads.items[i]);
	writer_put_meta_number(writer, "end_ns", recording->end_ns);
	if (recording->steps_until_ns)
		writer_put_meta_number(writer, "steps_until_ns", recording->steps_until_ns);
	writer_put_meta(writer, "complete", recording->complete && !failed ? "1" : "0");
	store_commit(writer);
	writer->failed = failed ? failed : writer->failed;
}

/*
 * Reads every page that holds rows, and counts those that must be there. 0 or -errno, with the
 * failure set.
 */
static int verify(struct store_writer *writer)
{
	static const char sql[] =
		"SELECT (SELECT count(*) FROM pause), (SELECT count(*) FROM step_mark),"
		"(SELECT count(*) FROM stack), (SELECT count(*) FROM frame),"
		"(SELECT count(*) FROM string), (SELECT count(*) FROM safepoint),"
		"(SELECT count(*) FROM fact),"
		"(SELECT count(*) FROM stall), (SELECT count(*) FROM phase),"
		"(SELECT count(*) FROM gpu_busy), (SELECT count(*) FROM gpu_call),"
		"(SELECT count(*) FROM gpu_memory), (SELECT count(*) FROM gpu_unknown)";
	sqlite3_stmt *counts;
	int rc = sqlite3_prepare_v2(writer->db, sql, -1, &counts, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(counts);
	if (rc == SQLITE_ROW && !writer->failed &&
		((uint64_t)sqlite3_column_int64(counts, 0) != writer->written ||
			sqlite3_column_int64(counts, 1) != writer->mark_id))
		rc = SQLITE_CORRUPT;
	sqlite3_finalize(counts);
	return rc == SQLITE_ROW ? writer->failed : writer_fail(writer, rc);
}

/*
 * Moves the WAL into the file, makes it durable, and leaves a plain database that any reader can
 * open. A file without a name is left as it is, as nobody can find it.
 */
static int finish(struct store_writer *writer)
{
	int rc;

	if (!writer->settled)
		return writer->failed;
	rc = sqlite3_exec(writer->db, "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;",
		NULL, NULL, NULL);
	return rc == SQLITE_OK ? writer->failed : writer_fail(writer, rc);
}

static void writer_free(struct store_writer *writer)
{
	writer_close(writer);
	store_claim_release(&writer->file);
	u64map_release(&writer->runtimes);
	free(writer->path);
	free(writer);
}

/* Everything but closing. 0 or -errno with a sentence. */
static int complete(struct store_writer *writer, const struct recording *recording, struct err *err)
{
	int r;

	if (writer->failed)
		put_lost(writer);
	else
		store_commit(writer);
	put_end(writer, recording);
	r = finish(writer);
	if (!r)
		r = verify(writer);
	if (r && err)
		*err = writer->error;
	return r;
}

int store_close(struct store_writer *writer, const struct recording *recording, struct err *err)
{
	int r;

	if (!writer)
		return 0;
	r = complete(writer, recording, err);
	writer_free(writer);
	return r;
}

int store_close_to_read(struct store_writer *writer, const struct recording *recording,
	struct store_reader **ret, struct err *err)
{
	int r = complete(writer, recording, err);

	if (!r) {
		sqlite3 *db = writer->db;

		/* Others may read at the same time. */
		sqlite3_exec(db, "PRAGMA locking_mode = NORMAL;", NULL, NULL, NULL);
		finalize(writer);
		writer->db = NULL;
		r = store_file_read(db, writer->path, ret, err);
	}
	writer_free(writer);
	return r;
}

void store_abandon(struct store_writer *writer)
{
	if (!writer)
		return;
	if (writer->db)
		store_commit(writer);
	if (writer->db)
		finish(writer);
	writer_free(writer);
}
