/* Which calls of CPython's collector are made by hand. In: an ELF file. Out: return addresses. */
#pragma once

#include "elf_file.h"
#include "cpython_wire.h"

/*
 * Fills @layout's callers for the collector's @count copies at @collectors; leaves them alone where
 * the code does not show them all. For 3.8 to 3.12: later ones get the reason as an argument.
 */
void cpython_find_callers(const struct elf_file *file, const uint64_t *collectors, size_t count,
	struct gc_layout *layout);
