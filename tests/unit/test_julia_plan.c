/* What is probed of a Julia, by what its file exports: libraries made of julia_fixture.S. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "julia_code.h"
#include "julia_plan.h"

extern const struct runtime_ops probe_julia;

static struct elf_file *open_fixture(const char *name)
{
	struct elf_file *file;
	struct err err = {};
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/lib%s.so", JULIA_FIXTURES, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (elf_file_open(fd, path, &file, &err))
		fail_msg("%s", err.text);
	return file;
}

static uint64_t address_of(const struct elf_file *file, const char *name)
{
	struct elf_symbol symbol;

	if (elf_file_symbol(file, name, true, &symbol))
		fail_msg("no symbol %s", name);
	return symbol.vaddr;
}

static int make_plan(const struct elf_file *file, const char *tier, struct probe_plan *ret,
	struct err *err)
{
	struct probe_image image = {.ops = &probe_julia};

	assert_int_equal(elf_file_code(file, &image.map.offset), 0);
	image.map.path = (char *)"libjulia";
	return probe_julia.plan(0, &image, file, tier, ret, err);
}

struct wanted {
	const char *place;
	const char *program;
	uint32_t when; /* of an end */
};

static void check_sites(const struct elf_file *file, const struct probe_plan *plan,
	const struct wanted *wanted)
{
	for (size_t i = 0; i < plan->site_count; i++, wanted++) {
		const struct probe_site *site = &plan->sites[i];
		uint64_t offset;

		assert_non_null(wanted->place);
		print_message("# %s %s\n", wanted->place, site->program);
		assert_int_equal(julia_plan(plan)->told.site_address[i],
			address_of(file, wanted->place));
		assert_int_equal(elf_file_offset(file, address_of(file, wanted->place), &offset),
			0);
		assert_int_equal(site->offset, offset);
		assert_string_equal(site->program, wanted->program);
		assert_int_equal(site->cookie, GC_COOKIE_OF(wanted->when));
		assert_int_equal(site->ends, !strcmp(site->program, "on_julia_over"));
		assert_false(site->at_return);
		assert_null(site->end);
	}
	assert_null(wanted->place);
}

enum { EQUAL = 0x4, NOT_EQUAL = 0x5 };

#define ENDS                                                                                       \
	{"without", "on_julia_over", GC_JULIA_IF(EQUAL)},                                          \
		{"last", "on_julia_over", GC_JULIA_UNLESS(NOT_EQUAL)},                             \
	{                                                                                          \
		"finalize", "on_julia_finalize", 0                                                 \
	}
#define BEHIND                                                                                     \
	{"behind_first", "on_julia_collected", 0},                                                 \
	{                                                                                          \
		"behind_second", "on_julia_collected", 0                                           \
	}
#define RUNS                                                                                       \
	{"first", "on_julia_stopped", 0}, {"second", "on_julia_stopped", 0},                       \
	{                                                                                          \
		"entry", "on_julia_call", 0                                                        \
	}

/* gc_num says how long 1.9 and later marked; up to 1.8 that is seen where it has. */
static void both_names(void **state)
{
	static const struct wanted later[] = {ENDS, BEHIND, RUNS, {}};
	static const struct wanted earlier[] = {
		ENDS, BEHIND, {"marked", "on_julia_marked", 0}, RUNS, {}};
	static const struct {
		const char *name, *version;
		const struct wanted *wanted;
	} cases[] = {{"julia_1_13", "1.13.1", later}, {"julia_1_9", "1.9.4", later},
		{"julia_1_8", "1.8.5", earlier}, {"julia_1_5", "1.5.3", earlier}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_file *file = open_fixture(cases[i].name);
		struct probe_plan plan = {};
		struct err err = {};

		assert_true(probe_julia.match(file));
		if (make_plan(file, "symbol", &plan, &err))
			fail_msg("%s", err.text);
		assert_string_equal(plan.version, cases[i].version);
		assert_false(plan.single_stepped);
		assert_int_equal(julia_plan(&plan)->told.gc_num, address_of(file, "gc_num"));
		assert_int_equal(julia_plan(&plan)->told.live_bytes, address_of(file, "live"));
		assert_int_equal(julia_plan(&plan)->told.disabled, address_of(file, "disabled"));
		assert_non_null(julia_plan(&plan)->books);
		check_sites(file, &plan, cases[i].wanted);
		assert_int_equal(make_plan(file, "usdt", &plan, &err), -ENOENT);
		elf_file_free(file);
	}
}

