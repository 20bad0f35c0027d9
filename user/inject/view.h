/* A file as another process sees it: in its file system, with its user's rights. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/*
 * Whether @pid may read @path there and finds just @bytes, which only root and its own user can have written; @runs: and
 * may be mapped to be run. 0, -EACCES or -ENOENT, with a sentence.
 */
int view_check(pid_t pid, const char *path, const void *bytes, size_t size, bool runs,
	struct err *err);
