/* What is kept of a trace: work of devices, calls into CUDA or HIP, and other events that the recording saw, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kineto_text.h"
#include "u64map.h"
#include "vec.h"

#define KINETO_NONE INT64_MIN
#define KINETO_LOST UINT32_MAX /* no index */

enum kineto_kind {		   /* of a call, by its name */
	KINETO_WAITS = 1 << 0,	   /* it returns when a device is done */
	KINETO_COPIES = 1 << 1,	   /* it may do so */
	KINETO_STARTS = 1 << 2,	   /* it starts kernels: a record of one should follow */
	KINETO_CAPTURE = 1 << 3,   /* from here on launches are kept in a graph, not run … */
	KINETO_CAPTURED = 1 << 4,  /* … until here */
	KINETO_ALLOCATES = 1 << 5, /* or frees memory of a device */
	KINETO_FREES = 1 << 6,	   /* of these, it frees */
};

/* Times are the trace's own, in ns. */
struct kineto_work {
	int64_t start_ns, end_ns;
	uint64_t correlation; /* with the call that launched it; 0: none */
	uint32_t device;
	uint32_t call; /* index in calls once kineto_match() has run; KINETO_LOST: none */
};

struct kineto_call {
	int64_t start_ns, end_ns;
	uint64_t correlation;
	int64_t begun_ns,
		done_ns; /* from the begin to the end of what it launched; KINETO_NONE: nothing */
	int64_t previous_ns; /* when its thread had launched something before; KINETO_NONE: never */
	uint32_t pid, tid;   /* pid: index in pids */
	uint32_t next;	     /* another call of the same correlation, or KINETO_LOST */
	uint32_t kinds;	     /* enum kineto_kind */
	uint32_t device;     /* of what it launched, or what its thread had launched last */
};

/* An event whose name is one of the labels of the recording. */
struct kineto_seen {
	int64_t time_ns;
	uint32_t label, pid, tid;
};

/* What tensors take on a device, from a moment on. */
struct kineto_bytes {
	int64_t time_ns, bytes;
	int64_t change; /* by which it had become that */
	uint32_t pid, device;
};

struct kineto_pid {
	int64_t pid;	  /* as the process itself sees it */
	uint64_t calls;	  /* into CUDA or HIP */
	uint64_t events;  /* all of its own */
	uint32_t process; /* of the recording; 0: none */
};

struct kineto_trace {
	VEC(struct kineto_work) work;
	VEC(struct kineto_call) calls;
	VEC(struct kineto_seen) seen;
	VEC(struct kineto_bytes) memory;
	VEC(struct kineto_pid) pids;
	VEC(struct kineto_name {
		int64_t device;
		int64_t memory_bytes;
		char name[64];
	})
	names;
	int64_t base_ns; /* of its times: UTC since 1970; 0: not said, they are since 1970 */
	bool has_events; /* it is a trace */
};

/* Names to keep events of. */
struct kineto_labels {
	VEC(const char *) names;
	struct u64map index; /* hash → index in names */
	size_t longest;
};

int kineto_labels_add(struct kineto_labels *labels, const char *name); /* 0 or -ENOMEM */
/* The index of the @len bytes at @name, or KINETO_LOST. */
uint32_t kineto_labels_find(const struct kineto_labels *labels, const char *name, size_t len);
void kineto_labels_release(struct kineto_labels *labels);

/* What an event is, by its category, which has had several spellings. */
enum kineto_category {
	KINETO_WORK,
	KINETO_CALL,
	KINETO_ELSE,  /* of the host */
	KINETO_ASIDE, /* of a device, but no work */
};

enum kineto_category kineto_category(const char *category);
uint32_t kineto_call_kinds(const char *name); /* of a call by that name */

/* Reads all of @text. 0 or -errno with a sentence; *ret is released by the caller in either case. */
int kineto_parse(struct kineto_text *text, const struct kineto_labels *labels,
	struct kineto_trace *ret, struct err *err);
void kineto_trace_release(struct kineto_trace *trace);

/* Sorts calls by process, thread and start, and finds what each work was launched by. 0 or -ENOMEM. */
int kineto_match(struct kineto_trace *trace);

/* A launch whose record is missing; work that nobody saw ran at some time in [start, end). */
struct kineto_gap {
	int64_t start_ns, end_ns; /* KINETO_NONE: the trace's end */
	uint32_t pid, device;
};

struct kineto_gaps {
	VEC(struct kineto_gap) items;
};

/*
 * Launches of @trace, matched, that have no record, though they started kernels and kept them in no graph. None where
 * the trace connects no launch to its work at all. 0 or -ENOMEM; the caller releases ret->items.
 */
int kineto_find_gaps(const struct kineto_trace *trace, struct kineto_gaps *ret);
