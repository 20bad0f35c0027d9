/* Functions written as instructions, and the ELF file that has them: this very executable. */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_file.h"

#define FUNCTION(name, body)                                                                       \
	__asm__(".pushsection .text\n.p2align 4\n.type " name ",@function\n" name                  \
		":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name ",.-" name                  \
		"\n.popsection\n")

static struct elf_file *file;

static uint64_t address_of(const char *name)
{
	struct elf_symbol symbol;

	if (elf_file_symbol(file, name, true, &symbol))
		fail_msg("no symbol %s", name);
	return symbol.vaddr;
}

/* The group of @tests on our own file. A loop in the code under test ends after a minute. */
#define run_on_ourselves(tests)                                                                    \
	({                                                                                         \
		int failed_ = 99, fd_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);              \
		alarm(60);                                                                         \
		if (fd_ >= 0 && !elf_file_open(fd_, "self", &file, NULL))                          \
			failed_ = cmocka_run_group_tests(tests, NULL, NULL);                       \
		elf_file_free(file);                                                               \
		failed_;                                                                           \
	})
