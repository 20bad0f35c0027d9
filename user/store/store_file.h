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
	bool wal;	  /* pages may be in the -wal file: it was not closed cleanly */
	unsigned version; /* STORE_GCT: PRAGMA user_version */
	pid_t writer;	  /* who is recording into it now, or 0; -1: somebody */
};

/* Judges the regular file open as @fd by its first bytes and its locks. 0 or -errno. */
int store_file_inspect(int fd, struct store_file *ret);

/*
 * A place for a recording: a file created for it that has a temporary name until it takes the
 * place.
 */
struct store_claim {
	char *target;	 /* where it will be, absolute */
	char *temporary; /* where it is, absolute; NULL: it took its place, or has no name */
	int fd;		 /* of the file. Close it after SQLite's, or its locks would go */
};

/*
 * Creates an empty file, 0600, next to @path. What is there must be a recording that nobody writes,
 * or empty, or nothing. 0 or -errno with a sentence. Ended by store_claim_release().
 */
int store_file_claim(const char *path, struct store_claim *ret, struct err *err);

/*
 * The same in @folder, for a file that will take no place: store_file_hide() removes its name, and
 * SQLite needs none.
 */
int store_file_claim_nameless(const char *folder, struct store_claim *ret, struct err *err);

/*
 * Moves the file to its target, replacing what is there. 0 or -errno with a sentence about @path.
 */
int store_file_take(struct store_claim *claim, const char *path, struct err *err);

/* Removes the name of a file that took no place. */
void store_file_hide(struct store_claim *claim);
void store_claim_release(struct store_claim *claim);

/*
 * SQLite's companion of @path: @suffix is "-wal", "-shm" or "-journal". The caller frees. NULL: no
 * memory.
 */
char *store_file_companion(const char *path, const char *suffix);

/*
 * Opens @path through SQLite with URI @parameters ("" or "?a=b"). *ret is to be closed even on
 * failure.
 */
int store_file_open(const char *path, const char *parameters, int flags, const char *vfs,
	sqlite3 **ret);

/*
 * Makes a reader of @db, open on a whole recording called @path. 0 or -errno; @db then belongs to
 * the reader or is closed.
 */
struct store_reader;
int store_file_read(sqlite3 *db, const char *path, struct store_reader **ret, struct err *err);

/*
 * -errno for the SQLite result @rc that @db just returned; uses errno as its last system call left
 * it.
 */
int store_errno(sqlite3 *db, int rc);
