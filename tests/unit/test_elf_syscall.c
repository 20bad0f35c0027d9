/* Places right behind system calls: found where only one way leads to them. */
#include <errno.h>

#include "cleanup.h"
#include "elf_fixture.h"
#include "elf_syscall.h"

FUNCTION("fixture_two", "mov $1,%eax\nsyscall\ncmp $-4095,%rax\ntwo_first: ja 1f\nret\n"
			"1: syscall\ncmp $0,%rax\ntwo_second: jz 1b\nret\n");
FUNCTION("fixture_joined", "syscall\n1: cmp $-4095,%rax\nja 1b\nret\n");
FUNCTION("fixture_entered", "je 1f\nsyscall\ncmp $-4095,%rax\n1: ja 2f\n2: ret\n");
FUNCTION("fixture_other_register", "syscall\ncmp $-4095,%rdx\nja 1f\n1: ret\n");
FUNCTION("fixture_unseen", "syscall\ncmp $-4095,%rax\nja 1f\n1: syscall\nret\n");
FUNCTION("fixture_cut", "syscall\ncmp $-4095,%rax\nja 1f\n1: ret\n.byte 0x06\nsyscall\n");
FUNCTION("fixture_none", "nop\nret\n");

static void test_found(void **state)
{
	uint64_t got[3], first, second;

	assert_int_equal(elf_file_offset(file, address_of("two_first"), &first), 0);
	assert_int_equal(elf_file_offset(file, address_of("two_second"), &second), 0);
	assert_int_equal(elf_syscall_results(file, address_of("fixture_two"), got, 3), 2);
	assert_int_equal(got[0], first);
	assert_int_equal(got[1], second);
	assert_int_equal(elf_syscall_results(file, address_of("fixture_two"), got, 1), -E2BIG);
}

static void test_refused(void **state)
{
	static const char *const names[] = {"fixture_joined", "fixture_entered",
		"fixture_other_register", "fixture_unseen", "fixture_none"};
	uint64_t got[3];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(elf_syscall_results(file, address_of(names[i]), got, 3), -ENOENT);
	assert_int_equal(elf_syscall_results(file, address_of("fixture_cut"), got, 3), -EFAULT);
	assert_int_equal(elf_syscall_results(file, 1ull << 60, got, 3), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_refused),
	};

	return run_on_ourselves(tests);
}
