/* Where CPython keeps what BPF reads: by version, corrected by the file's own _Py_DebugOffsets. */
#pragma once

#include "elf_file.h"
#include "err.h"
#include "cpython_wire.h"

#define CPYTHON_MINOR_FIRST 8
#define CPYTHON_MINOR_LAST  15

/*
 * Fills @ret for CPython 3.@minor, whose _PyRuntime is @runtime in @file. From 3.13 on the file's
 * own table of offsets, if sane, replaces ours; *ret_free_threaded is its word.
 */
void cpython_layout(const struct elf_file *file, int minor, const struct elf_symbol *runtime,
	struct gc_layout *ret, bool *ret_free_threaded);
