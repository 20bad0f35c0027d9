/* Places where a function's work ends: code as compilers make it, and as they never should. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_ends.h"
#include "elf_fixture.h"

/* Another call that finds a collection under way; a count; then whether to tell of the end. */
#define ENTRY "push %rbx\nlock cmpxchg %edx,(%rdi)\njne 9f\n"
#define WORK  "call fixture_other\naddq $1,0x1d78(%rbp)\n"
#define TELL  "cmp $1,%edx\n"
#define LEAVE "xchg %eax,(%rdi)\n9: pop %rbx\nret\n"

FUNCTION("fixture_other", "ret\n");
FUNCTION("fixture_plain", ENTRY WORK TELL "plain_end: je 1f\ncall fixture_other\n1: " LEAVE);
/* The two paths of a collection, one with an error, meet in the call; the first has come by a je. */
FUNCTION("fixture_twice", ENTRY "call fixture_other\ntest %eax,%eax\nje 2f\naddq $1,0x1d78(%rbp)\n"
				"3: mov %rbx,%rdi\ntwice_call: call fixture_other\n1: " LEAVE
				"2: addq $1,0x1d78(%rbp)\ncmp $1,%edx\ntwice_je: je 1b\njmp 3b\n");
/* A part elsewhere that comes back into the middle of an instruction. */
FUNCTION("fixture_cold", ENTRY WORK TELL "cold_end: je fixture_part\n1: " LEAVE);
FUNCTION("fixture_part", "nop\njmp fixture_cold + 2\n");
FUNCTION("fixture_partly", ENTRY "call fixture_other\ntest %eax,%eax\njs partly_part\n"
				 "addq $1,0x1d78(%rbp)\npartly_end: jmp 1f\n"
				 ".globl partly_back\n.hidden partly_back\npartly_back: 1: " LEAVE);
FUNCTION("partly_part", "addq $1,0x1d78(%rbp)\npartly_other: jmp partly_back\n");
FUNCTION("fixture_framed", "push %rbp\nmov %rsp,%rbp\n" ENTRY "call fixture_other\n"
			   "addq $1,0x1d78(%rdi)\nframed_end: nop\naddq $1,-8(%rbp)\n"
			   "addq $1,8(%rsp)\nmov %rax,0x1d60(%rdi)\n" LEAVE);
/* An endless loop is neither a way out nor a place. */
FUNCTION("fixture_endless", ENTRY WORK TELL "endless_end: je 1f\n2: jmp 2b\n1: " LEAVE);
/* Only where an argument says so does a way out pass anything that a probe is cheap on. */
FUNCTION("fixture_avoided", ENTRY WORK TELL "cmp $2,%esi\nret\n9: pop %rbx\nret\n");
FUNCTION("fixture_avoided_once",
	ENTRY "call fixture_other\ntest %eax,%eax\njs 2f\n"
	      "addq $1,0x1d78(%rbp)\njmp 1f\n1: " LEAVE "2: addq $1,0x1d78(%rbp)\nret\n");
/* It calls before it looks: what the call did may have been the work. */
FUNCTION("fixture_calls_first", "call fixture_other\n" ENTRY WORK "jmp 1f\n1: " LEAVE);
/* It asks another function whether there is any work, which is a certain call. */
FUNCTION("fixture_asks", "push %rbx\nasks_first: call fixture_other\ntest %eax,%eax\njs 9f\n"
			 "asks_work: call fixture_other\naddq $1,0x1d78(%rbp)\n"
			 "asks_end: jmp 1f\n1: " LEAVE);
FUNCTION("fixture_half_word", ENTRY WORK "nop\nmovl $1,(%rdi)\n" LEAVE);
FUNCTION("fixture_middle", ENTRY WORK "je 1f + 1\n1: mov $0x90909090,%eax\n" LEAVE);
FUNCTION("fixture_table", ENTRY WORK "je 1f\njmp *%rax\n1: " LEAVE);
FUNCTION("fixture_leaves", ENTRY WORK "je 1f\njmp fixture_plain\n1: " LEAVE);
FUNCTION("fixture_cut", ENTRY WORK "je 1f\n1: " LEAVE ".byte 0x48\n");
FUNCTION("fixture_idle", "push %rbx\ntest %edi,%edi\nje 1f\nxor %eax,%eax\n1: pop %rbx\nret\n");
FUNCTION("fixture_runs_on", ENTRY WORK "je 1f\n1: xchg %eax,(%rdi)\n9: pop %rbx\n");

