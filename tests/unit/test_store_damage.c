/* Damaged and hostile .gct files give what can be read of them, and a sentence; never a crash. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store_fixture.h"

static void test_truncated(void **state)
{
	struct stat st;
	uint64_t at_half = 0;
	int r;

	make_file_with(PAUSES, MARKS);
	assert_int_equal(stat(path, &st), 0);
	for (off_t len = st.st_size - 4096; len > 0; len -= 6007) {
		struct store_reader *reader = NULL;
		struct err err = {""};

		assert_int_equal(truncate(path, len), 0);
		if (store_open(path, &reader, &err)) {
			assert_non_null(strstr(err.text, path));
			continue;
		}
		r = 0;
		if (len > st.st_size / 2)
			at_half = count_pauses(reader, &r);
		else
			count_pauses(reader, &r);
		count_marks(reader, &r);
		assert_int_equal(r, -EBADMSG);
		assert_false(store_recording(reader)->complete);
		assert_true(*store_recording(reader)->damage);
		store_reader_free(reader);
	}
	assert_in_range(at_half, 1, PAUSES - 1);
}

/* Zeroes one page, in what was written last. */
static void make_hole(void)
{
	char zeros[8192] = "";
	int fd = open(path, O_WRONLY);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, zeros, 8192, st.st_size / 8192 * 3 / 4 * 8192), 8192);
	close(fd);
}

static void test_hole(void **state)
{
	struct store_reader *reader;
	uint64_t count;
	int r;

	make_file(PAUSES);
	make_hole();
	reader = open_file();
	count = count_pauses(reader, &r);
	assert_int_equal(r, -EBADMSG);
	assert_in_range(count, PAUSES * 6 / 10, PAUSES - 1); /* both sides of the hole */
	store_reader_free(reader);
}

/* In a file that is mostly marks: the pauses, read first, are whole. */
static void test_hole_in_marks(void **state)
{
	struct store_reader *reader;
	struct mark mark, last = {0}, expected = nth_mark(7 * MARKS);
	uint64_t count = 0;
	int r;

	make_file_with(PAUSES / 7, 7 * MARKS);
	make_hole();
	reader = open_file();
	assert_int_equal(count_pauses(reader, &r), PAUSES / 7);
	assert_int_equal(r, 0);
	while ((r = store_next_mark(reader, &mark, NULL)) > 0) {
		assert_true(mark.time_ns > last.time_ns);
		last = mark;
		count++;
	}
	assert_int_equal(r, -EBADMSG);
	assert_in_range(count, 7 * MARKS * 9 / 10, 7 * MARKS - 1);
	assert_same_mark(&last, &expected);
	assert_non_null(strstr(store_recording(reader)->damage, "step_mark"));
	assert_false(store_recording(reader)->complete);
	store_rewind(reader);
	assert_int_equal(count_pauses(reader, &r), PAUSES / 7);
	assert_int_equal(r, -EBADMSG); /* by now the damage is known */
	store_reader_free(reader);
}

