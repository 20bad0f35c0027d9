/*
 * A file that a verb writes: made with the rights of the user who called sudo, under a temporary
 * name until it is complete, and never in the place of a recording.
 */
#pragma once

#include <limits.h>
#include <stdio.h>

#include "err.h"

struct output {
	FILE *stream;
	const char *path;	      /* NULL: stdout */
	int folder;		      /* -1: written in place, as devices and pipes are */
	char name[NAME_MAX + 1];      /* in the folder, once it is complete */
	char temporary[NAME_MAX + 1]; /* until then */
};

/*
 * Opens @path; NULL and "-" are stdout. A regular file there is replaced by output_close() and
 * stays as it is until then; a device or a pipe is written to. 0 or -errno with a sentence: a
 * recording and a symbolic link to a file are refused.
 */
int output_open(struct output *ret, const char *path, struct err *err);

/*
 * Completes the file, or on failure removes what there is of it. @r is the result of writing it. 0
 * or -errno.
 */
int output_close(struct output *output, int r, struct err *err);

/* Whether output_open() would work, for a file that will be written much later. 0 or -errno with a sentence. */
int output_check(const char *path, struct err *err);
