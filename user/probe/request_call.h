/* The C library's functions through which a server is connected to, receives requests and sends responses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define REQUEST_MAX_SITES 24

/* Where the signals of their marks are in a recording. */
#define REQUEST_SIGNAL	"http:request"
#define RESPONSE_SIGNAL "http:response"
#define CONNECT_SIGNAL	"http:connection"
#define UNTOLD_SIGNAL	"http:untold" /* a series' number is GC_UNTOLD_… */

enum request_role {
	REQUEST_ACCEPTS,
	REQUEST_RECEIVES,
	REQUEST_SENDS,
	REQUEST_ENCRYPTS,
	REQUEST_ROLES
};

struct request_site {
	const char *name; /* static */
	uint64_t offset;  /* in the file */
	uint8_t kind;	  /* GC_REQUEST_… */
	enum request_role role;
	bool behind_call; /* right behind the system call that receives, instead of the entry */
};

struct request_plan {
	struct request_site sites[REQUEST_MAX_SITES];
	size_t count;
};

/* Whether the file at @path is a C library; whether it is one that uses read() and write() for sockets. */
bool request_library(const char *path);
bool request_by_file_calls(const char *path);
/* Whether it is OpenSSL's. */
bool request_encrypts(const char *path);

/*
 * The functions of the C library open as @fd (taken over) and called @name. @files: also those that serve any file. 0 or
 * -errno with a sentence.
 */
int request_plan(int fd, const char *name, bool files, struct request_plan *ret, struct err *err);
/* Where OpenSSL, open as @fd (taken over), is told that it serves. */
int request_plan_encrypted(int fd, const char *name, struct request_plan *ret, struct err *err);
