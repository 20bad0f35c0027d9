/* Probes at CPython's collector. In: its address in a file. Out: sites of a plan. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"
#include "probe.h"

/* Whether 3.@minor enters the collector before it looks whether a collection is under way. */
bool cpython_enters_idle(int minor);

/*
 * Adds to @plan, whose minor and version are known, the begin and the end of the collector at
 * @vaddr, called @name in its detail. The end is at places within it, up to 3.12 else at those
 * behind its calls. A return probe would kill the process where a greenlet enters a probed function
 * above one that is suspended (the kernel takes the suspended call for gone, and finds nowhere to
 * return to). For the collector that can be from 3.13 on: -ENOENT without such places. Up to 3.12,
 * where one call of it is under way at a time, a return probe is the last resort. 0 or -E2BIG.
 * Of a free-threaded build @symbols are those by which the places are found where it stops other threads.
 */
int cpython_add_collector(const struct elf_file *symbols, const struct elf_file *file,
	uint64_t vaddr, const char *name, struct probe_plan *plan, struct err *err);
