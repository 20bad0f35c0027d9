/* What this machine lets gctrace do, looked at before any program of ours is loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* A condition of tracing, and what to do where it is not met. */
struct kernel_check {
	const char *question;
	bool good, fatal; /* fatal: it is not met, and nothing can be traced without it */
	int error;	  /* what a fatal one is as an errno */
	char answer[256], remedy[512]; /* remedy: "" where there is none, or none is needed */
};

#define KERNEL_CHECKS 8 /* there are no more */

/*
 * In the order in which they matter. What an earlier fatal one keeps from being asked is left out.
 * Returns how many were filled, of at most @max.
 */
size_t kernel_checks(struct kernel_check *ret, size_t max);

/* 0, or -errno with one sentence: the answer and the remedy of the first that is fatal. */
int kernel_allows(struct err *err);

/* Why the memory map of process @pid could not be read, @error being the -errno. Returns that. */
int kernel_explain_maps(pid_t pid, int error, struct err *err);

/* Whether we lack capabilities by which all processes and files can be reached; @ret: which, "CAP_A, CAP_B". */
bool kernel_lacks(char *ret, size_t size);

/* -EINVAL, with the process that is meant, if @pid is a thread and no process; else 0. */
int kernel_refuse_thread(pid_t pid, struct err *err);

/* Whether uprobes need no perf events here (Linux 6.6); asked by trying. */
bool kernel_has_uprobe_multi(void);
