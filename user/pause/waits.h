/*
 * What a collector does besides pausing: stalls of single threads, concurrent phases. UNKNOWN (-1) and string id 0
 * mean "not known".
 */
#pragma once

#include <stdint.h>

/* A thread's name, as the kernel knows it. */
struct thread {
	uint32_t process; /* struct process.id */
	uint32_t tid;	  /* as the host sees it */
	char name[17];
};

enum stall_kind { /* stored: append only; what a runtime calls them: struct runtime_meaning.waits */
	STALL_EXPLICIT = 1,   /* a call for a collection: from the call to its return */
	STALL_ALLOCATION = 2, /* no memory until the collector has freed some */
	STALL_PACING = 3,     /* slowed down, so that the collector keeps up */
	STALL_LOCKER =
		4, /* the collector and code whose objects must not be moved waited for each other */
};

/* One thread waited for the collector. Not stop-the-world: never added to pauses. */
struct stall {
	uint64_t id; /* from 1, in the order they ended */
	uint64_t start_ns, end_ns;
	uint32_t runtime; /* struct runtime.id */
	uint32_t tid;
	uint32_t kind; /* enum stall_kind */
	int64_t collections; /* STALL_EXPLICIT: collections within it by the runtime's counters, or UNKNOWN */
	uint32_t stack; /* innermost frame; STACK_NONE if not taken */
};

/* The collector worked while the program ran. */
struct phase {
	uint64_t id; /* from 1, in the order they ended */
	uint64_t start_ns, end_ns;
	uint32_t runtime;
	uint32_t tid;
	uint32_t name; /* string id: "Concurrent Mark" */
};
