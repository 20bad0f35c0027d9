/* Events in, of which pauses and marks come by the thousand; rows out, many per INSERT. */
#include <errno.h>

#include "writer.h"

/* Rows per transaction if the caller never commits: bounds the WAL and what a failure can lose. */
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
	bind_id(put, at + 12, pause->stack);
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
	bind_known(put, at + 5, mark->skipped ? (int64_t)mark->skipped : UNKNOWN);
	bind_known(put, at + 6, mark->work_ns);
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
		r = writer_step(writer, writer->put[PAUSES]);
		writer->written += r ? 0 : count;
		return r ? r : writer_put_facts(writer, count);
	}
	for (unsigned i = 0; i < count && !r; i++) {
		bind_pause(writer->put[PAUSE], 0, &writer->pauses[i]);
		r = writer_step(writer, writer->put[PAUSE]);
		writer->written += !r;
	}
	return r ? r : writer_put_facts(writer, count);
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

int store_commit(struct store_writer *writer)
{
	int r;

	if (writer->failed || !writer->open)
		return writer->failed;
	r = writer_flush(writer);
	r = r ? r : writer_step(writer, writer->commit);
	if (!r) {
		writer->open = false;
		writer->pending = 0;
	}
	return r;
}

int writer_put_event(struct store_writer *writer, sqlite3_stmt *put)
{
	int r;

	writer->pending++;
	r = writer_step(writer, put);
	return r || writer->pending < COMMIT_ROWS ? r : store_commit(writer);
}

/* Ids of the stack table → those of the file. */
static void translate(const struct store_writer *writer, const struct runtime_meaning *meaning,
	struct pause *pause)
{
	pause->stack = in_file(pause->stack, writer->node_base);
	for (int i = 0; meaning && i < meaning->fact_count; i++) {
		uint32_t id = (uint32_t)pause->facts[i];

		if (meaning->facts[i].unit == FACT_STRING)
			pause->facts[i] = in_file(id, writer->string_base);
		else if (meaning->facts[i].unit == FACT_STACK)
			pause->facts[i] = in_file(id, writer->node_base);
	}
}

int store_put_pause(struct store_writer *writer, const struct pause *pause)
{
	const struct runtime_meaning *meaning;

	if (!writer_begin(writer, PAUSE)) {
		writer->lost++;
		return writer->failed;
	}
	if (pause->end_ns < pause->start_ns)
		return -EINVAL;
	meaning = pause->flags & PAUSE_HAS_FACTS ? writer_meaning(writer, pause->runtime) : NULL;
	writer->pauses[writer->pause_count] = *pause;
	writer->meanings[writer->pause_count] = meaning;
	translate(writer, meaning, &writer->pauses[writer->pause_count++]);
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

int store_put_stall(struct store_writer *writer, const struct stall *stall)
{
	sqlite3_stmt *put = writer_begin(writer, STALL);

	if (!put) {
		writer->lost++;
		return writer->failed;
	}
	if (stall->end_ns < stall->start_ns)
		return -EINVAL;
	bind_unsigned(put, 1, stall->id);
	bind_unsigned(put, 2, stall->start_ns);
	bind_unsigned(put, 3, stall->end_ns - stall->start_ns);
	sqlite3_bind_int64(put, 4, stall->runtime);
	sqlite3_bind_int64(put, 5, stall->tid);
	sqlite3_bind_int64(put, 6, stall->kind);
	bind_known(put, 7, stall->collections);
	bind_id(put, 8, in_file(stall->stack, writer->node_base));
	return writer_put_event(writer, put);
}

int store_put_phase(struct store_writer *writer, const struct phase *phase)
{
	sqlite3_stmt *put = writer_begin(writer, PHASE);

	if (!put) {
		writer->lost++;
		return writer->failed;
	}
	if (phase->end_ns < phase->start_ns)
		return -EINVAL;
	bind_unsigned(put, 1, phase->id);
	bind_unsigned(put, 2, phase->start_ns);
	bind_unsigned(put, 3, phase->end_ns - phase->start_ns);
	sqlite3_bind_int64(put, 4, phase->runtime);
	sqlite3_bind_int64(put, 5, phase->tid);
	sqlite3_bind_int64(put, 6, in_file(phase->name, writer->string_base));
	return writer_put_event(writer, put);
}
