/* What a running CPython's own memory says. In: a pid and a layout. Out: addresses, counters. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "gc_wire.h"
#include "probe.h"

/* The main interpreter's gc state, where _PyRuntime lies at @runtime. 0: it makes no sense. */
uint64_t cpython_main_gc(pid_t pid, uint64_t runtime, const struct gc_layout *layout);

/*
 * Debian's 3.13 packs `generations` four bytes lower (its gchead-alignment patch) and nothing in
 * the file says so: looks at the target and corrects layout->gc_counts, or clears it.
 */
void cpython_find_counts(pid_t pid, uint64_t bias, int minor, struct gc_layout *layout);

/* See probe_books(). */
int cpython_books(pid_t pid, uint64_t bias, const struct gc_layout *layout,
	struct probe_books *ret);
