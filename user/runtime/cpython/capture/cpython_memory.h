/* What a running CPython's own memory says. In: a pid and a layout. Out: addresses, counters. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cpython_wire.h"
#include "probe.h"

/* The main interpreter's gc state, where _PyRuntime lies at @runtime. 0: it makes no sense. */
uint64_t cpython_main_gc(pid_t pid, uint64_t runtime, const struct gc_layout *layout);

/*
 * The main interpreter: the oldest, the last of the list. 0: there is none, or it makes no sense.
 */
uint64_t cpython_main_interpreter(pid_t pid, uint64_t runtime, const struct gc_layout *layout);

/* See probe_fits(). */
int cpython_fits(pid_t pid, uint64_t bias, const struct probe_plan *plan);

/* See probe_books(). */
int cpython_books(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct probe_books *ret);
