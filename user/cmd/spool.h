/* A recording that arrives through a pipe. */
#pragma once

#include "store.h"

/*
 * Copies stdin into a file that disappears with this process, and opens that. 0 or -errno with a
 * sentence.
 */
int spool_stdin(struct store_reader **ret, struct err *err);
