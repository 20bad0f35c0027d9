/* The CUPTI shim → a process that runs. The runtime itself loads it, or it is refused. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

/*
 * Has @pid load the shim at @path, where it then stays, dormant until it is traced; *ret_there: it was there before. The
 * process is not stopped; each step has a time limit, after which nothing is left of it. SIGINT, SIGTERM and SIGHUP
 * withdraw what was asked, before they act. 0 or -errno with a sentence.
 */
int inject_shim(pid_t pid, const char *path, bool *ret_there, struct err *err);
