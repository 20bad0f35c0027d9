/* A pause, and everything else a recording observed. The words are those of docs/architecture.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "mark.h"
#include "vec.h"
#include "waits.h"

enum pause_cause { /* stored: append only */
	CAUSE_UNKNOWN = 0,
	CAUSE_AUTOMATIC = 1,
	CAUSE_MANUAL = 2,
	CAUSE_SHUTDOWN = 3,
	CAUSE_RUNTIME = 4, /* the runtime has its own words: a fact */
};

enum pause_flag {	      /* stored: append only */
	PAUSE_SLEPT = 1 << 0, /* the thread slept within it: a finalizer waited, gave up the GIL */
	PAUSE_NESTED_CALL = 1 << 1,   /* the collector was called again from within, to no effect */
	PAUSE_TRUNCATED = 1 << 2,     /* the stack was deeper than what was kept */
	PAUSE_NO_COLLECTION = 1 << 3, /* nothing was collected in it */
	PAUSE_FULL = 1 << 4,	      /* at least one collection in it was full */
	PAUSE_CONCURRENT = 1 << 5,    /* a step of a concurrent cycle */
	PAUSE_HAS_FACTS = 1 << 6,     /* .facts hold something */
	PAUSE_INEXACT = 1 << 7,	      /* start or duration are the probes', not the runtime's own */
	PAUSE_UNFINISHED =
		1 << 8, /* it lasted at least until end_ns: the recording, or its process, ended */
	PAUSE_BEGUN_BEFORE =
		1 << 9, /* it lasted at least from start_ns on: the recording began within it */
};

struct pause_class;

#define PAUSE_FACTS 16 /* of one runtime, at most */

struct pause {
	uint64_t id;			  /* from 1, in the order the pauses ended */
	uint64_t start_ns, end_ns;	  /* CLOCK_MONOTONIC, [start, end) */
	uint32_t runtime;		  /* struct runtime.id */
	uint32_t tid;			  /* as the host sees it; 0 if not known */
	int32_t interpreter;		  /* 0 is the main one; UNKNOWN if not known */
	int32_t generation;		  /* UNKNOWN if not known */
	uint32_t cause, flags;		  /* enum pause_cause, enum pause_flag */
	int64_t collected, uncollectable; /* objects; UNKNOWN if not known */
	/*
	 * When this pause began: objects that had survived the last full collection, and those moved to the oldest
	 * generation since; UNKNOWN if not known.
	 */
	int64_t heap_objects, heap_pending;
	int64_t rss_start, rss_end; /* bytes resident; UNKNOWN if not known */
	/*
	 * For a pause of a child process: how long the parent thread that forked it slept meanwhile, as a consumer
	 * waiting for its worker does. UNKNOWN: the parent is not traced.
	 */
	int64_t waited_ns;
	uint32_t stack; /* node of the stack table, innermost frame; STACK_NONE if not taken */
	/*
	 * Facts specific to its runtime, in the order of its entry in meaning/; UNKNOWN, or 0 for a string or a
	 * stack, where not known. Meaningless for a runtime without facts.
	 */
	int64_t facts[PAUSE_FACTS];
	/*
	 * Interpretation of the above, set once by the runtime's entry in meaning/; neither observed nor stored.
	 */
	const struct pause_class *class;
	int8_t collects; /* whether it collected anything: 1, 0, or UNKNOWN */
	bool at_exit;	 /* at the runtime's exit: training is over */
};

/* Whether the runtime collected in this pause: a stop need not include a collection. */
static inline bool pause_collects(const struct pause *pause)
{
	return !(pause->flags & PAUSE_NO_COLLECTION);
}

/* Whether its duration is a lower bound. */
static inline bool pause_is_open(const struct pause *pause)
{
	return pause->flags & (PAUSE_UNFINISHED | PAUSE_BEGUN_BEFORE);
}

/* Which pauses to show in lists and pictures; totals always cover all of them. */
struct pause_filter {
	uint64_t min_duration_ns;
	long min_generation;
	bool gc_only; /* leave out those without a collection */
};

bool pause_passes(const struct pause *pause, const struct pause_filter *filter);

static inline uint64_t pause_duration(const struct pause *pause)
{
	return pause->end_ns - pause->start_ns;
}

struct process {
	uint32_t id; /* from 1 */
	pid_t pid, ns_pid, ppid;
	char comm[17];
	char *cmdline; /* arguments separated by NUL; owned */
	uint32_t cmdline_len;
	uint64_t seen_ns, exit_ns; /* exit_ns 0: alive when the recording ended */
	uint64_t
		attached_ns; /* when the first of its runtimes was attached; 0: recording_traced_from() searches all of them */
	/* CPU time of all its threads between two moments; until_ns 0: not known. */
	struct process_cpu {
		uint64_t from_ns, until_ns, used_ns;
		uint64_t before_ns; /* used before; known only while it is recorded */
	} cpu;
};