static void test_hostile_rows(void **state)
{
	static const struct {
		const char *sql;
		unsigned pauses;
		bool damaged;
	} cases[] = {
		{"select 1", 1, false},
		{PAUSE "(2,1000,-5,1,5,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(2,-1,5,1,5,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(2,9223372036854775807,5,1,5,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(2,'soon','long',1,5,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(2,1000,zeroblob(100000),1,5,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(2,1000,5,1,99999999999,0,0,1,0,0,0,1)", 1, true},
		{PAUSE "(-7,1000,5,1,5,0,0,1,0,0,0,1)", 1, false},
		{PAUSE "(9223372036854775807,1000,5,1,5,0,0,1,0,0,0,1)", 2, false},
		{PAUSE "(2,1000,5,77,5,0,0,1,0,0,0,1)", 2, true},
		{PAUSE "(2,1000,5,1,5,0,0,1,0,0,0,2)", 2, true},
		{PAUSE "(2,1000,5,1,5,-9,'x',99,-65,-5,1e300,1)", 2, false},
		{PAUSE "(2,1000,5,1,5,-9,'x',99,64,-5,1e300,1)", 2,
			false}, /* facts of a later gctrace */
		{"insert into stack values (2,2,1)", 1, true},
		{"insert into stack values (2,7,1)", 1, true},
		{"insert into stack values (3,1,1)", 1, true},
		{"insert into stack values (2,1,9)", 1, true},
		{"insert into stack values (2,-1,1)", 1, true},
		{"insert into frame values (2,9,NULL,NULL,1)", 1, true},
		{"insert into frame values (2,1,-1,NULL,1)", 1, true},
		{"insert into frame values (2,1,2,99999999999,1)", 1, true},
		{"insert into string values (4,'gap')", 1, true},
		{"insert into string values (3,x'00ff00')", 1, false},
		{"insert into string values (3,NULL)", 1, false},
		{"insert into runtime values (2,99,'cpython','','',NULL,NULL,1,0,NULL,NULL,NULL)",
			1, true},
		{"insert into runtime values (99999999999,1,'cpython','','',NULL,NULL,1,0,NULL,NULL,NULL)",
			1, true},
		{"insert into process values (2,-4,1,1,'x',NULL,1,NULL)", 1, true},
		{"insert into process values (2,4,1,1,zeroblob(9999),zeroblob(9999),1,NULL)", 1,
			false},
		{"insert into drops values ('x','y',-1,1)", 1, true},
		{"update meta set value='-12' where key='end_ns'", 1, true},
		{"update meta set value='999' where key='end_ns'", 1, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_reader *reader;
		uint64_t count;
		int r;

		make_hostile(cases[i].sql);
		reader = open_file();
		count = count_pauses(reader, &r);
		if (count != cases[i].pauses || (r == -EBADMSG) != cases[i].damaged)
			fail_msg("%s: %" PRIu64 " pauses, %d", cases[i].sql, count, r);
		if (cases[i].damaged)
			assert_false(store_recording(reader)->complete);
		store_reader_free(reader);
	}
}

/* Impossible figures of a pause: each reads as not known, and costs nothing else. */
static void test_hostile_figures(void **state)
{
	static const char *const values[] = {
		"-7", "'many'", "1e300", "9223372036854775807", "zeroblob(70000)", "NULL"};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct store_reader *reader;
		struct pause pause;
		char sql[256];

		snprintf(sql, sizeof(sql),
			"update pause set heap_objects=%s, heap_pending=%s, rss_start=%s, "
			"rss_end=%s, waited_ns=%s",
			values[i], values[i], values[i], values[i], values[i]);
		make_hostile(sql);
		reader = open_file();
		assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
		assert_int_equal(pause.heap_objects, UNKNOWN);
		assert_int_equal(pause.heap_pending, UNKNOWN);
		assert_int_equal(pause.rss_start, UNKNOWN);
		assert_int_equal(pause.rss_end, UNKNOWN);
		assert_int_equal(pause.waited_ns, i == 3 ? 100 : UNKNOWN); /* within the pause */
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		store_reader_free(reader);
	}
}

#define MARKS_PUT "insert into step_mark (id,series,time_ns,rss_bytes) values "

