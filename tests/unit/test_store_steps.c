/*
 * Signals, series and marks come back from the .gct file as they were put, and files from before
 * there were any open as ever.
 */
#include <errno.h>
#include <sqlite3.h>

#include "store_fixture.h"

static void check_signals(const struct recording *recording)
{
	const struct signal *signal = recording->signals.items;

	assert_int_equal(recording->signals.count, SIGNALS);
	assert_string_equal(signal[0].name, "torch:backward");
	assert_string_equal(signal[0].probe, "libtorch_cpu.so: e+4 (push)");
	assert_int_equal(signal[0].attached_ns, 11);
	assert_int_equal(signal[0].hits, 1);
	assert_int_equal(signal[0].let_go_ns, 0);
	assert_int_equal(strspn(signal[1].name, "n"), sizeof(signal[1].name) - 1);
	assert_null(signal[1].probe);
	assert_int_equal(signal[1].attached_ns, 13);
	assert_int_equal(signal[1].hits, 29); /* replaced */
	assert_int_equal(signal[1].let_go_ns, 31);
	assert_string_equal(signal[2].name, "user:lib\xef\xbf\xbd:f");
	assert_string_equal(signal[2].probe, "");
	assert_int_equal(signal[2].hits, 1ull << 40);
}

static void check_series(const struct recording *recording)
{
	const struct series *series = recording->series.items;

	assert_int_equal(recording->series.count, SERIES);
	assert_int_equal(series[0].signal, 1);
	assert_int_equal(series[0].process, 1);
	assert_int_equal(series[0].tid, 4711);
	assert_null(series[0].label);
	assert_int_equal(series[0].number, UNKNOWN);
	assert_string_equal(series[1].label, "Optimizer.step#Adam.step");
	assert_int_equal(series[1].process, 2);
	assert_int_equal(series[1].number, UNKNOWN);
	assert_string_equal(series[2].label, "m\xef\xbf\xbdke");
	assert_int_equal(series[2].number, 460);
	assert_null(series[3].label);
	assert_int_equal(series[3].number, INT64_MIN + 1);
	assert_string_equal(series[4].label, "");
	assert_int_equal(series[4].tid, UINT32_MAX);
	assert_int_equal(series[4].number, 0);
}

/* Both at once, at different paces: neither pass disturbs the other. */
static void test_round_trip(void **state)
{
	struct store_reader *reader;
	struct pause pause;
	struct mark mark;
	int r;

	make_file_with(PAUSES, MARKS);
	reader = open_file();
	assert_string_equal(store_recording(reader)->damage, "");
	check_signals(store_recording(reader));
	check_series(store_recording(reader));
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t id = 1; id <= MARKS; id++) {
			struct mark expected = nth_mark(id);
			struct pause other = nth_pause(id);

			assert_int_equal(store_next_mark(reader, &mark, NULL), 1);
			assert_same_mark(&mark, &expected);
			if (id > PAUSES)
				continue;
			assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
			assert_same_pause(&pause, &other);
		}
		assert_int_equal(store_next_mark(reader, &mark, NULL), 0);
		assert_int_equal(store_next_mark(reader, &mark, NULL), 0);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		store_reader_free(reader);
		reader = open_file();
	}
	assert_int_equal(store_next_mark(reader, &mark, NULL), 1);
	store_rewind(reader); /* leaves the marks where they are */
	assert_int_equal(count_marks(reader, &r), MARKS - 1);
	assert_int_equal(r, 0);
	store_reader_free(reader);
}

/* What the recording knows at its end replaces what was put before. */
static void test_end_replaces(void **state)
{
	struct signal signal = {.id = 1, .name = "torch:backward", .hits = 41, .let_go_ns = 43};
	struct series series = {.id = 2, .signal = 1, .process = 1, .tid = 7, .number = 11};
	struct store_writer *writer = start(3, true);
	struct recording recording = head();
	struct store_reader *reader;

	put_steps(writer);
	recording.end_ns = 900000000000;
	recording.signals.items = &signal;
	recording.series.items = &series;
	recording.signals.count = recording.series.count = 1;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
	reader = open_file();
	assert_int_equal(store_recording(reader)->signals.count, SIGNALS);
	assert_int_equal(store_recording(reader)->signals.items[0].hits, 41);
	assert_int_equal(store_recording(reader)->signals.items[0].let_go_ns, 43);
	assert_null(store_recording(reader)->signals.items[0].probe);
	assert_int_equal(store_recording(reader)->series.items[1].number, 11);
	assert_null(store_recording(reader)->series.items[1].label);
	assert_int_equal(store_recording(reader)->series.items[2].number, 460);
	store_reader_free(reader);
}

/* Marks wait in a batch: a commit writes them, and so do many of them without one. */
static void test_commits(void **state)
{
	static const unsigned counts[] = {0, 1, 63, 64, 65, 127, 128, 16383, 16384, 16385, 40009};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct store_writer *writer = start(i % 2 ? 17 : 0, true);
		struct store_reader *reader;
		int r;

		put_steps(writer);
		for (uint64_t id = 1; id <= counts[i]; id++) {
			struct mark mark = nth_mark(id);

			assert_int_equal(store_put_mark(writer, &mark), 0);
			if (id % 1009 == 0)
				assert_int_equal(store_commit(writer), 0);
		}
		store_abandon(writer);
		reader = open_file();
		assert_true(store_recording(reader)->cut_off);
		assert_int_equal(count_marks(reader, &r), counts[i]);
		assert_int_equal(r, 0);
		assert_int_equal(count_pauses(reader, &r), i % 2 ? 17 : 0);
		store_reader_free(reader);
	}
}