/* One managed runtime in one process: a file of it that the process maps, and how it was probed. */
struct runtime {
	uint32_t id;	  /* from 1 */
	uint32_t process; /* struct process.id */
	char kind[16];	  /* struct runtime_meaning.kind */
	char version[32];
	char collector[24]; /* of a runtime that has several: "G1"; or "" */
	char tier[24];	    /* "symbol", "debugfile", "usdt", "call-target", "watchpoint" */
	char *path;	    /* of the probed file; owned */
	char *detail; /* what exactly was probed, for people: "gc_collect_main+4 (push)"; owned */
	uint64_t
		attached_ns; /* its pauses are known from then on; one under way then may have begun before */
	uint64_t missed;	/* collections the runtime's own counters hold that no probe saw */
	int64_t idle_calls;	/* of its collector, that collected nothing; UNKNOWN: not counted */
	int64_t disabled_calls; /* of these, that found it disabled as they began; likewise */
};

#define DROP_REMEDY 448

/* Events lost, by cause; a recording with drops is incomplete. */
struct drop {
	char cause[32];		  /* "ring-full", "unmatched-end", … */
	char remedy[DROP_REMEDY]; /* what it means, what helps */
	uint64_t count;
	uint64_t time_ns; /* when it was last seen to grow */
};

#define DROP_SIZE_LIMIT "size-limit"

/* Whether the drop only means that the recording ended early: nothing before that was lost. */
static inline bool drop_is_end(const struct drop *drop)
{
	return !strcmp(drop->cause, DROP_SIZE_LIMIT);
}

/* The facts of one recording except its pauses and stacks. */
struct recording {
	char version[32], host[65], boot_id[37];
	uint64_t start_ns, end_ns;  /* end_ns 0: cut off */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME − CLOCK_MONOTONIC at the start */
	VEC(struct clock_shift {
		uint64_t time_ns;
		int64_t offset_ns;
	})
	shifts; /* where that difference changed, by time */
	uint64_t
		steps_until_ns; /* when calls that may mark steps had become too many to keep; 0: never */
	bool complete;		/* closed clean and without drops */
	bool cut_off;		/* the writer never closed it */
	char damage[160];     /* what part of the file could not be read; "": all of it was read */
	uint64_t bytes;	      /* of the file it was read from; 0: none */
	char step_asked[192]; /* what --step said when it was recorded; "" for nothing */
	VEC(struct process) processes;
	VEC(struct runtime) runtimes;
	VEC(struct drop) drops;
	VEC(struct signal) signals; /* may mark steps */
	VEC(struct series) series;
	VEC(struct thread) threads; /* in ascending order of process and tid */
	VEC(struct stall) stalls;   /* by id */
	VEC(struct phase) phases;   /* by id */
};

void recording_release(struct recording *recording);
/*
 * Since when the pauses of @process are known: its runtimes were probed, or the pause began that was under
 * way then.
 */
uint64_t recording_traced_from(const struct recording *recording, const struct process *process);
/* Processes, runtimes, signals and series are kept in ascending order of id. NULL: no such id. */
const struct process *recording_process(const struct recording *recording, uint32_t id);
const struct runtime *recording_runtime(const struct recording *recording, uint32_t id);
const struct signal *recording_signal(const struct recording *recording, uint32_t id);
const struct series *recording_series(const struct recording *recording, uint32_t id);
/* NULL: its name is not known. */
const struct thread *recording_thread(const struct recording *recording, uint32_t process,
	uint32_t tid);
/*
 * CLOCK_REALTIME − CLOCK_MONOTONIC at @time_ns: it changes when the machine is suspended or its clock is set.
 */
int64_t recording_offset(const struct recording *recording, uint64_t time_ns);
/*
 * The wall clock at @time_ns: ns since 1970, or UNKNOWN. Always use this: it uses the clock difference at that
 * moment; the one at the start is wrong once the machine has been suspended.
 */
int64_t recording_wall_ns(const struct recording *recording, uint64_t time_ns);
/* Notes the difference at @time_ns, which is not before those known, if it changed by more than 1 ms. */
void recording_note_offset(struct recording *recording, uint64_t time_ns, int64_t offset_ns);
uint64_t recording_drop_total(const struct recording *recording);
uint64_t recording_missed_total(const struct recording *recording);

static inline uint64_t stall_duration(const struct stall *stall)
{
	return stall->end_ns > stall->start_ns ? stall->end_ns - stall->start_ns : 0;
}

const char *pause_cause_name(uint32_t cause); /* "automatic", "manual", "shutdown", "unknown" */
