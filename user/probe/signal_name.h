/* Names of functions as the compiler writes them and as people do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * "_ZNK3foo3bar3bazERKi" → "foo::bar::baz": the qualified name without arguments. False, and @ret
 * untouched, for what is no C++ name or one with parts beyond plain names.
 */
bool signal_name_plain(const char *mangled, char *ret, size_t size);

/*
 * How the symbols of the function that people call @name may begin: "a::b" → "_ZN1a1bE", …
 * Returns how many were written, at most @max.
 */
size_t signal_name_prefixes(const char *name, char (*ret)[192], size_t max);
