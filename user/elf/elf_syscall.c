/* A function's instructions → places right behind its system calls. */
#include <errno.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"
#include "elf_machine.h"
#include "elf_syscall.h"

#define RANGE_MAX (1u << 16)

/* Whether "cmp …, %rax; jcc" (by x86-64's names) follows, which nothing jumps into; then the jump is the current instruction. */
static bool compares_result(struct decode *decode, const struct decode_targets *targets)
{
	uint64_t target;

	return decode_next(decode) && !decode_targets_has(targets, decode->at) &&
	       decode->machine->compares_result(decode) && decode_next(decode) &&
	       !decode_targets_has(targets, decode->at) && decode_jump_target(decode, &target) &&
	       !decode_ends_block(decode) && decode_is_emulated(decode);
}

int elf_syscall_results(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, int max)
{
	_cleanup_(decode_targets_release) struct decode_targets targets = {};
	_cleanup_(decode_release) struct decode decode = {};
	uint64_t start, end;
	int count = 0, r;

	if (!elf_machine_of(file)->is_syscall)
		return -ENOENT;
	if (elf_code_bounds(file, vaddr, &start, &end))
		return -EFAULT;
	if (end - start > RANGE_MAX)
		return -E2BIG;
	r = decode_targets_init(&targets, file, start, end - start);
	if (!r)
		r = decode_init(&decode, file, start, end - start);
	while (!r && decode_next(&decode)) {
		if (!decode.machine->is_syscall(&decode))
			continue;
		if (!compares_result(&decode, &targets))
			r = -ENOENT;
		else if (count == max)
			r = -E2BIG;
		else if (elf_file_offset(file, decode.at, &ret[count++]))
			r = -EFAULT;
	}
	/* What could not be decoded to the end may hold another one. */
	if (!r && decode.vaddr < end)
		r = -EFAULT;
	return r ? r : count ? count : -ENOENT;
}
