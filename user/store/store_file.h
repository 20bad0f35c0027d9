/* What the writer and the reader share about the file itself, below its tables. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

#define STORE_APPLICATION_ID 0x47435452u /* "GCTR" */

enum store_kind {
	STORE_EMPTY,   /* no byte in it */
	STORE_FOREIGN, /* not a SQLite database */
	STORE_OTHER,   /* a SQLite database, not a recording */
	STORE_GCT,
};

struct store_file {
	enum store_kind kind;
	bool wal;	  /* pages may lie in the -wal file: it was not closed clean */
	unsigned version; /* STORE_GCT: PRAGMA user_version */
	pid_t writer;	  /* who is recording into it now, or 0; -1: somebody */
};

/* Judges the regular file open as @fd by its first bytes and its locks. 0 or -errno. */
int store_file_inspect(int fd, struct store_file *ret);

/*
 * Leaves an empty file at @path for a recording. What lies there goes if it is a recording, or
 * empty; anything else is never overwritten. 0 or -errno with a sentence.
 */
int store_file_claim(const char *path, struct err *err);

/*
 * SQLite's companion of @path: @suffix is "-wal", "-shm" or "-journal". Caller frees. NULL: no
 * memory.
 */
char *store_file_companion(const char *path, const char *suffix);

/*
 * Opens @path through SQLite with URI @parameters ("" or "?a=b"). *ret is to be closed even on
 * failure.
 */
int store_file_open(const char *path, const char *parameters, int flags, const char *vfs,
	sqlite3 **ret);

/* -errno for the SQLite result @rc that @db just gave; errno is that of its last system call. */
int store_errno(sqlite3 *db, int rc);
