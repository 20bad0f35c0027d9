/*
 * The facts of pauses, from runtimes' own tables or the one for all, in; out they come with their
 * pause.
 */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "reader.h"
#include "utf8.h"

uint32_t reader_string_id(struct store_reader *reader, const struct cursor *cursor, int at)
{
	uint64_t id;

	if (sqlite3_column_type(cursor->rows, at) == SQLITE_NULL)
		return 0;
	if (reader_unsigned(cursor->rows, at, reader->strings.count - 1, &id) && id)
		return reader->strings.items[id];
	reader_damaged(reader, "table %s names a string that is not there", cursor->table);
	return 0;
}

uint32_t reader_stack_id(struct store_reader *reader, const struct cursor *cursor, int at)
{
	uint64_t id;

	if (sqlite3_column_type(cursor->rows, at) == SQLITE_NULL)
		return STACK_NONE;
	if (reader_unsigned(cursor->rows, at, reader->nodes.count - 1, &id))
		return reader->nodes.items[id];
	reader_damaged(reader, "table %s names a stack that is not there", cursor->table);
	return STACK_NONE;
}

static int64_t read_fact(struct store_reader *reader, const struct cursor *cursor,
	enum fact_unit unit, int at)
{
	switch (unit) {
	case FACT_STRING:
		return reader_string_id(reader, cursor, at);
	case FACT_STACK:
		return reader_stack_id(reader, cursor, at);
	case FACT_THREAD:
		return reader_known(cursor->rows, at, UINT32_MAX);
	case FACT_NS:
		return reader_known(cursor->rows, at, INT64_MAX);
	default:
		return reader_known(cursor->rows, at, MEMORY_MAX);
	}
}

static bool read_own(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	struct own_facts *own = ret;

	own->ahead.pause = (uint64_t)cursor->last_id;
	for (int i = 0; i < own->meaning->fact_count; i++)
		own->ahead.facts[i] = read_fact(reader, cursor, own->meaning->facts[i].unit, i + 1);
	return true;
}

static bool read_general(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	struct general_row *row = ret;
	const void *key = sqlite3_column_blob(cursor->rows, 2);

	if (!reader_unsigned(cursor->rows, 1, INT64_MAX, &row->pause))
		return false;
	utf8_clean(row->key, sizeof(row->key), key,
		key ? (size_t)sqlite3_column_bytes(cursor->rows, 2) : 0);
	return true;
}

/* A fact that an older gctrace did not know has no column. */
static void own_sql(const struct store_reader *reader, const struct runtime_meaning *meaning,
	char *sql, size_t size)
{
	size_t used = (size_t)snprintf(sql, size, "SELECT pause");

	for (int i = 0; i < meaning->fact_count; i++)
		used += (size_t)snprintf(sql + used, size - used, ", %s",
			reader_has(reader, meaning->fact_table, meaning->facts[i].key)
				? meaning->facts[i].key
				: "NULL");
	snprintf(sql + used, size - used, " FROM %s WHERE pause > ? ORDER BY pause",
		meaning->fact_table);
}

/* Makes @cursor stand before its first row, unless it was begun or its table is not there. 0 or -ENOMEM. */
static int begin(struct store_reader *reader, struct cursor *cursor, const char *sql)
{
	int r = cursor_begin(reader, cursor, sql, NULL);

	if (r == -EBADMSG) {
		reader_damaged(reader, "table %s cannot be read", cursor->table);
		cursor->ended = true;
	}
	return r == -ENOMEM ? r : 0;
}

static bool is_begun(const struct store_reader *reader, const struct cursor *cursor)
{
	return cursor->rows || cursor->ended || !reader_has(reader, cursor->table, NULL);
}

static int begin_own(struct store_reader *reader, struct own_facts *own)
{
	char sql[512];

	if (is_begun(reader, &own->cursor))
		return 0;
	own_sql(reader, own->meaning, sql, sizeof(sql));
	return begin(reader, &own->cursor, sql);
}

