/* The CUPTI shim that belongs to this gctrace. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

/*
 * Finds it: beside the executable, as in a build or what was copied to another machine, else where it was installed.
 * GCTRACE_SHIM, for tests, names another. False: there is none.
 */
bool shim_find(char ret[PATH_MAX]);

/* Has @pid load it, if it has not, and says so in the log. 0 or -errno with a sentence. */
int shim_inject(pid_t pid, struct err *err);
