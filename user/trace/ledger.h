/* What the runtimes' own counters say, held against the pauses that were seen; and the pauses that only they show. */
#pragma once

#include "books.h"
#include "processes.h"
#include "runtimes.h"
#include "slots.h"

/* The runtime's own counters when the session ended. */
struct closing_books {
	uint32_t runtime; /* struct runtime.id */
	struct probe_books books;
	uint64_t read_ns;
};

/* A collection that was under way when its process was first looked at. */
struct begun_pause {
	uint32_t process, runtime; /* struct process.id, struct runtime.id */
	uint32_t image;
	pid_t pid;
	struct proc_map map;	    /* of the image; without its path */
	struct probe_books books;   /* as they were then */
	uint64_t start_ns, seen_ns; /* when it was first and last seen to go on */
};

/* What the books of a program that began under trace said when its probes were in place. */
struct early_books {
	uint32_t process, runtime; /* ids */
	uint64_t missed;	   /* before */
	struct probe_books books;
	uint64_t read_ns;
	bool ready; /* the pauses that they count are in the ring */
};

struct ledger {
	struct feed *feed;
	const struct images *images;
	const struct captures *captures;
	const struct processes *processes;
	struct runtimes *runtimes;
	const struct gc_shared *shared;
	struct books books;
	VEC(struct closing_books) closing;
	VEC(struct begun_pause) begun; /* that still go on, as far as is known */
	VEC(struct early_books) early;
	uint64_t late_probes; /* programs that had collected before they were probed */
	uint64_t unfinished;  /* pauses whose end was lost */
};

void ledger_release(struct ledger *ledger);

/* ledger.c: opens the books of what was @found; indexes[i] is its image, negative: none. */
void ledger_open(struct ledger *ledger, pid_t pid, uint32_t process,
	const struct probe_image *found, const int *indexes, size_t count);
/* Reads the counters of all that still run; once all pauses they count are drained, compares. */
void ledger_read(struct ledger *ledger);
void ledger_close(struct ledger *ledger);

/*
 * early.c: the books of a program that began under trace begin at zero: what they hold at the first look
 * and no probe saw is missed. It is known once the pauses until then are drained: the turn is told whether
 * there is @more to drain.
 */
void ledger_early_add(struct ledger *ledger, uint32_t process, uint32_t image,
	const struct probe_books *books);
void ledger_early_turn(struct ledger *ledger, bool more);
/*
 * Those of a forked child begin where its parent's stood, which is not known before these are settled: what the
 * parent missed is not the child's.
 */
void ledger_early_fork(struct ledger *ledger, uint32_t parent, uint32_t child);
/*
 * Everything that @process (0: any) did until @time_ns, its end or its exec, is drained. What was read
 * later is of the program that it became, and is forgotten: that one will be looked at.
 */
void ledger_early_settle(struct ledger *ledger, uint32_t process, uint64_t time_ns);

/* open_pause.c: follows a collection that no probe saw begin, until it is over; each drain looks. */
void ledger_begun_add(struct ledger *ledger, const struct begun_pause *begun);
void ledger_begun_turn(struct ledger *ledger);
/* That of @process is over: @owner of the books collects anew since @start_ns, or its program has ended. */
void ledger_begun_next(struct ledger *ledger, uint32_t process, uint64_t owner, uint64_t start_ns);
void ledger_begun_over(struct ledger *ledger, uint32_t process);
/* Those that have been watched for @least_ns or longer. Returns how many, at most @max. */
size_t ledger_begun_list(const struct ledger *ledger, uint64_t least_ns,
	struct trace_open_pause *ret, size_t max);
/*
 * The recording ends at @end_ns, with what was @open before all was drained: what goes on is put as
 * unfinished. After the books were read.
 */
void ledger_finish_open(struct ledger *ledger, const struct trace_open_pause *open, size_t count,
	uint64_t end_ns);
