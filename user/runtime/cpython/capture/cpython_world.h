/* Where a free-threaded CPython's collector stops all other threads. In: its address in a file. Out: sites. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython_plan.h"
#include "elf_file.h"

struct cpython_world_site {
	enum cpython_site kind; /* SITE_STOP and beyond */
	uint64_t vaddr;
};

struct cpython_world {
	struct cpython_world_site sites[12];
	size_t count;
	/* Instructions of the collector of which each collection passes one. */
	uint64_t work[4];
	size_t work_count;
};

/*
 * Finds the calls by which the collector at @vaddr in @file stops all other threads and lets them go
 * (_PyEval_StopTheWorld, _PyEval_StartTheWorld, by the symbols of @symbols), and the places behind the former, where the
 * threads have stopped. False where they cannot be told. Sources: gc_collect_internal() in Python/gc_free_threading.c,
 * stop_the_world() in Python/pystate.c, 3.13 to 3.15.
 */
bool cpython_find_world(const struct elf_file *symbols, const struct elf_file *file, uint64_t vaddr,
	struct cpython_world *ret);
