/* Pauses and marks in, which come by the thousand; rows out, many with one INSERT. */
#include <errno.h>

#include "writer.h"

/*
 * Rows a transaction when the caller never commits: bounds the WAL and what a failure can lose.
 */
#define COMMIT_ROWS 16384

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
	bind_known(put, at + 13, pause->heap_objects);
	bind_known(put, at + 14, pause->heap_pending);
	bind_known(put, at + 15, pause->rss_start);
	bind_known(put, at + 16, pause->rss_end);
	bind_known(put, at + 17, pause->waited_ns);
}

static void bind_mark(sqlite3_stmt *put, int at, const struct mark *mark, int64_t id)
{
	sqlite3_bind_int64(put, at + 1, id);
	sqlite3_bind_int64(put, at + 2, mark->series);
	bind_unsigned(put, at + 3, mark->time_ns);
	bind_known(put, at + 4, mark->rss_bytes);
}

/* Writes the pauses of the batch, all at once if it is full. */
static int flush_pauses(struct store_writer *writer)
{
	unsigned count = writer->pause_count;
	int r = 0;

	writer->pause_count = 0;
	if (count == PAUSE_BATCH) {
		for (unsigned i = 0; i < count; i++)
			bind_pause(writer->put[PAUSES], (int)i * PAUSE_COLUMNS, &writer->pauses[i]);
		return writer_step(writer, writer->put[PAUSES]);
	}
	for (unsigned i = 0; i < count && !r; i++) {
		bind_pause(writer->put[PAUSE], 0, &writer->pauses[i]);
		r = writer_step(writer, writer->put[PAUSE]);
	}
	return r;
}

static int flush_marks(struct store_writer *writer)
{
	unsigned count = writer->mark_count;
	int r = 0;

	writer->mark_count = 0;
	if (count == MARK_BATCH) {
		for (unsigned i = 0; i < count; i++)
			bind_mark(writer->put[MARKS], (int)i * MARK_COLUMNS, &writer->marks[i],
				++writer->mark_id);
		return writer_step(writer, writer->put[MARKS]);
	}
	for (unsigned i = 0; i < count && !r; i++) {
		bind_mark(writer->put[MARK], 0, &writer->marks[i], ++writer->mark_id);
		r = writer_step(writer, writer->put[MARK]);
	}
	return r;
}

int writer_flush(struct store_writer *writer)
{
	int r = flush_pauses(writer);

	return r ? r : flush_marks(writer);
}

int store_put_pause(struct store_writer *writer, const struct pause *pause)
{
	if (!writer_begin(writer, PAUSE)) {
		writer->lost++;
		return writer->failed;
	}
	if (pause->end_ns < pause->start_ns)
		return -EINVAL;
	writer->pauses[writer->pause_count++] = *pause;
	if (++writer->pending >= COMMIT_ROWS)
		return store_commit(writer);
	return writer->pause_count == PAUSE_BATCH ? flush_pauses(writer) : 0;
}

int store_put_mark(struct store_writer *writer, const struct mark *mark)
{
	if (!writer_begin(writer, MARK)) {
		writer->lost++;
		return writer->failed;
	}
	writer->marks[writer->mark_count++] = *mark;
	if (++writer->pending >= COMMIT_ROWS)
		return store_commit(writer);
	return writer->mark_count == MARK_BATCH ? flush_marks(writer) : 0;
}
