/* Calls that may mark the steps of a training loop, as observed. step/ decides which of them do. */
#pragma once

#include <stdint.h>

#define UNKNOWN (-1)

/* A function or USDT probe that was probed because it may be called a fixed number of times a step. */
struct signal {
	uint32_t id; /* from 1 */
	/* What it is, for step/ and for --step: "torch:backward", "jax:execute", "user:libfoo:bar". */
	char name[160];
	char *probe; /* what exactly was probed, for people: "libtorch_cpu.so: _ZN5torch…+4 (push)"; owned */
	uint64_t attached_ns; /* 0: it could not be probed */
	uint64_t hits; /* in all traced processes, also those that were not recorded as marks */
	uint64_t let_go_ns; /* when it was detached because it was too hot; 0: it was not */
};

/* The marks of one signal in one thread that carry the same label and number. */
struct series {
	uint32_t id;	  /* from 1 */
	uint32_t signal;  /* struct signal.id */
	uint32_t process; /* struct process.id */
	uint32_t tid;	  /* as the host sees it */
	char *label;	  /* "Optimizer.step#Adam.step", or NULL; owned */
	int64_t number;	  /* inputs of an executable, a hash of dimensions; UNKNOWN: none */
};

/* One call; or the last of several in a row. */
struct mark {
	uint32_t series;   /* struct series.id */
	uint64_t time_ns;  /* CLOCK_MONOTONIC, at the call's entry */
	int64_t rss_bytes; /* resident in the process then; UNKNOWN if not known */
	uint32_t skipped;  /* calls of the series just before it that were not recorded as marks */
	/*
	 * CPU time of the thread until then, without that in calls that wait, from an origin of its own: of two marks of a
	 * thread the later one's is more, or the origin became another between them. UNKNOWN if not known.
	 */
	int64_t work_ns;
};
