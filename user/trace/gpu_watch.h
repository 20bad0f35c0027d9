/*
 * The CUPTI shims of traced processes: found among their files, probed, and what they hand over → facts about GPUs. Of
 * what is missing there is a fact, too: nothing is idle because nothing was heard.
 */
#pragma once

#include "event.h"
#include "feed.h"
#include "gpu_fact.h"
#include "gpu_shim.h"
#include "proc.h"
#include "programs.h"
#include "u64map.h"

/* A device as one process uses it. */
struct gpu_use {
	uint32_t device;
	char name[33];
	uint64_t memory_bytes;
	uint64_t begin_ns; /* of the stretch that is being recorded, as the shim says */
	/* Since when and up to when all that it did is known; 0: not yet. */
	uint64_t seen_ns, until_ns;
	struct gpu_busy open; /* busy until now, perhaps further; end_ns 0: none */
	bool changed;
};

/* A thread that launches. */
struct gpu_thread {
	uint32_t tid;
	uint64_t launches, gap_ns;
	bool changed;
};

/* A process with the shim. */
struct gpu_process {
	pid_t pid;
	uint32_t process; /* struct process.id */
	VEC(struct gpu_probe {
		uint64_t device; /* of the shim's file */
		uint64_t inode;
		struct uprobe uprobe;
	})
	probes;
	uint64_t attached_ns; /* what it did before is not known */
	uint64_t clock_error_ns;
	uint64_t undated; /* records that are missing at an unknown time, and not told yet */
	VEC(struct gpu_use) uses;
	VEC(struct gpu_thread) threads;
	struct u64map tids; /* a thread's number there → here; 0: it has none */
	size_t strangers;   /* of these, that have none, or were not looked for */
	bool apart;	    /* it numbers its threads in a PID namespace of its own */
};

struct gpu_watch {
	struct feed *feed;
	const struct programs *programs;
	bool on;
	VEC(struct gpu_file {
		uint64_t device;
		uint64_t inode;
		struct gpu_shim_plan plan;
		bool usable;
	})
	files; /* that are called as the shim is */
	VEC(struct gpu_process) processes;
	size_t attached;	/* so far */
	uint64_t facts;		/* told */
	uint64_t unprobed;	/* shims that could not be probed */
	uint64_t lost, dropped; /* records: on the way here, by CUPTI */
	uint64_t bad;		/* that cannot be true */
	struct err why;		/* the last shim that could not be probed */
};

void gpu_watch_close(struct gpu_watch *watch);
/* Probes the shims among @maps, of @pid. */
void gpu_watch_look(struct gpu_watch *watch, pid_t pid, uint32_t process,
	const struct proc_maps *maps);
/* Whether @pid's shim is probed. */
bool gpu_watch_has(const struct gpu_watch *watch, pid_t pid);
void gpu_watch_event(struct gpu_watch *watch, pid_t pid, const struct event *event);
/* Lets go of the program that @pid was. @ended: and of the process. */
void gpu_watch_over(struct gpu_watch *watch, pid_t pid, bool ended);
/* Tells what is known by now. */
void gpu_watch_turn(struct gpu_watch *watch);
/* The last word, when the ring is empty. */
void gpu_watch_finish(struct gpu_watch *watch);

/*
 * gpu_tids.c: begins to know its threads' numbers. Our number of the thread that @process calls @tid; 0: there is no
 * such thread.
 */
void gpu_tids_begin(struct gpu_watch *watch, struct gpu_process *process);
uint32_t gpu_tid(struct gpu_watch *watch, struct gpu_process *process, uint32_t tid);

/* gpu_facts.c: what the records of @process say. */
void gpu_take(struct gpu_watch *watch, struct gpu_process *process, const struct event *event);
/* So many records of @process are missing, of [start, end) if @dated, else of any time. */
void gpu_lose(struct gpu_watch *watch, struct gpu_process *process, uint64_t records, bool dated,
	struct gpu_span span);
/* What is known by now of @process. */
void gpu_tell(struct gpu_watch *watch, struct gpu_process *process);
/* So many facts are told that no more are kept. */
bool gpu_facts_full(const struct gpu_watch *watch);
