/* CPython's collector in a file without symbols. In: an ELF file. Out: the function's address. */
#pragma once

#include <stdint.h>

#include "elf_file.h"
#include "err.h"

/*
 * Finds gc_collect_main (3.9: collect) of CPython 3.@minor by following the direct calls of the
 * exported PyGC_Collect. 0; -ENOENT when no function, or more than one, fits; -ENOTSUP for 3.8,
 * where only one of the collector's two clones could be found.
 */
int cpython_find_target(const struct elf_file *file, int minor, uint64_t *ret_vaddr,
	struct err *err);
