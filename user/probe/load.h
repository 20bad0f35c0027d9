/* A library for a process that runs, loaded by the means that its runtime offers for that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

struct probe_image;

struct load_request {
	pid_t pid;
	const struct probe_image *image;
	int memory; /* /proc/PID/mem, open for reading and writing: at its end if the program calls exec */
	const char *library; /* its path, as the process sees it */
	const char *entry;   /* the function to call in it */
	const char *file;    /* load_ops.suffix's, as the process sees it */
	/* Sleeps for some milliseconds. False: the time is up, or the user has interrupted it. */
	bool (*wait)(void *arg);
	void *arg;
};

/*
 * How a runtime loads it. It stops no thread and runs nothing at a place of our choice: it asks, and where nobody answers
 * in time it takes the request back.
 */
struct load_ops {
	/* The end of the name of a file beside the library that it needs, and what that says; NULL: it needs none. */
	const char *suffix;
	size_t (*text)(const char *library, const char *entry, char *ret, size_t size);
	/* Whether it can be asked; nothing is written. 0, -ENOTSUP if never, or -errno, with a sentence. */
	int (*check)(const struct load_request *request, struct err *err);
	/*
	 * Asks, and waits until that has been taken. 0: the library is there or is being loaded. -ETIMEDOUT: nobody
	 * answered, and nothing is left behind. -EBUSY, -ESRCH, or -EIO likewise; each with a sentence.
	 */
	int (*load)(const struct load_request *request, struct err *err);
};
