/* Recordings before they have a name, those that never get one, and the reader that goes on where the writer ends. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "store_fixture.h"

/* Facts and pauses 1 … @count, put into one that has begun. */
static void fill(struct store_writer *writer, uint64_t count)
{
	struct stack_table stacks;

	put_facts(writer);
	make_stacks(&stacks);
	assert_int_equal(store_put_stacks(writer, &stacks), 0);
	stack_table_release(&stacks);
	for (uint64_t id = 1; id <= count; id++) {
		struct pause pause = nth_pause(id);

		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	assert_int_equal(store_commit(writer), 0);
}

static struct store_writer *begin(uint64_t count)
{
	struct recording recording = head();
	struct store_writer *writer = NULL;
	struct err err = {""};

	if (store_begin(path, &recording, &writer, &err))
		fail_msg("%s", err.text);
	fill(writer, count);
	return writer;
}

static void check_count(struct store_reader *reader, uint64_t count)
{
	int r;

	assert_int_equal(store_recording(reader)->end_ns, 900000000000);
	assert_int_equal(count_pauses(reader, &r), count);
	assert_int_equal(r, 0);
}

static void end(struct store_writer *writer, struct store_reader **ret)
{
	struct recording recording = head();
	struct err err = {""};
	int r;

	recording.end_ns = 900000000000;
	r = ret ? store_close_to_read(writer, &recording, ret, &err)
		: store_close(writer, &recording, &err);
	if (r)
		fail_msg("%s", err.text);
}

static void test_settled(void **state)
{
	struct store_reader *reader = NULL, *beside;
	struct store_writer *writer;
	struct stat st;

	make_file(11);
	writer = begin(101);
	reader = open_file(); /* the old one, until the new one has begun */
	check_count(reader, 11);
	store_reader_free(reader);
	assert_int_equal(store_settle(writer, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(wal, &st), 0);
	run("test $(ls -A %s | wc -l) = 2", folder);
	for (uint64_t id = 102; id <= PAUSES; id++) {
		struct pause pause = nth_pause(id);

		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	end(writer, &reader);
	check_count(reader, PAUSES);
	beside = open_file(); /* somebody may read the file while the first reader has it */
	check_count(beside, PAUSES);
	store_reader_free(beside);
	store_reader_free(reader);
	run("test $(ls -A %s) = run.gct", folder);
}

static void test_given_up(void **state)
{
	struct store_reader *reader;

	make_file(11);
	store_abandon(begin(101));
	run("test $(ls -A %s) = run.gct", folder);
	reader = open_file();
	check_count(reader, 11);
	store_reader_free(reader);
}

/* A file that takes its place meanwhile is as safe as the one that was there. */
static void test_place_is_taken(void **state)
{
	struct store_writer *writer = begin(101);
	struct pause pause = nth_pause(102);
	struct err err = {""};

	run("echo precious > %s", path);
	assert_int_equal(store_settle(writer, &err), -EEXIST);
	assert_non_null(strstr(err.text, "not a gctrace recording"));
	assert_true(store_put_pause(writer, &pause) < 0);
	store_abandon(writer);
	run("test $(ls -A %s) = run.gct && grep -q precious %s", folder, path);
}

static void test_nameless(void **state)
{
	struct recording recording = head();
	struct store_writer *writer = NULL;
	struct store_reader *reader = NULL;
	struct err err = {""};

	assert_int_equal(store_begin_nameless(folder, &recording, &writer, &err), 0);
	run("test -z \"$(ls -A %s)\"", folder);
	fill(writer, PAUSES);
	run("test -z \"$(ls -A %s)\"", folder);
	end(writer, &reader);
	check_count(reader, PAUSES);
	assert_int_equal(store_rewind(reader), 0);
	check_count(reader, PAUSES);
	store_reader_free(reader);
	assert_int_equal(store_begin_nameless("/nonexistent", &recording, &writer, &err), -ENOENT);
	assert_non_null(strstr(err.text, "TMPDIR"));
}

/* A page of the file or of its WAL is overwritten: it is not declared whole. */
static void damage(const char *file, off_t at)
{
	static const char zeros[8192];
	struct store_writer *writer = begin(PAUSES);
	struct recording recording = head();
	struct err err = {""};
	int fd;

	assert_int_equal(store_settle(writer, NULL), 0);
	for (uint64_t id = PAUSES + 1; id <= 2 * PAUSES; id++) {
		struct pause pause = nth_pause(id);

		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	assert_int_equal(store_commit(writer), 0);
	fd = open(file, O_WRONLY);
	assert_true(fd >= 0 && pwrite(fd, zeros, sizeof(zeros), at) == sizeof(zeros));
	close(fd);
	recording.end_ns = 900000000000;
	assert_int_equal(store_close(writer, &recording, &err), -EBADMSG);
	if (!strstr(err.text, "is damaged") || !strstr(err.text, path))
		fail_msg("%s", err.text);
}

static void test_damaged_meanwhile(void **state)
{
	damage(wal, 32 + 5 * (24 + 8192) +
			    24); /* behind the headers of the WAL and of its sixth frame */
	each(state);
	damage(path, 40 * 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_settled, each),
		cmocka_unit_test_setup(test_given_up, each),
		cmocka_unit_test_setup(test_place_is_taken, each),
		cmocka_unit_test_setup(test_nameless, each),
		cmocka_unit_test_setup(test_damaged_meanwhile, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
