/* What the symbols of compiled Julia code say: codegen.cpp, "function names". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define JULIA_NAME_BYTES 256

/*
 * "julia_train_step!_40" → "train_step!", and 40 into *@ret_number (0: it has none); ret_number may be NULL. The
 * names of debug information, "push!;", lose what is behind them as well. False, and nothing written, for what is
 * no name of a compiled Julia function: "jl_gc_pool_alloc".
 */
bool julia_name(const char *symbol, char *ret, size_t size, unsigned int *ret_number);

/* The same for a name as debug information has it; always succeeds. */
void julia_name_plain(const char *name, char *ret, size_t size);

/* Whether @symbol only unpacks the arguments of a Julia function, and calls it: "jfptr_train_step!_41". */
bool julia_name_is_adapter(const char *symbol);
