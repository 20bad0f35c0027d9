/* Places behind a function's calls, and what makes them no proof that it has returned. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf_fixture.h"
#include "elf_returns.h"

#define FAR ".skip 256, 0x90\n" /* further than a jump of two bytes reaches */

FUNCTION("fixture_other", "ret\n");

/* An argument, a call behind the call; another, behind which there is only a way out. */
FUNCTION("fixture_plain", FAR "ret\n" FAR);
FUNCTION("plain_first", "mov $2,%esi\nmov $1,%r8d\nplain_call: call fixture_plain\nmov %rax,%rdi\n"
			"plain_place: call fixture_other\nje 1f\nnop\n1: ret\n");
FUNCTION("plain_second", "mov %rdi,%rbx\ncall fixture_plain\n"
			 "plain_single: mov %rax,8(%rbx)\npop %rbx\nret\n");
/* Four bytes that a displacement could be, in a number; and between two functions. */
FUNCTION("plain_number", "movabs $0,%rax\n.set plain_here,.-8\nret\n");
__asm__(".pushsection .text\n.reloc plain_here,R_X86_64_PC32,fixture_plain-4\n.popsection\n");
__asm__(".pushsection .text\n.byte 0xe9\n.long fixture_plain-.-4\n.popsection\n");

/* An indirect call or jump is nothing that the kernel emulates, and may go anywhere. */
FUNCTION("fixture_indirect", FAR "ret\n" FAR);
FUNCTION("indirect_call", "call fixture_indirect\nindirect_first: mov %rax,%rdi\ncall *%rbx\n"
			  "nop\nret\n");
FUNCTION("indirect_jump", "call fixture_indirect\nindirect_second: jmp *%rbx\nnop\n");

FUNCTION("fixture_tail", FAR "ret\n" FAR);
FUNCTION("tail_caller", "call fixture_tail\nnop\nret\n");
FUNCTION("tail_jump", "jmp fixture_tail\n");
FUNCTION("fixture_beside", "ret\n");
FUNCTION("beside_caller", "call fixture_beside\nnop\nje fixture_beside\nret\n");
FUNCTION("fixture_pointed", FAR "ret\n" FAR);
FUNCTION("pointed_caller", "call fixture_pointed\nnop\nret\n");
__asm__(".pushsection .data.rel.ro,\"aw\"\n.p2align 3\n.quad fixture_pointed\n.popsection\n");
FUNCTION("fixture_taken", FAR "ret\n" FAR);
FUNCTION("taken_caller", "call fixture_taken\nnop\nlea fixture_taken(%rip),%rdi\nret\n");
FUNCTION("fixture_last", FAR "ret\n" FAR);
FUNCTION("last_caller", "call fixture_last\n");
FUNCTION("fixture_garbled", FAR "ret\n" FAR);
FUNCTION("garbled_caller", FAR ".byte 0x06\ncall fixture_garbled\nnop\nret\n" FAR);
FUNCTION("fixture_filler", FAR "ret\n");
FUNCTION("fixture_alone", FAR "ret\n" FAR);

static void test_places(void **state)
{
	struct elf_return found[4] = {};
	struct err err = {};

	if (elf_returns_find(file, address_of("fixture_plain"), found, 4, &err) != 2)
		fail_msg("%s", err.text);
	assert_int_equal(found[0].call.vaddr, address_of("plain_call"));
	assert_int_equal(found[0].call.arguments[4].kind, ELF_VALUE_CONSTANT);
	assert_int_equal(found[0].call.arguments[4].value, 1);
	assert_int_equal(found[0].vaddr, address_of("plain_place"));
	assert_true(found[0].emulated);
	assert_int_equal(found[1].call.arguments[4].kind, ELF_VALUE_UNKNOWN);
	assert_int_equal(found[1].vaddr, address_of("plain_single"));
	assert_false(found[1].emulated);
}

static void test_indirect(void **state)
{
	struct elf_return found[4] = {};

	assert_int_equal(elf_returns_find(file, address_of("fixture_indirect"), found, 4, NULL), 2);
	assert_int_equal(found[0].vaddr, address_of("indirect_first"));
	assert_false(found[0].emulated);
	assert_int_equal(found[1].vaddr, address_of("indirect_second"));
	assert_false(found[1].emulated);
}

static void check_refused(const char *name, size_t max, const char *why)
{
	struct elf_return found[4] = {{.vaddr = 23}};
	struct err err = {};
	int n = elf_returns_find(file, address_of(name), found, max, &err);

	print_message("# %s: %d %s\n", name, n, n < 0 ? err.text : "");
	assert_int_equal(n, -ENOTSUP);
	assert_non_null(strstr(err.text, why));
	assert_int_equal(found[0].vaddr, 23);
}

static void test_refusals(void **state)
{
	check_refused("fixture_tail", 4, "does not call it, but refers to it");
	check_refused("fixture_beside", 4, "jumps to it");
	check_refused("fixture_pointed", 4, "point to it");
	check_refused("fixture_taken", 4, "does not call it, but refers to it");
	check_refused("fixture_last", 4, "does not continue");
	check_refused("fixture_garbled", 4, "is not an instruction");
	check_refused("fixture_alone", 4, "nothing in the file calls it");
	check_refused("fixture_plain", 1, "more than 1 times");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_refusals),
	};

	return run_on_ourselves(tests);
}
