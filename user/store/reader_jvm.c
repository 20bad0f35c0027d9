/*
 * What a JVM leaves in an open .gct file beside its pauses in; out come its stalls and phases, as lists,
 * and safepoints, each with its pause.
 */
#include <errno.h>

#include "reader.h"

/*
 * Lists are kept whole: 117 and 84 MB at most. A file that holds more, as a JVM that throttles every
 * allocation for hours would leave, is read up to here.
 */
#define LIST_MAX (2u << 20)

/* Column @at, an id of the file's table string, as that of stacks.strings. 0 for NULL, or one not there. */
static uint32_t read_string_id(struct store_reader *reader, const struct cursor *cursor, int at)
{
	uint64_t id;

	if (sqlite3_column_type(cursor->rows, at) == SQLITE_NULL)
		return 0;
	if (reader_unsigned(cursor->rows, at, reader->strings.count - 1, &id) && id)
		return reader->strings.items[id];
	reader_damaged(reader, "table %s names a string that is not there", cursor->table);
	return 0;
}

static uint32_t read_stack_id(struct store_reader *reader, const struct cursor *cursor, int at)
{
	uint64_t id;

	if (sqlite3_column_type(cursor->rows, at) == SQLITE_NULL)
		return STACK_NONE;
	if (reader_unsigned(cursor->rows, at, reader->nodes.count - 1, &id))
		return reader->nodes.items[id];
	reader_damaged(reader, "table %s names a stack that is not there", cursor->table);
	return STACK_NONE;
}

/* Columns 1 to 4: start, duration, a runtime that is there, a thread. Whether they can have been. */
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
	stall->kind = (uint32_t)kind; /* perhaps one of a later gctrace */
	stall->collections = reader_known(cursor->rows, 6, MEMORY_MAX);
	stall->stack = read_stack_id(reader, cursor, 7);
	return true;
}

static bool read_phase(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	struct phase *phase = ret;

	if (!read_span(reader, cursor->rows, &phase->start_ns, &phase->end_ns, &phase->runtime,
		    &phase->tid))
		return false;
	phase->id = (uint64_t)cursor->last_id;
	phase->name = read_string_id(reader, cursor, 5);
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

static bool read_safepoint(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct safepoint_row *safepoint = ret;

	*safepoint = (struct safepoint_row){
		.pause = (uint64_t)cursor->last_id,
		.facts = {
			.operation = read_string_id(reader, cursor, 1),
			.cause = read_string_id(reader, cursor, 2),
			.ttsp_ns = reader_known(row, 3, INT64_MAX),
			.cleanup_ns = reader_known(row, 4, INT64_MAX),
			.core_ns = reader_known(row, 5, INT64_MAX),
			.leave_ns = reader_known(row, 6, INT64_MAX),
			.heap_before = reader_known(row, 7, MEMORY_MAX),
			.heap_after = reader_known(row, 8, MEMORY_MAX),
			.young = reader_known(row, 9, MEMORY_MAX),
			.full = reader_known(row, 10, MEMORY_MAX),
			.late_tid = reader_known(row, 11, UINT32_MAX),
			.late_stack = read_stack_id(reader, cursor, 12),
		},
	};
	return true;
}

static int begin_safepoints(struct store_reader *reader)
{
	int r = 0;

	if (!reader->safepoints.rows && !reader->safepoints.ended &&
		reader_has(reader, "safepoint", NULL))
		r = cursor_begin(reader, &reader->safepoints,
			"SELECT pause, operation, cause, ttsp_ns, cleanup_ns, core_ns, leave_ns, "
			"heap_before, heap_after, young, full, late_tid, late_stack "
			"FROM safepoint WHERE pause > ? ORDER BY pause",
			NULL);
	if (r == -EBADMSG) {
		reader_damaged(reader, "table safepoint cannot be read");
		reader->safepoints.ended = true;
	}
	return r == -ENOMEM ? r : 0;
}

/* @ns as a part of *@left, which it leaves so much smaller: parts together never exceed the whole. */
static int64_t take(int64_t ns, int64_t *left)
{
	if (ns == UNKNOWN)
		return UNKNOWN;
	ns = ns < *left ? ns : *left;
	*left -= ns;
	return ns;
}

int reader_join_safepoint(struct store_reader *reader, struct pause *pause)
{
	struct safepoint_row *ahead = &reader->ahead;
	int r = begin_safepoints(reader);
	int64_t left;

	while (!r && ahead->pause < pause->id) {
		r = cursor_next(reader, &reader->safepoints, read_safepoint, ahead, NULL);
		if (r == -ENOMEM)
			return r;
		r = r > 0 ? 0 : 1;
	}
	if (ahead->pause != pause->id) {
		reader_damaged(reader, "a safepoint lacks its row in table safepoint");
		pause->flags &= ~(uint32_t)PAUSE_SAFEPOINT;
		return 0;
	}
	pause->safepoint = ahead->facts;
	left = (int64_t)pause_duration(pause);
	pause->safepoint.ttsp_ns = take(ahead->facts.ttsp_ns, &left);
	pause->safepoint.cleanup_ns = take(ahead->facts.cleanup_ns, &left);
	pause->safepoint.core_ns = take(ahead->facts.core_ns, &left);
	pause->safepoint.leave_ns = take(ahead->facts.leave_ns, &left);
	return 0;
}

void reader_rewind_safepoints(struct store_reader *reader)
{
	cursor_rewind(&reader->safepoints);
	reader->ahead = (struct safepoint_row){0};
}