/* The tables that gctrace wrote before it knew steps. */
static const char before_steps[] =
	"PRAGMA application_id = 1195594834; PRAGMA user_version = 1;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
	"CREATE TABLE clock (monotonic_ns INTEGER PRIMARY KEY, realtime_ns INTEGER NOT NULL)"
	"  STRICT;"
	"CREATE TABLE process (id INTEGER PRIMARY KEY, pid INTEGER NOT NULL,"
	"  ns_pid INTEGER NOT NULL, ppid INTEGER NOT NULL, comm TEXT NOT NULL, cmdline BLOB,"
	"  seen_ns INTEGER NOT NULL, exit_ns INTEGER) STRICT;"
	"CREATE TABLE runtime (id INTEGER PRIMARY KEY,"
	"  process INTEGER NOT NULL REFERENCES process (id), kind TEXT NOT NULL,"
	"  version TEXT NOT NULL, tier TEXT NOT NULL, path TEXT, detail TEXT,"
	"  attached_ns INTEGER NOT NULL, missed INTEGER NOT NULL) STRICT;"
	"CREATE TABLE pause (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL,"
	"  duration_ns INTEGER NOT NULL, runtime INTEGER NOT NULL REFERENCES runtime (id),"
	"  tid INTEGER NOT NULL, interpreter INTEGER, generation INTEGER,"
	"  cause INTEGER NOT NULL, flags INTEGER NOT NULL, collected INTEGER,"
	"  uncollectable INTEGER, stack INTEGER REFERENCES stack (id)) STRICT;"
	"CREATE TABLE stack (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,"
	"  frame INTEGER NOT NULL REFERENCES frame (id)) STRICT;"
	"CREATE TABLE frame (id INTEGER PRIMARY KEY,"
	"  function INTEGER NOT NULL REFERENCES string (id),"
	"  file INTEGER REFERENCES string (id), line INTEGER, lang INTEGER NOT NULL) STRICT;"
	"CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"
	"CREATE TABLE drops (cause TEXT PRIMARY KEY, remedy TEXT NOT NULL,"
	"  count INTEGER NOT NULL, time_ns INTEGER NOT NULL) STRICT;"
	"INSERT INTO meta VALUES ('start_ns', '1000'), ('end_ns', '9000'), ('complete', '1');"
	"INSERT INTO process VALUES (1, 4711, 4711, 1, 'python3', NULL, 1000, NULL);"
	"INSERT INTO runtime VALUES (1, 1, 'cpython', '3.11', 'usdt', NULL, NULL, 1000, 0);"
	"INSERT INTO pause VALUES (1, 1000, 100, 1, 5, 0, 0, 1, 0, 7, 11, NULL),"
	"  (2, 2000, 100, 1, 5, 0, 2, 1, 0, 13, 17, NULL);";

static struct store_reader *open_old(const char *sql)
{
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, before_steps, NULL, NULL, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
	return open_file();
}

static void test_before_steps(void **state)
{
	struct store_reader *reader = open_old("SELECT 1");
	const struct recording *recording = store_recording(reader);
	struct pause pause;
	struct mark mark;

	assert_true(recording->complete);
	assert_string_equal(recording->damage, "");
	assert_int_equal(recording->signals.count, 0);
	assert_int_equal(recording->series.count, 0);
	assert_non_null(store_stacks(reader, NULL));
	assert_int_equal(recording->threads.count, 0);
	assert_int_equal(recording->stalls.count, 0);
	assert_int_equal(recording->phases.count, 0);
	assert_string_equal(recording->runtimes.items[0].collector, "");
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(store_next_mark(reader, &mark, NULL), 0);
		assert_int_equal(store_next_mark(reader, &mark, NULL), 0);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
		assert_int_equal(pause.start_ns, 2000);
		assert_int_equal(pause.uncollectable, 17);
		assert_int_equal(pause.heap_objects, UNKNOWN);
		assert_int_equal(pause.heap_pending, UNKNOWN);
		assert_int_equal(pause.rss_start, UNKNOWN);
		assert_int_equal(pause.rss_end, UNKNOWN);
		assert_int_equal(pause.waited_ns, UNKNOWN);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		assert_int_equal(store_rewind(reader), 0);
	}
	store_reader_free(reader);
}

/* Columns come one by one within a version: those that are there are read. */
static void test_some_columns(void **state)
{
	struct store_reader *reader =
		open_old("ALTER TABLE pause ADD COLUMN unheard_of TEXT;"
			 "ALTER TABLE pause ADD COLUMN rss_end INTEGER;"
			 "ALTER TABLE pause ADD COLUMN heap_objects INTEGER;"
			 "UPDATE pause SET rss_end = 4096 + id, heap_objects = 23");
	struct pause pause;

	assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
	assert_int_equal(pause.rss_end, 4097);
	assert_int_equal(pause.heap_objects, 23);
	assert_int_equal(pause.rss_start, UNKNOWN);
	assert_int_equal(pause.heap_pending, UNKNOWN);
	store_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_round_trip, each),
		cmocka_unit_test_setup(test_end_replaces, each),
		cmocka_unit_test_setup(test_commits, each),
		cmocka_unit_test_setup(test_before_steps, each),
		cmocka_unit_test_setup(test_some_columns, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
