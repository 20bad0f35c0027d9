/* stdin, stdout and stderr: open when a verb begins, written in full when it ends. */
#pragma once

#include <stdbool.h>

/*
 * Wherever a descriptor was closed, opens something that cannot be written to (for stdin: read), so
 * that no file opened later takes its number; and makes a file that reached `ulimit -f` an error of
 * write(2) instead of the end.
 */
void streams_open(void);

/* Whether stdout is a pipe that nobody reads any more, as after `| head`. */
bool streams_reader_left(void);

/*
 * @status, or EXIT_FAILED and a sentence if stdout could not be written in full and @status is
 * nothing worse.
 */
int streams_close(int status);
