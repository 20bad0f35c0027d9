/* What may mark steps, watched: files looked through, signals probed, their calls → series and marks. */
#pragma once

#include "event.h"
#include "feed.h"
#include "gc_wire.h"
#include "proc.h"
#include "programs.h"
#include "step_signal.h"
#include "strtab.h"
#include "u64map.h"
#include "wait_call.h"

/* A probe of a step signal, and where it is, so that it can be put there again. */
struct step_place {
	int fd; /* of the file; owned by step_watch.fds */
	uint64_t offset, semaphore, cookie;
	const char *label;   /* of the cookie's variant, or NULL */
	struct uprobe probe; /* none while the signal is let go */
};

/* What the session knows of recording.signals.items[i]. */
struct step_signal {
	VEC(struct step_place) places;
	uint64_t retry_ns,
		wait_ns;     /* when a signal that was let go is tried again, after how long */
	bool settled;	     /* its hints are let go: the inner function is called */
	bool warned;	     /* a user's signal is hot */
	uint32_t spare_rate; /* calls a second above which it is let go */
	uint32_t
		spare_of; /* index + 1 of a signal that says more, which suffices for short steps */
	uint64_t rate_ns, rate_hits, other_hits;  /* what was counted when the last second began */
	uint64_t told_hits, level_hits, level_ns; /* of what the sink and the leaky bucket know */
	bool by_number; /* its probes are not among these places: request_watch.h */
	size_t series;
};

/* An instruction in memory that no file holds, which marks steps. */
struct watched_place {
	pid_t pid;
	uint64_t address;
	VEC(struct uprobe) probes; /* of threads; none: it made room for another */
};

/* A function that waits, and its probes. */
struct wait_place {
	int fd; /* of the file; owned by step_watch.fds */
	struct wait_site site;
	struct uprobe at_entry, at_return; /* none while they are let go */
};

/* All of them: they are probed, or let go, together. */
struct wait_watch {
	VEC(struct wait_place) places;
	size_t expected; /* files that may have some and were not looked through yet */
	bool failed;	 /* one could not be probed */
	bool let_go;
	uint64_t retry_ns, wait_ns; /* when they are tried again, after how long */
};

struct step_scan; /* scan.c */

struct step_watch {
	struct feed *feed;
	const struct programs *programs;
	bool on;
	bool known_signals;  /* those of known libraries, beside the user's own */
	int called;	     /* see struct wake: a scan has something. Not owned */
	uint64_t marks_most; /* that are kept */
	uint64_t price_ns; /* of a hit; 0: no signal came near its limit, and it was not measured */
	struct uprobe price_probe;
	bool ended;		 /* the probes are gone: there were too many marks */
	uint64_t unprobed;	 /* places of signals, or files of them, that could not be probed */
	struct signal_wish wish; /* "" for none */
	const char *of; /* the runtime whose function it is: "HotSpot"; NULL: it is in files */
	VEC(struct watched_place) watched;
	bool crowded;	    /* there were more than debug registers */
	bool refused;	    /* there were some, and debug registers are not allowed */
	struct u64map told; /* hash of a file and an offset: probed for a runtime's function */
	struct gc_signals *page;
	struct step_signal signals[GC_MAX_SIGNALS];
	struct wait_watch waits;
	struct u64map files; /* hash of device and inode: looked through, or being so */
	VEC(struct step_scan *) scans;
	VEC(int) fds;
	struct strtab *texts;
	struct u64map labels; /* key → id in texts */
	struct u64map series; /* hash of process, thread, signal and key → struct series.id */
	uint32_t series_ids;  /* given out so far */
	uint64_t marks;	      /* likewise */
	/* For the sentence, should the user's own not be found. */
	char searched[256];
	struct signal_near near, near_files;
};

/* steps.c: with what @options asks for; @of: as in struct step_watch. 0 or -errno with a sentence. */
int steps_open(struct step_watch *steps, const struct trace_options *options, const char *of,
	struct err *err);
void steps_close(struct step_watch *steps);
/* What is due: scans that ended, signals that ran hot, or may be tried again. */
void steps_turn(struct step_watch *steps);
/* The last word on every signal. */
void steps_finish(struct step_watch *steps);
/* See trace_check_step(). */
int steps_check_wish(const struct step_watch *steps, struct err *err);

/* scan.c: begins to look through those files of @maps that may hold signals and are new. */
void steps_look(struct step_watch *steps, pid_t pid, const struct proc_maps *maps);
/* Probes what the scans that have ended found. */
void steps_take_scans(struct step_watch *steps);
/*
 * Of scans for which no thread could be started. Here: looks through a file of each, true if there was one. Give
 * up: at the session's end their files are drops.
 */
bool steps_scan_here(struct step_watch *steps);
void steps_give_up_scans(struct step_watch *steps);

/* marks.c: of process @process. 0, or -EBADMSG: of no signal of ours. */
int steps_on_mark(struct step_watch *steps, uint32_t process, const struct event *event);
int steps_on_label(struct step_watch *steps, const struct event *event);
/* Labels that are known at once are bounded: BPF sends every one again that comes again. */
void steps_forget_texts(struct step_watch *steps);
/* Series of processes that the recording has no more are forgotten. */
void steps_sift_series(struct step_watch *steps);

/* step_places.c: see trace_step_at(). */
struct step_at;
void steps_probe_at(struct step_watch *steps, pid_t pid, const struct step_at *at);
void steps_near(struct step_watch *steps, const char *name);
/* Lets go of those in memory of @pid, whose program has ended; 0: of all processes. */
void steps_over(struct step_watch *steps, pid_t pid);