static const struct {
	const char *sql;
	unsigned signals, series, marks;
	bool damaged;
} mark_cases[] = {
	{"select 1", 1, 1, 1, false},
	{MARKS_PUT "(2,77,1000,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,77,1000,1),(3,1,1001,1)", 1, 1, 2, true},
	{MARKS_PUT "(2,0,1000,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,'one',1000,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,4294967297,1000,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,1,-1000,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,1,NULL,1)", 1, 1, 1, true},
	{MARKS_PUT "(2,1,1.5,1),(3,1,7,1)", 1, 1, 2, true},
	{MARKS_PUT "(2,1,zeroblob(99999),1)", 1, 1, 1, true},
	{MARKS_PUT "(2,1,7,-1),(3,1,7,'x'),(4,1,7,1e300)", 1, 1, 4, false},
	{MARKS_PUT "(-2,1,7,1)", 1, 1, 1, false},
	{MARKS_PUT "(9223372036854775807,1,7,1)", 1, 1, 2, false},
	{"insert into step_series values (2,9,1,1,NULL,NULL)", 1, 1, 1, true},
	{"insert into step_series values (2,1,9,1,NULL,NULL)", 1, 1, 1, true},
	{"insert into step_series values (2,9,1,1,NULL,NULL),(3,1,1,1,NULL,NULL);" MARKS_PUT
	 "(2,2,7,1),(3,3,7,1)",
		1, 2, 2, true},
	{"insert into step_series values (2,1,1,-1,NULL,NULL)", 1, 1, 1, true},
	{"insert into step_series values (2,1,1,1,x'ff00',-7)", 1, 2, 1, false},
	{"insert into step_series values (2,1,1,1,17,'x')", 1, 1, 1, true},
	{"insert into step_series values (99999999999,1,1,1,NULL,1)", 1, 1, 1, true},
	{"insert into step_signal values (2,zeroblob(9999),x'ff',1,1,1)", 2, 1, 1, false},
	{"insert into step_signal values (2,NULL,NULL,1,1,1)", 2, 1, 1, false},
	{"insert into step_signal values (2,'x',NULL,-1,1,1)", 1, 1, 1, true},
	{"insert into step_signal values (2,'x',NULL,1,'hot',1)", 1, 1, 1, true},
	{"insert into step_signal values (2,'x',NULL,1,1,-1)", 1, 1, 1, true},
	{"insert into step_signal values (0,'x',NULL,1,1,1)", 0, 0, 0, true},
	{"update step_signal set id=4294967295; update step_series set signal=4294967295, "
	 "id=4294967295; update step_mark set series=4294967295",
		1, 1, 1, false},
	{"insert into step_mark values (2,1,7,1,-1,-1),(3,1,8,1,'x','x'),(4,1,9,1,4294967296,1e300)",
		1, 1, 4, false},
	{"alter table step_mark drop column skipped", 1, 1, 1, false}, /* as older recordings are */
	{"alter table step_mark drop column work_ns", 1, 1, 1, false},
	{"drop table step_mark", 1, 1, 0, false},
	{"drop table step_series", 1, 0, 0, true},
	{"drop table step_signal", 0, 0, 0, true},
};

static void test_hostile_marks(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(mark_cases); i++) {
		struct store_reader *reader;
		const struct recording *recording;
		uint64_t marks;
		int r, pauses_r;

		make_hostile(mark_cases[i].sql);
		reader = open_file();
		recording = store_recording(reader);
		marks = count_marks(reader, &r);
		if (recording->signals.count != mark_cases[i].signals ||
			recording->series.count != mark_cases[i].series ||
			marks != mark_cases[i].marks || (r == -EBADMSG) != mark_cases[i].damaged)
			fail_msg("%s: %zu, %zu, %" PRIu64 ", %d", mark_cases[i].sql,
				recording->signals.count, recording->series.count, marks, r);
		assert_int_equal(count_pauses(reader, &pauses_r), 1);
		assert_int_equal(pauses_r, r);
		if (mark_cases[i].damaged)
			assert_false(recording->complete);
		store_reader_free(reader);
	}
}

#define FOR_EVER                                                                                   \
	" as with recursive c(id) as (select 1 union all select id + 1 from c) "                   \
	"select id, 1 as series, 1 as time_ns, 1 as rss_bytes, 1 as start_ns from c"
#define FORGE "pragma writable_schema=on; update sqlite_schema set "

static void test_hostile_tables(void **state)
{
	static const char *const lacking[] = {
		"drop table pause; create view pause" FOR_EVER,
		"drop table drops; create table drops (cause, remedy, count, "
		"time_ns as (abs(count)))",
		"drop table step_mark; create view step_mark" FOR_EVER,
		"drop table step_mark; create view STEP_Mark" FOR_EVER,
		"drop table step_series; create table step_series (id, signal, process, tid, "
		"label, number as (abs(id)))",
		"alter table pause add column again as (abs(id))",
		/* A view under the name of a table, written where SQLite sees it first. */
		FORGE "type='table', rootpage=0, sql='CREATE VIEW step_mark" FOR_EVER
		      "' where name='meta'",
		FORGE "type='table', rootpage=0, sql='CREATE VIEW pause" FOR_EVER
		      "' where name='clock'",
		FORGE "sql='CREATE VIEW step_mark" FOR_EVER "' where name='step_mark'",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lacking); i++) {
		make_hostile(lacking[i]);
		refuse_open(EBADMSG, "lacks tables");
	}
	make_hostile(FORGE "sql='CREATE VIRTUAL TABLE step_mark USING fts5(series)' "
			   "where name='step_mark'");
	refuse_open(EBADMSG, "no such module");
	make_hostile("drop table meta; create table meta (key)");
	refuse_open(EBADMSG, "damaged");
}

