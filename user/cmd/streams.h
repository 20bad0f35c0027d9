/* stdin, stdout and stderr: open when a verb begins, written in full when it ends. */
#pragma once

#include <stdbool.h>

/*
 * Puts something that refuses to be written to (stdin: to be read) where a descriptor was closed, so that no file
 * opened later takes its number; and has a file that reached `ulimit -f` be an error of write(2), not the end.
 */
void streams_open(void);

/* Whether stdout is a pipe that nobody reads any more, as after `| head`. */
bool streams_reader_left(void);

/* @status, or EXIT_FAILED and a sentence if stdout could not be written in full and @status says nothing worse. */
int streams_close(int status);
