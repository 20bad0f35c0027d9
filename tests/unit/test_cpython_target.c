/* The collector of every CPython on this machine, found in a stripped copy, against its symbol. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "cpython_target.h"
#include "elf_code.h"
#include "elf_ends.h"
#include "elf_returns.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/*
 * Code as compilers might lay it out. Each is called PyGC_Collect in a copy of this program, whose
 * string table is patched: the names are as long as that one.
 */
#define FUNCTION(name, body)                                                                       \
	__asm__(".pushsection .text\n.p2align 4\n.globl " name "\n.hidden " name "\n.type " name   \
		",@function\n" name ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name         \
		",.-" name "\n.popsection\n")
#define LARGE	       "push %rbp\n.fill 600,1,0x90\npop %rbp\nret\n"
#define MODERN(target) "mov $2,%esi\nmov $2,%edx\ncall " target "\n"
#define NOTIFY(text)   "lea " text "(%rip),%rsi\ncall fixture_notify\n"
#define RESULTS	       "lea 8(%rsp),%rcx\nmov %rsp,%rdx\n"
#define CALLBACKS(collect)                                                                         \
	"push %rax\n" NOTIFY("fixture_start") collect NOTIFY("fixture_stop") "pop %rax\nret\n"

__asm__(".pushsection .rodata\nfixture_start: .asciz \"start\"\nfixture_stop: .asciz \"stop\"\n"
	"fixture_started: .asciz \"started\"\n.popsection\n");
FUNCTION("fixture_collector", LARGE);
FUNCTION("fixture_clone", LARGE);
FUNCTION("fixture_notify", "ret\n");
FUNCTION("fixture_thunk", "sub $8,%rsp\ncall fixture_collector\nadd $8,%rsp\nret\n");
FUNCTION("fixture_inner", CALLBACKS(RESULTS "xor %r8d,%r8d\ncall fixture_collector\n"));
FUNCTION("PyGC_Modern_", MODERN("fixture_collector") "ret\n");
FUNCTION("PyGC_Twice__", MODERN("fixture_collector") MODERN("fixture_collector") "ret\n");
FUNCTION("PyGC_Thunk__", MODERN("fixture_thunk") "ret\n");
FUNCTION("PyGC_TwoAns_", MODERN("fixture_collector") MODERN("fixture_clone") "ret\n");
FUNCTION("PyGC_Small__", MODERN("fixture_notify") "ret\n");
FUNCTION("PyGC_Jumped_", "mov $2,%esi\nmov $2,%edx\njz 1f\nmov $1,%edx\n"
			 "1: call fixture_collector\nret\n");
FUNCTION("PyGC_Direct_",
	CALLBACKS("mov $2,%esi\n" RESULTS "xor %r8d,%r8d\ncall fixture_collector\n"));
FUNCTION("PyGC_Nested_", "mov $2,%esi\ncall fixture_inner\nret\n");
FUNCTION("PyGC_Clone__", CALLBACKS("mov $2,%esi\n" RESULTS "call fixture_clone\n"));
FUNCTION("PyGC_NoFail_",
	CALLBACKS("mov $2,%esi\n" RESULTS "mov $1,%r8d\ncall fixture_collector\n"));
FUNCTION("PyGC_NoText_",
	"push %rax\n" NOTIFY("fixture_started") "mov $2,%esi\n" RESULTS
						"xor %r8d,%r8d\ncall fixture_collector\n" NOTIFY(
							"fixture_stop") "pop %rax\nret\n");

extern char **environ;

static char scratch[] = "/tmp/gctrace-target-XXXXXX";

static int run(const char *const argv[])
{
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ))
		return -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file = NULL;
	struct err err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && elf_file_open(fd, path, &file, &err))
		print_message("# %s\n", err.text);
	return file;
}

