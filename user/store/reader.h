/* What the two halves of the reader share. */
#pragma once

#include <sqlite3.h>

#include "store.h"

struct store_reader {
	sqlite3 *db;
	char *path;
	struct recording recording;
	struct stack_table stacks;
	bool stacks_loaded;
	VEC(uint32_t) strings; /* by id in the file: the id in stacks.strings; only while loading */
	sqlite3_stmt *pauses;
	int64_t last_id;      /* of the last pause row read, whether it was good or not */
	uint64_t read;	      /* pauses given out since the last rewind */
	unsigned faults;      /* damaged places met since then */
	bool ended;
};

/* Notes that the file is damaged, in words; the first note stays. */
void reader_damaged(struct store_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Steps through @sql and gives each row to @row, which returns 0, -errno to stop, or 1 for a row
 * that is damaged. Damage ends the scan quietly, noted as one of table @table. 0 or -ENOMEM.
 */
int reader_scan(struct store_reader *reader, const char *table, const char *sql,
	int (*row)(struct store_reader *, sqlite3_stmt *));

/* Reads column @at as an id or count in [0, @max]. Whether it was one. */
bool reader_unsigned(sqlite3_stmt *row, int at, uint64_t max, uint64_t *ret);
