/* The CUPTI shim that belongs to this gctrace. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/*
 * Finds it: beside the executable, as in a build or what was copied to another machine, else where it was installed.
 * GCTRACE_SHIM, for tests, names another. False: there is none.
 */
bool shim_find(char ret[PATH_MAX]);
