/* A trace's text, piece by piece, whatever it is packed in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct kineto_text {
	const char *path; /* for sentences */
	void *file;	  /* zlib's */
	uint8_t *bytes;	  /* a piece, and what is held back of it for the next */
	size_t given, held;
	bool ended;
	bool in_string; /* where mending stands */
	uint8_t last;	/* the byte before it; 0: none */
};

/* @path is kept. 0 or -errno with a sentence; kineto_text_close() in either case. */
int kineto_text_open(struct kineto_text *text, const char *path, struct err *err);
/* The length of the next piece, valid until the next call; 0: the end, -errno with a sentence: unreadable, cut off. */
ssize_t kineto_text_next(struct kineto_text *text, const uint8_t **ret, struct err *err);
void kineto_text_close(struct kineto_text *text);