static void check_places(const char *name, const char *const ends[], int count)
{
	uint64_t found[8] = {};
	struct err err = {};
	int n = elf_ends_find(file, address_of(name), found, ARRAY_SIZE(found), &err);

	print_message("# %s: %d %s\n", name, n, n < 0 ? err.text : "");
	assert_int_equal(n, count);
	for (int i = 0; i < n; i++)
		assert_int_equal(found[i], address_of(ends[i]));
}

static void test_places(void **state)
{
	check_places("fixture_plain", (const char *[]){"plain_end"}, 1);
	check_places("fixture_twice", (const char *[]){"twice_call", "twice_je"}, 2);
	check_places("fixture_framed", (const char *[]){"framed_end"}, 1);
	check_places("fixture_endless", (const char *[]){"endless_end"}, 1);
	check_places("fixture_partly", (const char *[]){"partly_end", "partly_other"}, 2);
}

static void check_refused(const char *name, int code, const char *why)
{
	uint64_t found[8] = {23};
	struct err err = {};
	int n = elf_ends_find(file, address_of(name), found, ARRAY_SIZE(found), &err);

	print_message("# %s: %d %s\n", name, n, n < 0 ? err.text : "");
	assert_int_equal(n, code);
	assert_non_null(strstr(err.text, why));
	assert_int_equal(found[0], 23);
}

static void test_refusals(void **state)
{
	check_refused("fixture_avoided", -ENOTSUP, "ends where no probe is cheap");
	check_refused("fixture_avoided_once", -ENOTSUP, "ends where no probe is cheap");
	check_refused("fixture_calls_first", -ENOTSUP, "ends where no probe is cheap");
	check_refused("fixture_half_word", -ENOTSUP, "ends where no probe is cheap");
	check_refused("fixture_middle", -ENOTSUP, "continues where no instruction begins");
	check_refused("fixture_cold", -ENOTSUP, "continues where no instruction begins");
	check_refused("fixture_table", -ENOTSUP, "jumps to an address known only at run time");
	check_refused("fixture_leaves", -ENOTSUP, "is another function's");
	check_refused("fixture_cut", -ENOTSUP, "is not an instruction");
	check_refused("fixture_idle", -ENOTSUP, "0 places");
	check_refused("fixture_runs_on", -ENOTSUP, "continues where no instruction begins");
	check_refused("plain_end", -ENOENT, "no function begins");
}

static void test_certain_work(void **state)
{
	const uint64_t first = address_of("asks_first"), work = address_of("asks_work");
	uint64_t found[8] = {23};
	struct err err = {};

	check_refused("fixture_asks", -ENOTSUP, "ends where no probe is cheap");
	assert_int_equal(elf_ends_find_of(file, address_of("fixture_asks"), &first, 1, found,
				 ARRAY_SIZE(found), &err),
		-ENOTSUP);
	assert_int_equal(found[0], 23);
	assert_int_equal(elf_ends_find_of(file, address_of("fixture_asks"), &work, 1, found,
				 ARRAY_SIZE(found), &err),
		1);
	assert_int_equal(found[0], address_of("asks_end"));
}

static void test_too_many(void **state)
{
	uint64_t found[1] = {23};
	struct err err = {};

	assert_int_equal(elf_ends_find(file, address_of("fixture_twice"), found, 1, &err),
		-ENOTSUP);
	assert_non_null(strstr(err.text, "2 places"));
	assert_int_equal(found[0], 23);
	assert_int_equal(elf_ends_find(file, address_of("fixture_twice"), found, 1, NULL),
		-ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_certain_work),
		cmocka_unit_test(test_too_many),
	};

	return run_on_ourselves(tests);
}