/* Blind is never clean: what is Julia and cannot be traced is refused, by its file's name, with what helps. */
static void refused(void **state)
{
	static const struct {
		const char *name, *why;
	} cases[] = {{"julia_mmtk", "whose collector is MMTk"}, {"julia_no_cfi", "its .eh_frame"},
		{"julia_inlined", "built WITH_DTRACE"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_file *file = open_fixture(cases[i].name);
		struct probe_image image = {.ops = &probe_julia};
		struct probe_plan plan = {};
		char path[512];
		struct err err = {};
		struct stat st;
		size_t tier = 0;

		assert_true(probe_julia.match(file));
		snprintf(path, sizeof(path), "%s/lib%s.so", JULIA_FIXTURES, cases[i].name);
		assert_int_equal(stat(path, &st), 0);
		image.map =
			(struct proc_map){.path = path, .device = st.st_dev, .inode = st.st_ino};
		assert_int_equal(elf_file_code(file, &image.map.offset), 0);
		assert_true(probe_plan(getpid(), &image, NULL, &tier, &plan, &err) < 0);
		if (!strstr(err.text, cases[i].why) || !strstr(err.text, path))
			fail_msg("%s", err.text);
		elf_file_free(file);
	}
}

/* libjulia's own: a probe there would miss every collection that was not asked for. */
static void trampoline(void **state)
{
	struct elf_file *file = open_fixture("julia_trampoline");
	struct probe_plan plan = {};
	struct err err = {};

	assert_false(probe_julia.match(file));
	assert_int_equal(make_plan(file, "symbol", &plan, &err), -ENOENT);
	elf_file_free(file);
}

static void usdt(void **state)
{
	static const struct wanted wanted[] = {ENDS, {"ended", "on_julia_collected", 0},
		{"stopped", "on_julia_stopped", 0}, {"entry", "on_julia_call", 0}, {}};
	struct elf_file *file = open_fixture("julia_usdt");
	struct probe_plan plan = {};
	struct err err = {};

	assert_int_equal(make_plan(file, "symbol", &plan, &err), -ENOENT);
	if (make_plan(file, "usdt", &plan, &err))
		fail_msg("%s", err.text);
	check_sites(file, &plan, wanted);
	for (size_t i = 0; i < plan.site_count; i++)
		assert_int_equal(!plan.sites[i].semaphore,
			plan.sites[i].kind != SITE_COLLECTED && plan.sites[i].kind != SITE_STOPPED);
	elf_file_free(file);
}

/* A way out that cannot be seen to be one is no plan. */
static void leaves(void **state)
{
	struct elf_file *file = open_fixture("julia_leaves");
	struct probe_plan plan = {};
	struct err err = {};

	assert_true(probe_julia.match(file));
	assert_int_equal(make_plan(file, "symbol", &plan, &err), -ENOENT);
	assert_non_null(strstr(err.text, "ijl_gc_collect"));
	elf_file_free(file);
}

/* Of a version that nobody has looked at the times are all there is, and that is said. */
static void unknown_version(void **state)
{
	struct elf_file *file = open_fixture("julia_1_4");
	struct probe_plan plan = {};
	struct err err = {};

	if (make_plan(file, "symbol", &plan, &err))
		fail_msg("%s", err.text);
	assert_null(julia_plan(&plan)->books);
	assert_non_null(strstr(plan.detail, "gc_num is not understood"));
	elf_file_free(file);
}

static void put(uint8_t *bytes, uint8_t offset, uint64_t value, size_t size)
{
	memcpy(bytes + offset, &value, size);
}

static void layouts(void **state)
{
	static const int minors[] = {5, 8, 9, 10, 11, 12, 13, 14};

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		const struct julia_layout *layout =
			julia_layout(&(struct julia_version){1, minors[i], 0});
		uint8_t bytes[GC_JULIA_NUM] = {0};
		struct julia_books books;

		assert_non_null(layout);
		assert_true(julia_books_fit(layout, bytes, 1));
		put(bytes, layout->fields[GC_JULIA_TOTAL_TIME], 1009, 8);
		assert_false(julia_books_fit(layout, bytes, 2003)); /* time without a pause */
		put(bytes, layout->fields[GC_JULIA_COUNTS], 7, 4);
		put(bytes, layout->fields[GC_JULIA_COUNTS] + 4, 3, 4);
		put(bytes, layout->fields[GC_JULIA_TOTAL_ALLOCD], 11, 8);
		assert_true(julia_books_fit(layout, bytes, 2003));
		julia_books_of(layout, bytes, &books);
		assert_int_equal(books.pauses, 7);
		assert_int_equal(books.full_sweeps, 3);
		assert_int_equal(books.total_ns, 1009);
		assert_int_equal(books.allocated_bytes, 11);
		assert_int_equal(books.ttsp_ns, minors[i] < 9 ? -1 : 0);
		assert_int_equal(books.mark_ns, minors[i] < 9 ? -1 : 0);
		assert_false(julia_books_fit(layout, bytes,
			1000)); /* more than it can have lasted */
		put(bytes, layout->fields[GC_JULIA_COUNTS] + 4, 17, 4);
		assert_false(julia_books_fit(layout, bytes, 2003));
		put(bytes, layout->fields[GC_JULIA_COUNTS] + 4, 3, 4);
		if (!layout->max_ttsp)
			continue;
		put(bytes, layout->fields[GC_JULIA_TTSP], 19, 8);
		assert_false(julia_books_fit(layout, bytes, 2003)); /* longer than the longest */
		put(bytes, layout->max_ttsp, 23, 8);
		assert_true(julia_books_fit(layout, bytes, 2003));
		put(bytes, layout->fields[GC_JULIA_TOTAL_MARK], UINT64_MAX, 8);
		assert_false(julia_books_fit(layout, bytes, 2003));
	}
	assert_null(julia_layout(&(struct julia_version){1, 4, 2}));
	assert_null(julia_layout(&(struct julia_version){2, 0, 0}));
	assert_null(julia_layout(&(struct julia_version){}));
}

static void file_names(void **state)
{
	assert_true(probe_julia.likely("/usr/lib/x86_64-linux-gnu/libjulia.so.1.5"));
	assert_true(probe_julia.likely("/opt/julia/lib/julia/libjulia-internal.so.1.10.4"));
	assert_true(probe_julia.likely("/x/ICl90UHn_libjulia-internal.so.1.13"));
	assert_false(probe_julia.likely("/libjulia/libm.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_names),
		cmocka_unit_test(refused),
		cmocka_unit_test(trampoline),
		cmocka_unit_test(usdt),
		cmocka_unit_test(leaves),
		cmocka_unit_test(unknown_version),
		cmocka_unit_test(layouts),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
