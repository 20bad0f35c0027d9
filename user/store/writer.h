/* What the parts of the writer share. */
#pragma once

#include <sqlite3.h>

#include "meaning.h"
#include "store.h"
#include "store_file.h"
#include "u64map.h"

/* Rows per INSERT: a third cheaper than one each. */
#define PAUSE_BATCH 16
#define MARK_BATCH  64

#define OWN_TABLES 8 /* of runtimes that have one for their facts, at most */

#define PAUSE_COLUMNS 17
#define MARK_COLUMNS  6

enum put {
	META,
	CLOCK,
	PROCESS,
	RUNTIME,
	DROP,
	SIGNAL,
	SERIES,
	THREAD,
	PROCESS_CPU,
	STALL,
	PHASE,
	STRING,
	FRAME,
	STACK,
	PAUSE,
	PAUSES, /* PAUSE_BATCH of them */
	FACT,
	MARK,
	MARKS, /* MARK_BATCH of them */
	GPU_DEVICE,
	GPU_BUSY,
	GPU_CALL,
	GPU_LAUNCHER,
	GPU_MEMORY,
	GPU_UNKNOWN,
	GPU_DRIVER,
	GPU_DRIVER_CALL,
	PUTS,
};

struct store_writer {
	sqlite3 *db;
	sqlite3_stmt *put[PUTS], *begin, *commit;
	char *path; /* as the caller named it */
	struct store_claim file;
	bool settled; /* in its place, with a WAL; until then, and always if it has no name, without */
	uint32_t strings, frames, nodes; /* next ones of the stack table to write */
	uint32_t generation;		 /* of that table */
	/*
	 * How much larger its ids are in the file, which also holds those of earlier generations.
	 */
	uint32_t string_base, frame_base, node_base;
	struct pause pauses[PAUSE_BATCH];
	const struct runtime_meaning *meanings[PAUSE_BATCH]; /* theirs; NULL: without facts */
	struct own_statements {
		const struct runtime_meaning *meaning;
		sqlite3_stmt *one, *batch; /* for PAUSE_BATCH of them */
	} own[OWN_TABLES];	/* for facts of runtimes that have a table of their own */
	struct u64map runtimes; /* id → its struct runtime_meaning */
	struct mark marks[MARK_BATCH];
	unsigned pause_count, mark_count; /* in the batches */
	int64_t mark_id;		  /* of the last mark written */
	uint64_t pending; /* events in the open transaction, including those in the batches */
	uint64_t lost;	  /* events that a failure cost: pauses, marks, stalls, phases */
	uint64_t written; /* pauses, in statements that succeeded */
	bool open;	  /* a transaction is */
	int failed;	  /* -errno of the first failure, after which nothing is accepted */
	struct err error;
};

/* The entry of runtime @id, if its pauses have facts; else NULL. */
const struct runtime_meaning *writer_meaning(const struct store_writer *writer, uint32_t runtime);

/* Prepares the statements for facts; an SQLite result. Takes them away. */
int writer_prepare_facts(struct store_writer *writer);
void writer_finalize_facts(struct store_writer *writer);

/* Writes the facts of the first @count pauses of the batch, whose rows are written. 0 or -errno, with the failure set. */
int writer_put_facts(struct store_writer *writer, unsigned count);

/* The file's id for one of the stack table's; 0 stays 0. */
static inline uint32_t in_file(uint32_t id, uint32_t base)
{
	return id ? id + base : 0;
}

/* Opens a transaction if none is open and returns the statement, or NULL: it has failed. */
sqlite3_stmt *writer_begin(struct store_writer *writer, enum put put);

/* Runs @statement, and prepares it to be bound again. 0 or -errno, with the failure set. */
int writer_step(struct store_writer *writer, sqlite3_stmt *statement);

/* Binds @text, cleaned if it has to be, which must live until the step; NULL stays NULL. */
void writer_bind_text(sqlite3_stmt *statement, int at, const char *text);

int writer_put_meta(struct store_writer *writer, const char *key, const char *value);
int writer_put_meta_number(struct store_writer *writer, const char *key, uint64_t value);

/* Opens @path, a file of this writer's own, and prepares to write to it. An SQLite result. */
int writer_open(struct store_writer *writer, const char *path);

/* Prepares the statements; finalizes them and closes. */
int writer_prepare(struct store_writer *writer);
void writer_close(struct store_writer *writer);

/* Notes the first failure, SQLite's result @rc, and undoes the open transaction. Returns its -errno. */
int writer_fail(struct store_writer *writer, int rc);

/* Writes one event on its own: many may come before a commit. 0 or -errno, with the failure set. */
int writer_put_event(struct store_writer *writer, sqlite3_stmt *put);

/* Writes what is waiting in the batches. 0 or -errno, with the failure set. */
int writer_flush(struct store_writer *writer);

static inline void bind_unsigned(sqlite3_stmt *statement, int at, uint64_t value)
{
	sqlite3_bind_int64(statement, at, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* What is not known is NULL. */
static inline void bind_known(sqlite3_stmt *statement, int at, int64_t value)
{
	if (value < 0)
		sqlite3_bind_null(statement, at);
	else
		sqlite3_bind_int64(statement, at, value);
}

/* A row of another table, from 1; 0 is none. */
static inline void bind_id(sqlite3_stmt *put, int at, uint32_t id)
{
	bind_known(put, at, id ? (int64_t)id : UNKNOWN);
}
