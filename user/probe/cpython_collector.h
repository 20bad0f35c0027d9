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
 * @vaddr, called @name in its detail. Up to 3.12 the end is a return probe: one call of it is under
 * way at a time. From 3.13 on a greenlet may enter it above one that is suspended within; a return
 * probe would kill the process there (the kernel takes the suspended call for gone, and finds
 * nowhere to return to), so the end is at places within. 0, -E2BIG, or -ENOENT where it has none.
 */
int cpython_add_collector(const struct elf_file *file, uint64_t vaddr, const char *name,
	struct probe_plan *plan, struct err *err);
