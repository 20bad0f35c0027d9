/* What the parts of the reader share. */
#pragma once

#include <sqlite3.h>

#include "meaning.h"
#include "store.h"
#include "u64map.h"

/* One pass over the rows of a table in the order of their ids, past what is damaged. */
struct cursor {
	const char *table, *things; /* "pause", "pauses" */
	sqlite3_stmt *rows;	    /* its first column is the id; NULL: not begun */
	int64_t last_id;	    /* of the last row read, good or not */
	uint64_t read;		    /* rows returned since the last rewind */
	unsigned faults;	    /* damaged places found since then */
	bool ended;
};

#define OWN_TABLES 8 /* of runtimes that have one for their facts, at most */

/* Of the stack that ends in a node. */
struct stack_size {
	uint32_t depth, bytes;
};

/* Facts of pauses from a table of one runtime: one row per pause, one column per fact. */
struct own_facts {
	const struct runtime_meaning *meaning; /* NULL: not begun */
	struct cursor cursor;
	struct fact_row {
		uint64_t pause; /* 0: none */
		int64_t facts[PAUSE_FACTS];
	} ahead; /* the last row read: that of this pause or a later one */
};

/* The same from the table for all runtimes: one row for each known fact. */
struct general_facts {
	struct cursor cursor;
	struct general_row {
		uint64_t pause; /* 0: none */
		char key[32];
	} ahead; /* its value is still in the statement's row */
};

struct store_reader {
	sqlite3 *db;
	char *path;
	struct recording recording;
	struct stack_table stacks;
	bool stacks_loaded;
	/*
	 * By id in the file: the id in stacks. A recorder that forgets what it wrote writes it
	 * again; duplicates are merged here.
	 */
	VEC(uint32_t) strings, frames, nodes;
	uint64_t clocks;	      /* rows of that table read */
	struct u64map runtimes;	      /* process → how many */
	VEC(struct stack_size) sizes; /* by node, while stacks are loaded */
	struct gpu_timeline gpu;
	bool gpu_loaded;
	struct cursor pauses, marks;
	struct own_facts own[OWN_TABLES];
	struct general_facts general;
	uint32_t current;		       /* the runtime of the last pause; 0: none */
	const struct runtime_meaning *meaning; /* that runtime's */
	struct own_facts *current_own; /* likewise; NULL: its facts are in the general table */
};

/* Notes that the file is damaged, in words; the first note stays. */
void reader_damaged(struct store_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Only real tables with plain columns are read: a view, a virtual table or a generated column of a
 * hostile file could compute for ever. Older recordings lack some. 0 or -errno with a sentence.
 */
int reader_check_tables(struct store_reader *reader, struct err *err);

/* Whether @table is there, a real one, and has @column (NULL: any). */
bool reader_has(const struct store_reader *reader, const char *table, const char *column);

/* Fills reader->recording. 0 or -errno with a sentence. */
int reader_read_facts(struct store_reader *reader, struct err *err);

/*
 * Steps through @sql and passes each row to @row, which returns 0, -errno to stop, or 1 for a
 * damaged row. Damage ends the scan quietly, noted as damage of table @table. 0 or -ENOMEM.
 */
int reader_scan(struct store_reader *reader, const char *table, const char *sql,
	int (*row)(struct store_reader *, sqlite3_stmt *));

/*
 * No recorder writes longer ones: otherwise a small file could make any number of pauses carry
 * megabytes.
 */
#define TEXT_MOST     4096  /* bytes of a name, path or label */
#define CMDLINE_MOST  16384 /* of a command line */
#define DEPTH_MOST    16384 /* frames of a stack: 96 compiled ones with 128 inlined each are 12,384 */
#define STACK_MOST    (1u << 20) /* bytes of the names of a stack's frames */
#define RUNTIMES_MOST 64	 /* of one process: GC_MAX_IMAGES */

/* How many of a text's @len bytes to take; if it was longer than @most, that is noted as damage. */
size_t reader_cut(struct store_reader *reader, size_t len, size_t most);

/* Reads column @at as an id or count in [0, @max]. Whether it was one. */
bool reader_unsigned(sqlite3_stmt *row, int at, uint64_t max, uint64_t *ret);

/* Column @at in [0, @max], or UNKNOWN when it is NULL or not a sensible number. */
int64_t reader_known(sqlite3_stmt *row, int at, int64_t max);

/* No process has more bytes or objects, so sums of a few such figures cannot overflow. */
#define MEMORY_MAX (1ll << 57)

/*
 * Fills reader->recording's stalls and phases, whose stacks and strings must be loaded. What cannot
 * be read is noted as damage. 0 or -ENOMEM.
 */
int reader_read_waits(struct store_reader *reader);

/*
 * Fills in the facts of @pause, and sets reader->meaning to its runtime's; pauses must come by
 * ascending id. Clears the flag PAUSE_HAS_FACTS if there are none. 0 or -ENOMEM.
 */
int reader_join_facts(struct store_reader *reader, struct pause *pause);
void reader_begin_facts(struct store_reader *reader);
void reader_rewind_facts(struct store_reader *reader);
void reader_end_facts(struct store_reader *reader);

/*
 * Column @at, an id of the file's table string, as an id of stacks.strings. 0 for NULL, or one that
 * does not exist.
 */
uint32_t reader_string_id(struct store_reader *reader, const struct cursor *cursor, int at);
/* The same for a stack. */
uint32_t reader_stack_id(struct store_reader *reader, const struct cursor *cursor, int at);

/* Makes @cursor stand before the first row of @sql, whose parameter is the id to begin after. */
int cursor_begin(struct store_reader *reader, struct cursor *cursor, const char *sql,
	struct err *err);

/*
 * Passes each readable row to @read, which returns whether it is plausible, until one is. 1: *ret
 * was filled, 0: the end, -EBADMSG: the end of a damaged file.
 */
int cursor_next(struct store_reader *reader, struct cursor *cursor,
	bool (*read)(struct store_reader *, const struct cursor *, void *ret), void *ret,
	struct err *err);
void cursor_rewind(struct cursor *cursor);
