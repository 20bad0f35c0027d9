/* Pauses in; their facts out, in runtimes' own tables or the one for all. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "writer.h"

const struct runtime_meaning *writer_meaning(const struct store_writer *writer, uint32_t runtime)
{
	const uint64_t *found = u64map_get(&writer->runtimes, runtime);
	const struct runtime_meaning *meaning = found ? (const void *)(uintptr_t)*found : NULL;

	return meaning && meaning->fact_count ? meaning : NULL;
}

/* "INSERT INTO safepoint (pause,operation,…) VALUES (?,?,…),(?,?,…)" of @rows rows. */
static int prepare(struct store_writer *writer, const struct runtime_meaning *meaning,
	unsigned rows, sqlite3_stmt **ret)
{
	char sql[1024];
	size_t used =
		(size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s (pause", meaning->fact_table);

	for (int i = 0; i < meaning->fact_count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",%s",
			meaning->facts[i].key);
	used += (size_t)snprintf(sql + used, sizeof(sql) - used, ") VALUES ");
	for (unsigned row = 0; row < rows; row++) {
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, row ? ",(?" : "(?");
		for (int i = 0; i < meaning->fact_count; i++)
			used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",?");
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ")");
	}
	return sqlite3_prepare_v3(writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

int writer_prepare_facts(struct store_writer *writer)
{
	struct own_statements *own = writer->own;
	int rc = SQLITE_OK;

	for (const struct runtime_meaning *const *at = runtime_meanings; *at && rc == SQLITE_OK;
		at++) {
		if (!(*at)->fact_table || own == writer->own + OWN_TABLES)
			continue;
		own->meaning = *at;
		rc = prepare(writer, *at, 1, &own->one);
		if (rc == SQLITE_OK)
			rc = prepare(writer, *at, PAUSE_BATCH, &own->batch);
		own++;
	}
	return rc;
}

void writer_finalize_facts(struct store_writer *writer)
{
	for (size_t i = 0; i < OWN_TABLES; i++) {
		sqlite3_finalize(steal_ptr(writer->own[i].one));
		sqlite3_finalize(steal_ptr(writer->own[i].batch));
	}
}

static void bind_fact(sqlite3_stmt *put, int at, enum fact_unit unit, int64_t value)
{
	if (fact_is_id(unit))
		bind_id(put, at, (uint32_t)value);
	else
		bind_known(put, at, value);
}

/* Binds the facts of @pause to the parameters after the first @at. */
static void bind_own(sqlite3_stmt *put, int at, const struct runtime_meaning *meaning,
	const struct pause *pause)
{
	bind_unsigned(put, at + 1, pause->id);
	for (int i = 0; i < meaning->fact_count; i++)
		bind_fact(put, at + 2 + i, meaning->facts[i].unit, pause->facts[i]);
}

/*
 * Writes the first @count pauses of the batch that belong into the table of @own, all at once if
 * the whole batch does.
 */
static int put_own(struct store_writer *writer, const struct own_statements *own, unsigned count)
{
	unsigned ours = 0;
	int r = 0;

	for (unsigned i = 0; i < count; i++)
		ours += writer->meanings[i] == own->meaning;
	if (ours == PAUSE_BATCH) {
		for (unsigned i = 0; i < count; i++)
			bind_own(own->batch, (int)i * (own->meaning->fact_count + 1), own->meaning,
				&writer->pauses[i]);
		return writer_step(writer, own->batch);
	}
	for (unsigned i = 0; i < count && ours && !r; i++) {
		if (writer->meanings[i] != own->meaning)
			continue;
		bind_own(own->one, 0, own->meaning, &writer->pauses[i]);
		r = writer_step(writer, own->one);
	}
	return r;
}

/* One row for each known fact of @pause. */
static int put_general(struct store_writer *writer, const struct runtime_meaning *meaning,
	const struct pause *pause)
{
	sqlite3_stmt *put = writer->put[FACT];
	int r = 0;

	for (int i = 0; i < meaning->fact_count && !r; i++) {
		if (pause->facts[i] < fact_is_id(meaning->facts[i].unit))
			continue;
		bind_unsigned(put, 1, pause->id);
		sqlite3_bind_text(put, 2, meaning->facts[i].key, -1, SQLITE_STATIC);
		sqlite3_bind_int64(put, 3, pause->facts[i]);
		r = writer_step(writer, put);
	}
	return r;
}

int writer_put_facts(struct store_writer *writer, unsigned count)
{
	int r = 0;

	for (size_t i = 0; i < OWN_TABLES && writer->own[i].meaning && !r; i++)
		r = put_own(writer, &writer->own[i], count);
	for (unsigned i = 0; i < count && !r; i++)
		if (writer->meanings[i] && !writer->meanings[i]->fact_table)
			r = put_general(writer, writer->meanings[i], &writer->pauses[i]);
	return r;
}