/* A debug file of the runtime cache: <name>/debug is laid out as /usr/lib/debug. */
static int open_cached_debug(const struct elf_file *file, const char *path, struct elf_file **ret)
{
	const char *tree = strstr(path, "/root/usr/");
	char link[PATH_MAX], debug[PATH_MAX];
	int result;

	if (!tree)
		return -ENOENT;
	snprintf(debug, sizeof(debug), "%.*s/debug", (int)(tree - path), path);
	snprintf(link, sizeof(link), "%s/usr", scratch);
	mkdir(link, 0700);
	snprintf(link, sizeof(link), "%s/usr/lib", scratch);
	mkdir(link, 0700);
	snprintf(link, sizeof(link), "%s/usr/lib/debug", scratch);
	if (symlink(debug, link))
		return -errno;
	result = elf_file_open_debug(file, scratch, tree + strlen("/root"), ret, NULL);
	unlink(link);
	return result;
}

static int match_collector(const struct elf_symbol *symbol, void *arg)
{
	static const char *const stems[] = {"gc_collect_main", "collect"};
	uint64_t *found = arg;

	for (size_t i = 0; i < ARRAY_SIZE(stems); i++) {
		size_t len = strlen(stems[i]);

		if (!symbol->function || strncmp(symbol->name, stems[i], len) ||
			(symbol->name[len] && strncmp(symbol->name + len, ".lto_priv.", 10)) ||
			strstr(symbol->name, ".cold"))
			continue;
		assert_true(!*found || *found == symbol->vaddr);
		*found = symbol->vaddr;
	}
	return 0;
}

/* The address of the collector as its symbol gives it, 0 when no symbols are to be had. */
static uint64_t read_truth(const struct elf_file *file, const char *path)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *debug = NULL;
	uint64_t truth = 0;

	if (elf_file_has_symtab(file))
		elf_file_symbols(file, true, match_collector, &truth);
	else if (!elf_file_open_debug(file, "", path, &debug, NULL) ||
		 !open_cached_debug(file, path, &debug))
		elf_file_symbols(debug, true, match_collector, &truth);
	return truth;
}

static struct elf_file *open_stripped(const char *path)
{
	char copy[PATH_MAX];
	const char *const argv[] = {"strip", "--strip-all", "-o", copy, path, NULL};
	struct elf_file *file = NULL;

	snprintf(copy, sizeof(copy), "%s/stripped", scratch);
	if (!run(argv))
		file = open_file(copy);
	unlink(copy);
	return file;
}

static void report(const char *path, const struct elf_file *file, uint64_t truth, uint64_t found)
{
	enum elf_step step = ELF_STEP_SINGLE;
	uint64_t site = found;
	char mnemonic[32] = "-";

	if (found && !elf_code_probe_site(file, found, &site, &step))
		elf_code_mnemonic(file, site, mnemonic, sizeof(mnemonic));
	print_message("# %-75s %#9lx %#9lx  +%lu %s %s\n", path, truth, found, site - found,
		mnemonic, step == ELF_STEP_EMULATED ? "" : "(single-stepped)");
}

/* Its end is probed at the same places, whether there are symbols or not. */
static void check_emulated(const struct elf_file *file, uint64_t vaddr)
{
	enum elf_step step = ELF_STEP_SINGLE;
	char mnemonic[32];
	uint64_t site;

	assert_int_equal(elf_code_probe_site(file, vaddr, &site, &step), 0);
	assert_int_equal(site, vaddr);
	assert_int_equal(step, ELF_STEP_EMULATED);
	print_message("#   ends at %#lx %s\n", vaddr,
		elf_code_mnemonic(file, vaddr, mnemonic, sizeof(mnemonic)));
}