/* A pause's row in the table of its runtime. 1: there is none. */
static int join_own(struct store_reader *reader, struct own_facts *own, struct pause *pause)
{
	int r = begin_own(reader, own);

	while (!r && own->ahead.pause < pause->id) {
		r = cursor_next(reader, &own->cursor, read_own, own, NULL);
		if (r == -ENOMEM)
			return r;
		r = r > 0 ? 0 : 1;
	}
	if (own->ahead.pause == pause->id) {
		memcpy(pause->facts, own->ahead.facts, sizeof(pause->facts));
		return 0;
	}
	reader_damaged(reader, "a %s lacks its row in table %s", own->meaning->pause,
		own->cursor.table);
	meaning_forget(own->meaning, pause);
	return 1;
}

/* Its rows in the table for all runtimes, which may have none. */
static int join_general(struct store_reader *reader, const struct runtime_meaning *meaning,
	struct pause *pause)
{
	struct general_facts *general = &reader->general;
	struct cursor *cursor = &general->cursor;
	int r = is_begun(reader, cursor)
			? 0
			: begin(reader, cursor,
				  "SELECT id, pause, key, value FROM fact WHERE id > ? ORDER BY id");

	while (!r && general->ahead.pause <= pause->id) {
		int place = general->ahead.pause == pause->id
				    ? meaning_fact(meaning, general->ahead.key)
				    : -1;

		if (place >= 0)
			pause->facts[place] =
				read_fact(reader, cursor, meaning->facts[place].unit, 3);
		r = cursor_next(reader, cursor, read_general, &general->ahead, NULL);
		if (r == -ENOMEM)
			return r;
		if (r <= 0)
			general->ahead.pause = UINT64_MAX;
		r = r > 0 ? 0 : 1;
	}
	return 0;
}

/* Parts together never exceed the whole. */
static void fit_parts(const struct runtime_meaning *meaning, struct pause *pause)
{
	int64_t left = (int64_t)pause_duration(pause);

	for (int i = 0; i < meaning->fact_count; i++) {
		int64_t *ns = &pause->facts[i];

		if (!meaning->facts[i].part || *ns == UNKNOWN)
			continue;
		*ns = *ns < left ? *ns : left;
		left -= *ns;
	}
}

static struct own_facts *own_of(struct store_reader *reader, const struct runtime_meaning *meaning)
{
	for (size_t i = 0; i < OWN_TABLES && reader->own[i].meaning; i++)
		if (reader->own[i].meaning == meaning)
			return &reader->own[i];
	return NULL;
}

/* Most pauses are of the same runtime as the one before. */
static void set_current(struct store_reader *reader, uint32_t runtime)
{
	if (runtime == reader->current && reader->meaning)
		return;
	reader->current = runtime;
	reader->meaning = meaning_of_runtime(&reader->recording, runtime);
	reader->current_own = own_of(reader, reader->meaning);
}

int reader_join_facts(struct store_reader *reader, struct pause *pause)
{
	const struct runtime_meaning *meaning;
	bool has;
	int r;

	set_current(reader, pause->runtime);
	meaning = reader->meaning;
	has = pause->flags & PAUSE_HAS_FACTS && meaning->fact_count;
	if (!has || !reader->current_own) /* else all places are written */
		meaning_forget(meaning, pause);
	if (!has)
		return 0;
	r = reader->current_own ? join_own(reader, reader->current_own, pause)
				: join_general(reader, meaning, pause);
	if (r)
		return r < 0 ? r : 0;
	pause->flags |= PAUSE_HAS_FACTS;
	fit_parts(meaning, pause);
	return 0;
}

void reader_begin_facts(struct store_reader *reader)
{
	struct own_facts *own = reader->own;

	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++) {
		if (!(*at)->fact_table || own == reader->own + OWN_TABLES)
			continue;
		own->meaning = *at;
		own++->cursor =
			(struct cursor){.table = (*at)->fact_table, .things = (*at)->pauses};
	}
	reader->general.cursor = (struct cursor){.table = "fact", .things = "facts"};
}

void reader_rewind_facts(struct store_reader *reader)
{
	for (size_t i = 0; i < OWN_TABLES && reader->own[i].meaning; i++) {
		cursor_rewind(&reader->own[i].cursor);
		reader->own[i].ahead = (struct fact_row){0};
	}
	cursor_rewind(&reader->general.cursor);
	reader->general.ahead = (struct general_row){0};
}

void reader_end_facts(struct store_reader *reader)
{
	for (size_t i = 0; i < OWN_TABLES; i++)
		sqlite3_finalize(reader->own[i].cursor.rows);
	sqlite3_finalize(reader->general.cursor.rows);
}