static void test_nul_in_text(void **state)
{
	const struct stack_table *stacks;
	struct store_reader *reader;

	make_hostile("update string set text=cast(x'610062ff63' as text) where id=1;"
		     "update process set comm=cast(x'7000ff' as text)");
	reader = open_file();
	stacks = store_stacks(reader, NULL);
	assert_string_equal(strtab_get(stacks->strings, stacks->frames[1].function), "a\xef\xbf\xbd"
										     "b\xef\xbf\xbd"
										     "c");
	assert_string_equal(store_recording(reader)->processes.items[0].comm,
		"p\xef\xbf\xbd\xef\xbf\xbd");
	store_reader_free(reader);
}

/* Texts of any length, in each place that has one, and stacks of any depth: what no recorder writes is cut. */
static void test_amplification(void **state)
{
	static const char *const places[] = {
		"update string set text=printf('%.9999999c','y')",
		"update string set text=cast(zeroblob(9999999) as text)",
		"update runtime set path=printf('%.9999999c','y')",
		"update runtime set detail=printf('%.9999999c','y')",
		"update step_signal set probe=printf('%.9999999c','y')",
		"update step_series set label=printf('%.9999999c','y')",
		"update process set cmdline=zeroblob(9999999)",
	};
	const struct stack_table *stacks;
	struct store_reader *reader;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const struct recording *recording;

		make_hostile(places[i]);
		reader = open_file();
		recording = store_recording(reader);
		stacks = store_stacks(reader, NULL);
		assert_non_null(strstr(recording->damage, "a text of 9999999 bytes"));
		assert_false(recording->complete);
		for (uint32_t id = 0; id < strtab_count(stacks->strings); id++)
			assert_in_range(strtab_len(stacks->strings, id), 0, 3 * 4096);
		assert_in_range(recording->processes.items[0].cmdline_len, 0, 16384);
		if (recording->runtimes.items[0].path)
			assert_in_range(strlen(recording->runtimes.items[0].path), 0, 4096);
		if (recording->runtimes.items[0].detail)
			assert_in_range(strlen(recording->runtimes.items[0].detail), 0, 4096);
		if (recording->signals.items[0].probe)
			assert_in_range(strlen(recording->signals.items[0].probe), 0, 4096);
		if (recording->series.items[0].label)
			assert_in_range(strlen(recording->series.items[0].label), 0, 4096);
		store_reader_free(reader);
	}
}

#define COUNT(n) "with recursive c(n) as (select 1 union all select n + 1 from c where n < " #n ")"

static void test_endless_stacks(void **state)
{
	static const struct {
		const char *sql;
		unsigned nodes, runtimes;
		bool damaged;
	} cases[] = {
		{COUNT(16383) "insert into stack select n + 1, n, 1 from c", 16385, 1, false},
		{COUNT(99999) "insert into stack select n + 1, n, 1 from c", 16385, 1, true},
		{"update string set text=printf('%.4096c','y') where id=1;" COUNT(
			 9999) "insert into stack select n + 1, n, 1 from c",
			256, 1, true},
		{COUNT(63) "insert into runtime select n + 1,1,'cpython','','',NULL,NULL,1,0,NULL,NULL,NULL from c",
			2, 64, false},
		{COUNT(9999) "insert into runtime select n + 1,1,'cpython','','',NULL,NULL,1,0,NULL,NULL,NULL from c",
			2, 64, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_reader *reader;
		int r;

		make_hostile(cases[i].sql);
		reader = open_file();
		assert_int_equal(store_stacks(reader, NULL)->node_count, cases[i].nodes);
		assert_int_equal(store_recording(reader)->runtimes.count, cases[i].runtimes);
		assert_int_equal(count_pauses(reader, &r), 1);
		assert_int_equal(r, cases[i].damaged ? -EBADMSG : 0);
		store_reader_free(reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_truncated, each),
		cmocka_unit_test_setup(test_hole, each),
		cmocka_unit_test_setup(test_hole_in_marks, each),
		cmocka_unit_test_setup(test_hostile_rows, each),
		cmocka_unit_test_setup(test_hostile_figures, each),
		cmocka_unit_test_setup(test_hostile_marks, each),
		cmocka_unit_test_setup(test_hostile_tables, each),
		cmocka_unit_test_setup(test_nul_in_text, each),
		cmocka_unit_test_setup(test_amplification, each),
		cmocka_unit_test_setup(test_endless_stacks, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