/* Behind its calls: all but the one at the exit, which only stores and returns. */
static void check_returns(const struct elf_file *file, const struct elf_file *stripped,
	uint64_t collector)
{
	struct elf_return ends[8] = {}, again[8] = {};
	struct err err = {};
	int count = elf_returns_find(stripped, collector, ends, ARRAY_SIZE(ends), &err), single = 0;

	if (count < 0)
		fail_msg("%s", err.text);
	assert_int_equal(elf_returns_find(file, collector, again, ARRAY_SIZE(again), NULL), count);
	assert_memory_equal(ends, again, sizeof(ends));
	for (int i = 0; i < count; i++) {
		if (ends[i].emulated)
			check_emulated(stripped, ends[i].vaddr);
		single += !ends[i].emulated;
	}
	assert_in_range(count, 2, 8);
	assert_int_equal(single, 1);
}

/* "…/python3.13d": built --with-pydebug, and so with -Og. */
static bool is_debug(const char *path)
{
	const char *version = strstr(strrchr(path, '/'), "ython3.") + strlen("ython3.");

	return version[strspn(version, "0123456789")] == 'd';
}

/* In a debug build a path may end where no probe is cheap: another tier serves it (tests/root/test_builds.py). */
static void check_ends(const struct elf_file *file, const struct elf_file *stripped, int minor,
	bool debug, uint64_t collector)
{
	uint64_t ends[8] = {}, again[8] = {};
	struct err err = {};
	int count = elf_ends_find(stripped, collector, ends, ARRAY_SIZE(ends), &err);

	if (minor < 13 && count == -ENOTSUP) {
		check_returns(file, stripped, collector);
		return;
	}
	if (debug && count == -ENOTSUP) {
		assert_non_null(strstr(err.text, "no probe is cheap"));
		return;
	}
	if (count < 0)
		fail_msg("%s", err.text);
	assert_in_range(count, 1, 4);
	assert_int_equal(elf_ends_find(file, collector, again, ARRAY_SIZE(again), NULL), count);
	assert_memory_equal(ends, again, sizeof(ends));
	for (int i = 0; i < count; i++)
		check_emulated(stripped, ends[i]);
}

static bool check(const char *path)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = open_file(path);
	_cleanup_(cleanup_elf_file_free) struct elf_file *stripped = NULL;
	const char *version = strstr(strrchr(path, '/'), "ython3.");
	int minor = version ? atoi(version + strlen("ython3.")) : 0, result;
	uint64_t truth, found = 0, other;
	struct err err = {};

	if (!file || minor < 8 || minor > 15)
		return false;
	truth = read_truth(file, path);
	stripped = open_stripped(path);
	if (!stripped)
		return false;
	assert_false(elf_file_has_symtab(stripped));
	result = cpython_find_target(stripped, minor, &found, &err);
	report(path, stripped, truth, found);
	if (minor == 8) {
		assert_int_equal(result, -ENOTSUP);
		assert_int_equal(found, 0);
		assert_non_null(strstr(err.text, "debug symbols"));
	} else if (truth) {
		assert_int_equal(result, 0);
		assert_int_equal(found, truth);
	}
	if (truth)
		check_ends(file, stripped, minor, is_debug(path), truth);
	/* Told the wrong version it must not find anything else. */
	for (int claimed = 8; truth && claimed < 17; claimed++)
		if (!cpython_find_target(stripped, claimed, &other, &err))
			assert_int_equal(other, truth);
	return true;
}

