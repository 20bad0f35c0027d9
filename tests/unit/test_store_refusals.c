/* The .gct file that cannot be written or read, or not as far as it would go: a sentence, and what there is. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "needs.h"
#include "store_fixture.h"

static void write_bytes(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void refuse_create(int code, const char *words)
{
	struct recording recording = head();
	struct store_writer *writer = NULL;
	struct err err = {""};

	assert_int_equal(create(&recording, &writer, &err), -code);
	assert_null(writer);
	if (!strstr(err.text, words) || !strstr(err.text, path))
		fail_msg("%s", err.text);
}

static int refuse_unwritable(void)
{
	refuse_create(EACCES, "cannot create");
	return 0;
}

static void test_create_refuses(void **state)
{
	char content[16] = "";
	int fd;

	write_bytes("precious data", 13);
	refuse_create(EEXIST, "not a gctrace recording");
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, content, sizeof(content)), 13);
	close(fd);
	assert_string_equal(content, "precious data");
	run("rm %s; sqlite3 %s 'create table t(x)'", path, path);
	refuse_create(EEXIST, "not a gctrace recording");
	run("rm %s; mkdir %s", path, path);
	refuse_create(EINVAL, "not a regular file");
	run("rmdir %s; mkfifo %s", path, path);
	refuse_create(EINVAL, "not a regular file");
	run("rm %s; ln -s /nonexistent/x %s", path, path);
	refuse_create(ELOOP, "symbolic link");
	snprintf(path, sizeof(path), "%s/none/run.gct", folder);
	refuse_create(ENOENT, "cannot create");
	snprintf(path, sizeof(path), "%s/run2.gct", folder);
	if (!geteuid())
		assert_int_equal(as_nobody(refuse_unwritable), 0);
	write_bytes("", 0); /* an empty file is taken */
	make_file(3);
	make_file(5); /* and so is a recording */
	store_reader_free(open_file());
}

static int refuse_unreadable(void)
{
	refuse_open(EACCES, "cannot read");
	return 0;
}

static void test_open_refuses(void **state)
{
	refuse_open(ENOENT, "no file");
	write_bytes("", 0);
	refuse_open(EBADMSG, "empty");
	write_bytes("hello, world", 12);
	refuse_open(EBADMSG, "is not a gctrace recording");
	run("rm %s; mkdir %s", path, path);
	refuse_open(EBADMSG, "not a regular file");
	run("rmdir %s; sqlite3 %s 'create table t(x)'", path, path);
	refuse_open(EBADMSG, "a SQLite database but not");
	run("rm %s; sqlite3 %s 'pragma application_id=1195594834; pragma user_version=1; create "
	    "table t(x)'",
		path, path);
	refuse_open(EBADMSG, "lacks tables");
	run("rm %s", path);
	make_file(3);
	run("sqlite3 %s 'pragma user_version=2'", path);
	refuse_open(EBADMSG, "newer gctrace (schema version 2");
	run("chmod 000 %s", path);
	if (!geteuid())
		assert_int_equal(as_nobody(refuse_unreadable), 0);
}

static int read_plain(void)
{
	struct store_reader *reader = open_file();
	int r;
	uint64_t count = count_pauses(reader, &r);

	store_reader_free(reader);
	return count == 101 && !r ? 0 : 1;
}

static void test_read_only_folder(void **state)
{
	if (geteuid())
		skip();
	make_file(101);
	run("chmod 444 %s; chmod 555 %s", path, folder);
	assert_int_equal(as_nobody(read_plain), 0);
}

/* Puts pauses, some of them safepoints, marks and stalls until it fails with @code, then closes; the exit status says what went wrong. */
static int fill(int code, const char *words)
{
	struct store_writer *writer = start(0, true);
	struct recording recording = head();
	struct err err = {""};
	int r = 0;

	put_steps(writer);
	for (uint64_t id = 1; !r && id < 10000000; id++) {
		struct pause pause = nth_pause(id);
		struct mark mark = nth_mark(id);
		struct stall stall = {.id = id, .runtime = 1, .kind = STALL_PACING};

		pause.flags |= id % 64 < 33 ? PAUSE_HAS_FACTS : 0;
		r = store_put_pause(writer, &pause);
		r = r ? r : store_put_mark(writer, &mark);
		r = r ? r : store_put_stall(writer, &stall);
	}
	if (r != -code || !strstr(store_writer_error(writer), words) ||
		!strstr(store_writer_error(writer), path)) {
		print_error("%d: %s\n", r, store_writer_error(writer));
		return 1;
	}
	recording.end_ns = 900000000000;
	if (store_close(writer, &recording, &err) != -code || !strstr(err.text, words))
		return 2;
	return 0;
}

static void check_filled(void)
{
	struct store_reader *reader = open_file();
	const struct recording *recording = store_recording(reader);
	int r;

	assert_false(recording->complete);
	assert_true(recording->cut_off || recording->drops.count == 2);
	assert_true(count_pauses(reader, &r) >= 10000);
	if (r)
		fail_msg("%s", recording->damage);
	assert_true(count_marks(reader, &r) >= 10000);
	if (r)
		fail_msg("%s", recording->damage);
	assert_true(recording->stalls.count >= 10000);
	store_reader_free(reader);
}

static void test_size_limit(void **state)
{
	struct rlimit limit = {3 << 20, 3 << 20};
	pid_t child = fork();
	int status;

	if (!child) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(fill(EFBIG, "largest size"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	check_filled();
}

static void test_disk_full(void **state)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", folder, "tmpfs", 0, "size=6m"))
		skip();
	assert_int_equal(fill(ENOSPC, "disk is full"), 0);
	check_filled();
	umount(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_create_refuses, each),
		cmocka_unit_test_setup(test_open_refuses, each),
		cmocka_unit_test_setup(test_read_only_folder, each),
		cmocka_unit_test_setup(test_size_limit, each),
		cmocka_unit_test_setup(test_disk_full, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
