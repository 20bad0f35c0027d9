/* The C library's functions through which a server receives requests and sends responses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define REQUEST_MAX_SITES 8

/* Where the signals of their marks are in a recording. */
#define REQUEST_SIGNAL	"http:request"
#define RESPONSE_SIGNAL "http:response"

struct request_site {
	const char *name; /* static */
	uint64_t offset;  /* in the file */
	uint8_t kind;	  /* GC_REQUEST_… */
	bool sends;
};

struct request_plan {
	struct request_site sites[REQUEST_MAX_SITES];
	size_t count;
};

/* Whether the file at @path is a C library; whether it is one that uses read() and write() for sockets. */
bool request_library(const char *path);
bool request_by_file_calls(const char *path);

/*
 * The functions of the C library open as @fd (taken over) and called @name. @files: also those that serve any file. 0 or
 * -errno with a sentence.
 */
int request_plan(int fd, const char *name, bool files, struct request_plan *ret, struct err *err);
