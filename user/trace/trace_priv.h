/*
 * A session, put together: what each part of it needs it has in a struct of its own, whose files know nothing of
 * the others'. Only the files named here see all of them.
 */
#pragma once

#include "captures.h"
#include "driver_watch.h"
#include "gpu_watch.h"
#include "images.h"
#include "in_vain.h"
#include "ledger.h"
#include "linkers.h"
#include "processes.h"
#include "request_watch.h"
#include "ring.h"
#include "runtimes.h"
#include "steps.h"
#include "targets.h"
#include "trace.h"
#include "trace_runtime.h"
#include "wake.h"

/* When processes were, and are to be, looked at. */
struct looks {
	struct probe_known known;
	struct u64map
		next; /* pid → from when on its maps are looked at again, and LOOK_DUE in the low bit */
	size_t due;			/* of them that carry LOOK_DUE */
	struct u64map blind;		/* pid → how many of its runtimes could not be probed */
	uint64_t unprobed;		/* all of these, also of processes that have ended */
	char unprobed_why[DROP_REMEDY]; /* the first of them, for the recording */
	struct err told;		/* why, as last said in the log */
	uint64_t unseen;		/* likely runtimes that ended before they were looked at */
};

/* What BPF could not tell of processes. */
struct gaps {
	uint64_t skipped;	/* forks and execs at which the kernel left out our program */
	uint64_t round_ns;	/* when we last looked who had ended unseen */
	struct proc_pids ended; /* who had, then */
};

/* In the order in which they are built, each upon those above it. */
struct trace {
	struct trace_options options;
	const struct capture_program **lists; /* of the programs of all runtimes */
	struct programs programs;
	struct gc_shared *shared;
	struct ring ring;
	struct wake wake;
	struct feed feed;
	struct stack_table stacks;
	struct captures captures;
	struct targets targets;
	struct images images;
	struct in_vain in_vain;
	struct linkers linkers;
	struct processes processes;
	struct runtimes runtimes;
	struct ledger ledger;
	struct step_watch steps;
	struct gpu_watch gpu;
	struct request_watch requests;
	struct driver_watch driver;
	struct looks looks;
	struct gaps gaps;
	uint64_t bad_records;
	uint64_t retired_missed; /* by runtimes of processes that were retired */
	uint64_t clocks_ns;	 /* when both clocks were last read */
	uint64_t retired_ns;	 /* when the last round looked for them */
	bool ending;		 /* trace_finish() has begun */
};

/* look.c: looks again at a process whose maps may have changed; what cannot be probed is a drop. As trace_look(). */
int trace_look_again(struct trace *trace, pid_t pid);
/* A look at @pid has failed: of what it may have done there is no record, which is a drop. */
void trace_note_blind(struct trace *trace, pid_t pid, int error, const struct err *why);
/* The maps changed: looks again, at once or when the burst of changes is over. */
void trace_maps_changed(struct trace *trace, pid_t pid);
void trace_looks_turn(struct trace *trace);
void trace_forget_looks(struct trace *trace, pid_t pid);
/*
 * What runtimes a process has. Returns how many are traced, or -errno with a sentence: none can be. One that cannot,
 * beside others, is a drop. @add: it becomes a target, else it is one, or -ESRCH.
 */
int trace_look(struct trace *trace, pid_t pid, bool add, struct err *err);

/* Asks the runtime that --step names for its function in @pid; 0: in all that live. */
void trace_find_steps(struct trace *trace, pid_t pid);

/* follow.c: processes as they come and go. @comm: what the new program is called. */
void trace_process_exec(struct trace *trace, pid_t pid, const char *comm, uint64_t time_ns);
void trace_process_fork(struct trace *trace, pid_t parent, pid_t child, uint64_t time_ns);
void trace_process_exit(struct trace *trace, pid_t pid, uint64_t time_ns);
/* Adds the descendants that are not ours yet. Returns how many runtimes they have. */
int trace_add_descendants(struct trace *trace, pid_t pid);

/*
 * catch_up.c: looks for what BPF could not tell of the processes. Who has ended is listed before the
 * ring is drained, and noted after: all that they did is in it by then.
 */
void trace_list_ended(struct trace *trace);
void trace_catch_up(struct trace *trace);

/* retire.c: lets go of what belonged to processes that ended a while ago. */
void trace_retire_turn(struct trace *trace);

/* drain.c: a record from the ring; @arg is the session. */
void trace_on_record(void *arg, void *bytes, size_t size);

/* drops.c: what has been lost so far, into the recording. */
void trace_count_drops(struct trace *trace);
