/* Places right behind the system calls of a function. */
#pragma once

#include "elf_file.h"

/*
 * Where the function at @vaddr compares what its system calls returned: at the jump of "syscall; cmp; jcc", to which no
 * other way leads. The result is in %rax there, the call's arguments are still in their registers (the kernel writes only
 * %rcx and %r11 beside %rax), and the kernel emulates the jump. How many of at most @max offsets in the file; -ENOENT: it
 * has no system call, or one that is not followed so, or this is AArch64, where the result takes the first argument's place; -EFAULT, -E2BIG: it cannot be decoded, or is too long.
 */
int elf_syscall_results(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, int max);