static size_t check_all(const char *directory, const char *pattern)
{
	char path[PATH_MAX], seen[64][PATH_MAX], real[PATH_MAX];
	size_t count = 0, checked = 0, i, j;
	glob_t found;

	snprintf(path, sizeof(path), "%s/%s", directory, pattern);
	if (glob(path, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc && count < ARRAY_SIZE(seen); i++) {
		if (!realpath(found.gl_pathv[i], real) || strstr(real, "-stripped") ||
			strstr(real, "-nousdt") || strstr(real, "-config"))
			continue;
		for (j = 0; j < count && strcmp(seen[j], real); j++)
			;
		if (j < count)
			continue;
		strcpy(seen[count++], real);
		checked += check(real);
	}
	globfree(&found);
	return checked;
}

static size_t total;

static void test_every_cpython(void **state)
{
	const char *home = getenv("HOME"), *cache = getenv("GCTRACE_CACHE");
	char path[PATH_MAX];

	print_message("# %-73s %9s %9s  probe site\n", "binary (as a stripped copy)", "symbol",
		"found");
	snprintf(path, sizeof(path), "%s/.pyenv/versions", home ? home : "/root");
	total += check_all(path, "3.*/lib/libpython3.*.so.1.0");
	total += check_all("/usr/bin", "python3.*");
	total += check_all("/usr/lib/x86_64-linux-gnu", "libpython3.*.so.1.0");
	if (cache)
		snprintf(path, sizeof(path), "%s/runtimes", cache);
	else
		snprintf(path, sizeof(path), "%s/.cache/gctrace/runtimes", home ? home : "/root");
	total += check_all(path, "*/root/usr/bin/python3.*");
	total += check_all(path, "*/root/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0");
	print_message("# %zu checked\n", total);
	if (!total)
		skip();
}

static void test_not_python(void **state)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = open_file("/proc/self/exe");
	uint64_t found = 23;
	struct err err = {};

	assert_non_null(file);
	assert_int_equal(cpython_find_target(file, 11, &found, &err), -ENOENT);
	assert_non_null(strstr(err.text, "PyGC_Collect"));
	assert_int_equal(cpython_find_target(file, 16, &found, &err), -ENOTSUP);
	assert_int_equal(cpython_find_target(file, 8, &found, NULL), -ENOTSUP);
	assert_int_equal(found, 23);
}

static uint8_t *read_self(size_t *ret_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat info;
	uint8_t *bytes;

	assert_int_equal(fstat(fd, &info), 0);
	bytes = malloc((size_t)info.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)info.st_size), info.st_size);
	close(fd);
	*ret_size = (size_t)info.st_size;
	return bytes;
}

static void check_layout(uint8_t *bytes, size_t size, const char *name, int minor, bool answered)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	struct elf_symbol symbol, collector;
	uint64_t found = 0;
	size_t at;

	assert_int_equal(elf_file_open_memory(bytes, size, name, &file, NULL), 0);
	assert_int_equal(elf_file_symbol(file, name, true, &symbol), 0);
	assert_int_equal(elf_file_symbol(file, "fixture_collector", true, &collector), 0);
	at = (size_t)((const uint8_t *)symbol.name - bytes);
	memcpy(bytes + at, "PyGC_Collect", strlen(name));
	print_message("# %s as 3.%d\n", name, minor);
	assert_int_equal(cpython_find_target(file, minor, &found, NULL), answered ? 0 : -ENOENT);
	assert_int_equal(found, answered ? collector.vaddr : 0);
	memcpy(bytes + at, name, strlen(name));
}

static void test_layouts(void **state)
{
	static const struct {
		const char *name;
		bool modern, answered;
	} cases[] = {
		{"PyGC_Modern_", true, true},
		{"PyGC_Twice__", true, true},
		{"PyGC_Thunk__", true, true},
		{"PyGC_TwoAns_", true, false},
		{"PyGC_Small__", true, false},
		{"PyGC_Jumped_", true, false},
		{"PyGC_Direct_", false, true},
		{"PyGC_Nested_", false, true},
		{"PyGC_Clone__", false, false},
		{"PyGC_NoFail_", false, false},
		{"PyGC_NoText_", false, false},
	};
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t size;

	bytes = read_self(&size);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_layout(bytes, size, cases[i].name, 12, cases[i].answered && !cases[i].modern);
		check_layout(bytes, size, cases[i].name, 13, cases[i].answered && cases[i].modern);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_not_python),
		cmocka_unit_test(test_every_cpython),
	};
	const char *const clean[] = {"rm", "-rf", scratch, NULL};
	int failed;

	alarm(180);
	if (!mkdtemp(scratch))
		return 99;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	run(clean);
	if (!failed && !total) {
		print_message("# skipped: no CPython here, or no strip(1)\n");
		return 77;
	}
	return failed;
}
