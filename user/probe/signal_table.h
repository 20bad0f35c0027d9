/* The functions of known libraries that are called a fixed number of times a step. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <stdint.h>

#include "gc_wire.h"

#define SIGNAL_MAX_SYMBOLS 12

struct signal_symbol {
	const char *text;  /* a symbol; with "*" at its end, how one begins */
	const char *label; /* tells it apart from the signal's other functions; or NULL */
};

struct signal_entry {
	const char *name;
	const char *libraries; /* how their files' names begin, separated by spaces */
	const char *
		spare_of; /* a signal that says more, and suffices where steps are very short; or NULL */
	uint32_t spare_rate;   /* calls a second above which it is let go beside that one */
	uint8_t key, argument; /* GC_KEY_…, and from which argument (1 … 6); see gc_wire.h */
	uint8_t offset;
	struct signal_symbol symbols[SIGNAL_MAX_SYMBOLS];
	const char *provider, *probe; /* instead of symbols: a USDT probe, its argument in %rdi */
	bool thinned; /* begins no step but is counted between them: some of many calls in a row suffice */
};

extern const struct signal_entry signal_table[];
extern const size_t signal_table_count;

/* Whether @name, with or without a label, is of a signal of the table: "torch:backward", "jax:pjit:make_step". */
bool signal_table_has(const char *name);
