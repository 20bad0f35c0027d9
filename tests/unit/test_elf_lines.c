/* Functions, files and lines of addresses, on this very program's debug information and on damaged copies. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "elf_lines.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);
DEFINE_CLEANUP(struct elf_lines *, elf_lines_free);

/* Two functions inlined in one, and the lines that their code is from. */
static volatile int sink;

enum { LINE_INNER = __LINE__ + 4 };

static inline __attribute__((always_inline)) void innermost(void)
{
	__asm__ volatile(".globl fixture_inner\n.hidden fixture_inner\nfixture_inner: nop\n");
}

enum { LINE_CALL = __LINE__ + 5 };

static inline __attribute__((always_inline)) void middle(void)
{
	sink++;
	innermost();
	sink++;
}

enum { LINE_OUTER = __LINE__ + 5, LINE_ALONE = __LINE__ + 6 };

__attribute__((noinline, used)) static void outermost(void)
{
	sink--;
	middle();
	__asm__ volatile(".globl fixture_alone\n.hidden fixture_alone\nfixture_alone: nop\n");
}

static struct elf_file *open_self(void)
{
	struct elf_file *file = NULL;

	assert_int_equal(elf_file_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "self", &file,
				 NULL),
		0);
	return file;
}

static uint64_t address_of(const struct elf_file *file, const char *name)
{
	struct elf_symbol symbol;

	assert_int_equal(elf_file_symbol(file, name, true, &symbol), 0);
	return symbol.vaddr;
}

static void assert_here(const struct elf_place *place, const char *function, uint32_t line)
{
	size_t length = strlen(place->file), tail = strlen("test_elf_lines.c");

	assert_string_equal(place->function, function);
	assert_true(length >= tail);
	assert_string_equal(place->file + length - tail, "test_elf_lines.c");
	assert_int_equal(place->line, line);
}

static void test_inlined(void **state)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = open_self();
	_cleanup_(cleanup_elf_lines_free) struct elf_lines *lines = NULL;
	struct elf_place places[8];

	outermost();
	assert_int_equal(elf_lines_of_file(file, &lines), 0);
	assert_int_equal(elf_lines_find(lines, address_of(file, "fixture_inner"), places, 8), 3);
	assert_here(&places[0], "innermost", LINE_INNER);
	assert_here(&places[1], "middle", LINE_CALL);
	assert_here(&places[2], "outermost", LINE_OUTER);
	assert_int_equal(elf_lines_find(lines, address_of(file, "fixture_inner"), places, 2), 2);
	assert_here(&places[1], "middle", LINE_CALL);
}

static void test_not_inlined(void **state)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = open_self();
	_cleanup_(cleanup_elf_lines_free) struct elf_lines *lines = NULL;
	struct elf_place place;

	assert_int_equal(elf_lines_of_file(file, &lines), 0);
	assert_int_equal(elf_lines_find(lines, address_of(file, "fixture_alone"), &place, 1), 1);
	assert_here(&place, "outermost", LINE_ALONE);
	assert_int_equal(elf_lines_find(lines, 1, &place, 1), 0); /* no code */
	assert_int_equal(elf_lines_find(lines, UINT64_MAX, &place, 1), 0);
}

static void test_holder(void **state)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = open_self();
	struct elf_symbol symbol;

	assert_int_equal(elf_file_function_at(file, address_of(file, "fixture_inner"), &symbol), 0);
	assert_string_equal(symbol.name, "outermost");
	assert_int_equal(elf_file_function_at(file, 1, &symbol), -ENOENT);
}

static void test_without(void **state)
{
	static const char nothing[64] = "\x7f"
					"ELF\2\1\1";
	struct elf_lines *lines = NULL;

	assert_int_equal(elf_lines_open(nothing, sizeof(nothing), &lines), -ENODATA);
	assert_int_equal(elf_lines_open("", 0, &lines), -ENODATA);
	assert_null(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_not_inlined),
		cmocka_unit_test(test_holder),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
