/* Recordings that nobody keeps: where they are put, and one that arrives through a pipe. */
#pragma once

#include "store.h"

/* $TMPDIR, or else the first there is of /var/tmp, /tmp and the working directory (of a container, a chroot). */
const char *spool_folder(void);

/*
 * Copies stdin into a file that disappears with this process, and opens that. 0 or -errno with a
 * sentence.
 */
int spool_stdin(struct store_reader **ret, struct err *err);
