/* kineto: traces as text, in pieces, packed, cut off or damaged; what no trace is, or none of this recording. */
#include "kineto_fixture.h"
#include "cleanup.h"

#include <zlib.h>

/* ── text ── */

/* What Python's json writes and reads, and what older versions forgot to escape. */
static void slips_are_mended(void **state)
{
	struct scene *scene = *state;

	event(scene,
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"C:\\Users\\u12\\x\t\x80 \\\"q\\\\\", "
		"\"pid\": 0, \"tid\": 7, \"args\": {\"a\": NaN, \"b\": -Infinity, \"c\": inf, \"d\": -nan, "
		"\"e\": [1e5, 2E-3, true, null, false], \"device\": 3}, \"ts\": %lld, \"dur\": 50}",
		AT(1000));
	call(scene, "cudaDeviceSynchronize", 1000, 5, 1);
	read_it(scene);
	assert_int_equal(scene->timeline.devices.items[0].device, 3);
	assert_span(scene->timeline.devices.items[0].seen_ns,
		scene->timeline.devices.items[0].until_ns, NS(1000), NS(1050));
}

/* … wherever the pieces of the file end. */
static void pieces_end_anywhere(void **state)
{
	static const char tail[] =
		"\\U\\u00e4\\\\\", \"pid\": 0, \"args\": {\"a\": -Infinity, \"device\": 3, \"b\": NaN}, ";
	struct scene *scene = *state;

	for (int shift = 0; shift < 120; shift++) {
		scene->any = false;
		write_text(scene, "");
		event(scene,
			"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%0*d%s\"ts\": %lld, \"dur\": 50}",
			262144 - 90 - shift, 0, tail, AT(1000));
		call(scene, "cudaDeviceSynchronize", 1000, 5, 1);
		gpu_release(&scene->timeline);
		read_it(scene);
		assert_int_equal(scene->timeline.devices.items[0].device, 3);
		assert_int_equal(scene->timeline.devices.items[0].seen_ns, NS(1000));
	}
}

static void a_list_alone(void **state)
{
	struct scene *scene = *state;
	char text[512];

	snprintf(text, sizeof(text),
		"\xef\xbb\xbf[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"ts\": %lld, \"dur\": 9},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"o\", \"pid\": %d, \"ts\": %lld, \"dur\": 9}]",
		AT(100), PID, AT(90));
	write_text(scene, text);
	assert_int_equal(read_file(scene), 0);
	assert_int_equal(scene->timeline.devices.items[0].seen_ns, NS(100));
}

/* ── refusals ── */

static void pack(struct scene *scene, size_t cut)
{
	unsigned char text[65536], packed[65536];
	size_t len = (size_t)ftell(scene->trace);
	gzFile file;
	FILE *again;

	rewind(scene->trace);
	again = fopen(scene->path, "r");
	assert_int_equal(fread(text, 1, sizeof(text), again), len);
	fclose(again);
	file = gzopen(scene->path, "w");
	assert_int_equal(gzwrite(file, text, (unsigned int)len), len);
	gzclose(file);
	again = fopen(scene->path, "r");
	len = fread(packed, 1, sizeof(packed), again);
	fclose(again);
	assert_true(len > cut);
	again = fopen(scene->path, "w");
	fwrite(packed, 1, len - cut, again);
	fclose(again);
}

static void whole(struct scene *scene)
{
	for (long long i = 0; i < 23; i++) {
		call(scene, "cudaLaunchKernel", 1000 + 1000 * i, 5, 11 + i);
		work(scene, "kernel", 0, 1010 + 1000 * i, 50, 11 + i);
	}
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
}

static void gzip(void **state)
{
	struct scene *scene = *state;

	whole(scene);
	pack(scene, 0);
	assert_int_equal(read_file(scene), 0);
	assert_int_equal(scene->timeline.devices.items[0].busy.count, 23);
}

static void gzip_that_was_cut_off(void **state)
{
	struct scene *scene = *state;

	whole(scene);
	pack(scene, 9);
	refuses(scene, EBADMSG, "was cut off: its gzip data end too early");
}

static void gzip_that_is_damaged(void **state)
{
	struct scene *scene = *state;
	FILE *file;

	whole(scene);
	pack(scene, 0);
	file = fopen(scene->path, "r+");
	fseek(file, 100, SEEK_SET);
	fwrite("\xff\xff\xff\xff\xff\xff\xff\xff", 1, 8, file);
	fclose(file);
	refuses(scene, EBADMSG, "is damaged: its gzip data cannot be unpacked");
}

static void json_that_was_cut_off(void **state)
{
	struct scene *scene = *state;

	whole(scene);
	assert_int_equal(ftruncate(fileno(scene->trace), 777), 0);
	refuses(scene, EBADMSG, "was cut off: its JSON ends too early");
}

static void no_trace(void **state)
{
	struct scene *scene = *state;

	write_text(scene, "");
	refuses(scene, EBADMSG, "is empty");
	write_text(scene, "SQLite format 3");
	refuses(scene, EBADMSG, "is no trace: byte ");
	write_text(scene, "{\"traceEvents\": {}, \"a\": [1]}");
	refuses(scene, EBADMSG, "is JSON, but no trace: it has no \"traceEvents\"");
	write_text(scene, "[1, 2]");
	refuses(scene, EBADMSG, "is JSON, but no trace");
	unlink(scene->path);
	refuses(scene, ENOENT, "cannot be opened: No such file");
	snprintf(scene->path, sizeof(scene->path), "/");
	refuses(scene, EISDIR, "cannot be read: Is a directory");
}

static void no_gpu(void **state)
{
	struct scene *scene = *state;

	annotation(scene, "ProfilerStep#3", PID, 100);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ENODATA, "has no GPU activity: was ProfilerActivity.CUDA on?");
}

static void no_process(void **state)
{
	struct scene *scene = *state;

	work(scene, "kernel", 0, 1000, 5, 0);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ESRCH, "was ProfilerActivity.CPU on?");
}

static void another_process(void **state)
{
	struct scene *scene = *state;

	call_of(scene, "cudaLaunchKernel", 2910249, 2910249, 1000, 5, 1);
	work(scene, "kernel", 0, 1010, 5, 1);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ESRCH,
		"is of process 2910249, which is not in the recording: that has 4711 (python3)");
}

static void another_time(void **state)
{
	struct scene *scene = *state;

	call(scene, "cudaLaunchKernel", -86400000000, 5, 1);
	work(scene, "kernel", 0, -86399999990, 5, 1);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ERANGE,
		"work from 2023-11-13 22:13:20 to 22:13:20 UTC, the recording is of 2023-11-14 22:13:20 to "
		"23:13:20 UTC");
}

static void no_clock(void **state)
{
	struct scene *scene = *state;

	event(scene,
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"ts\": 100, \"dur\": 9}");
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"o\", \"pid\": %d, \"ts\": 90, \"dur\": 9}",
		PID);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ERANGE, "does not say when it began");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(slips_are_mended),
		TEST(pieces_end_anywhere),
		TEST(a_list_alone),
		TEST(gzip),
		TEST(gzip_that_was_cut_off),
		TEST(gzip_that_is_damaged),
		TEST(json_that_was_cut_off),
		TEST(no_trace),
		TEST(no_gpu),
		TEST(no_process),
		TEST(another_process),
		TEST(another_time),
		TEST(no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
