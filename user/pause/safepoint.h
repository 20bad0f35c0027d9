/*
 * What a JVM does beyond pausing: the parts of a safepoint, stalls of single threads, concurrent
 * phases. UNKNOWN (-1) and string id 0 mean "not known".
 */
#pragma once

#include <stdint.h>

/*
 * The facts of a safepoint. All times in ns; ttsp + cleanup + core + leave is the pause's duration
 * where all of them are known. Strings are ids in stack_table.strings (and .gct's table string).
 */
struct safepoint {
	int64_t operation; /* "G1CollectForAllocation": as -Xlog:safepoint calls it */
	int64_t cause;	   /* "G1 Evacuation Pause": HotSpot's own words; 0 without a collection */
	int64_t ttsp_ns;    /* from the request until all threads stood still */
	int64_t cleanup_ns; /* JDK 17 to 22 */
	int64_t core_ns;    /* "At safepoint": the operation itself */
	int64_t leave_ns;   /* "Leaving": threads run again one by one; JDK 25+, 21.0.8+ */
	int64_t heap_before, heap_after; /* bytes used, around the collections within */
	int64_t young, full; /* collections within; UNKNOWN: not counted */
	int64_t late_tid;    /* the thread that reached the safepoint last, host's number; only after a long ttsp */
	int64_t late_stack;  /* node of the stack table: where it was; STACK_NONE if not taken */
};

/* A thread's name, as the kernel knows it. */
struct thread {
	uint32_t process; /* struct process.id */
	uint32_t tid;	  /* as the host sees it */
	char name[17];
};

enum stall_kind { /* stored: append only */
	STALL_EXPLICIT = 1,   /* a call of System.gc(): from the call to its return */
	STALL_ALLOCATION = 2, /* ZGC: no memory until the collector has freed some */
	STALL_PACING = 3,     /* Shenandoah: slowed down, so that the collector keeps up */
	STALL_LOCKER = 4,     /* a JNI critical section and the collector waited for each other */
};

/* One thread waited for the collector. Not stop-the-world: never added to pauses. */
struct stall {
	uint64_t id; /* from 1, in the order they ended */
	uint64_t start_ns, end_ns;
	uint32_t runtime; /* struct runtime.id */
	uint32_t tid;
	uint32_t kind;	     /* enum stall_kind */
	int64_t collections; /* EXPLICIT: that came within it, by the runtime's counters; UNKNOWN */
	uint32_t stack;	     /* innermost frame; STACK_NONE if not taken */
};

/* The collector worked while the program ran. */
struct phase {
	uint64_t id; /* from 1, in the order they ended */
	uint64_t start_ns, end_ns;
	uint32_t runtime;
	uint32_t tid;
	uint32_t name; /* string id: "Concurrent Mark" */
};
