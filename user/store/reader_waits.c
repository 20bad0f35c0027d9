/* What an open .gct file holds besides pauses in; out come its stalls and phases, as lists. */
#include <errno.h>

#include "reader.h"

/*
 * Lists are kept whole: 117 and 84 MB at most. A file with more, such as that of a runtime that
 * throttled every allocation for hours, is read up to here.
 */
#define LIST_MAX (2u << 20)

/*
 * Columns 1 to 4: start, duration, an existing runtime, a thread. Returns whether they are
 * plausible.
 */
static bool read_span(const struct store_reader *reader, sqlite3_stmt *row, uint64_t *start_ns,
	uint64_t *end_ns, uint32_t *runtime, uint32_t *tid)
{
	uint64_t start, duration, of, thread;

	if (!reader_unsigned(row, 1, INT64_MAX, &start) ||
		!reader_unsigned(row, 2, INT64_MAX - start, &duration) ||
		!reader_unsigned(row, 3, UINT32_MAX, &of) ||
		!reader_unsigned(row, 4, UINT32_MAX, &thread) ||
		!recording_runtime(&reader->recording, (uint32_t)of))
		return false;
	*start_ns = start;
	*end_ns = start + duration;
	*runtime = (uint32_t)of;
	*tid = (uint32_t)thread;
	return true;
}

static bool read_stall(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	struct stall *stall = ret;
	uint64_t kind;

	if (!read_span(reader, cursor->rows, &stall->start_ns, &stall->end_ns, &stall->runtime,
		    &stall->tid) ||
		!reader_unsigned(cursor->rows, 5, UINT32_MAX, &kind))
		return false;
	stall->id = (uint64_t)cursor->last_id;
	stall->kind = (uint32_t)kind; /* possibly one from a later gctrace */
	stall->collections = reader_known(cursor->rows, 6, MEMORY_MAX);
	stall->stack = reader_stack_id(reader, cursor, 7);
	return true;
}

static bool read_phase(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	struct phase *phase = ret;

	if (!read_span(reader, cursor->rows, &phase->start_ns, &phase->end_ns, &phase->runtime,
		    &phase->tid))
		return false;
	phase->id = (uint64_t)cursor->last_id;
	phase->name = reader_string_id(reader, cursor, 5);
	return phase->name;
}

/* Whether there is room for one more of @count; if not, that is noted. */
static bool fits(struct store_reader *reader, const struct cursor *cursor, size_t count)
{
	if (count < LIST_MAX)
		return true;
	reader_damaged(reader, "more than %u %s: the later ones were not read", LIST_MAX,
		cursor->things);
	return false;
}

static int read_stalls(struct store_reader *reader)
{
	struct cursor cursor = {.table = "stall", .things = "stalls"};
	struct recording *recording = &reader->recording;
	struct stall stall, *added;
	int r = cursor_begin(reader, &cursor,
		"SELECT id, start_ns, duration_ns, runtime, tid, kind, collections, stack "
		"FROM stall WHERE id > ? ORDER BY id",
		NULL);

	while (!r && (r = cursor_next(reader, &cursor, read_stall, &stall, NULL)) > 0) {
		if (!fits(reader, &cursor, recording->stalls.count))
			break;
		added = vec_add(&recording->stalls);
		if (added)
			*added = stall;
		r = added ? 0 : -ENOMEM;
	}
	sqlite3_finalize(cursor.rows);
	return r;
}

static int read_phases(struct store_reader *reader)
{
	struct cursor cursor = {.table = "phase", .things = "phases"};
	struct recording *recording = &reader->recording;
	struct phase phase, *added;
	int r = cursor_begin(reader, &cursor,
		"SELECT id, start_ns, duration_ns, runtime, tid, name FROM phase "
		"WHERE id > ? ORDER BY id",
		NULL);

	while (!r && (r = cursor_next(reader, &cursor, read_phase, &phase, NULL)) > 0) {
		if (!fits(reader, &cursor, recording->phases.count))
			break;
		added = vec_add(&recording->phases);
		if (added)
			*added = phase;
		r = added ? 0 : -ENOMEM;
	}
	sqlite3_finalize(cursor.rows);
	return r;
}

int reader_read_waits(struct store_reader *reader)
{
	static const struct {
		const char *table;
		int (*read)(struct store_reader *);
	} lists[] = {{"stall", read_stalls}, {"phase", read_phases}};

	for (size_t i = 0; i < 2; i++) {
		int r = reader_has(reader, lists[i].table, NULL) ? lists[i].read(reader) : 0;

		if (r == -ENOMEM)
			return r;
		if (r == -EBADMSG)
			reader_damaged(reader, "table %s cannot be read", lists[i].table);
	}
	return 0;
}
