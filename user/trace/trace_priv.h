/* The inside of a session, shared by this room's files only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bpf/libbpf.h>

#include "books.h"
#include "event.h"
#include "gc_wire.h"
#include "gctrace.skel.h"
#include "probe.h"
#include "programs.h"
#include "step_signal.h"
#include "strangers.h"
#include "strtab.h"
#include "trace.h"
#include "trace_runtime.h"
#include "u64map.h"
#include "uprobe.h"

/* A probed file, or for watchpoints a probed process. */
struct image {
	struct probe_plan plan;
	pid_t pid;		   /* of a per-process plan */
	VEC(struct uprobe) probes; /* and watchpoints, as links */
	uint64_t pauses;	   /* recorded */
	/*
	 * Whether its layout was held against a process, which one to ask, and that it did not fit.
	 */
	bool checked, misfit;
	pid_t check_pid;
	struct proc_map check_map; /* without its path */
};

/* A file that was looked at and holds nothing to probe, or a linker hook already attached. */
struct known_file {
	uint64_t device, inode;
};

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

/* A runtime's part of the session. */
struct capture {
	const struct capture_ops *ops;
	void *state;
};

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
	size_t series;
};

/* Files that are looked through in a thread of their own, while pauses go on being drained. */
struct step_scan {
	pthread_t thread;
	bool threaded; /* the thread was started */
	pid_t pid;
	struct signal_wish wish; /* "" for none */
	VEC(struct step_file {
		struct proc_map map; /* owns its path */
		int fd;		     /* -1: no signals in it */
		bool unread;	     /* it could not be opened, though its process lives */
		struct signal_plans plans;
	})
	files;
	struct signal_near near;
	int wake;	      /* see trace.scanned */
	atomic_size_t looked; /* how many files, from the first on */
	size_t taken;	      /* of them, whose signals are probed */
};

struct step_watch {
	bool on;
	uint64_t price_ns; /* of a hit; 0: no signal came near its limit, and it was not measured */
	struct uprobe price_probe;
	bool ended;		 /* the probes are gone: there were too many marks */
	struct signal_wish wish; /* "" for none */
	struct gc_signals *page;
	struct step_signal signals[GC_MAX_SIGNALS];
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

struct trace {
	struct trace_options options;
	struct trace_sink sink;
	struct programs programs;
	const struct capture_program **lists; /* of the programs of all runtimes */
	VEC(struct capture) captures;	      /* as in probe_runtimes */
	struct ring_buffer *ring;
	struct gc_shared *shared;

	struct recording recording;
	struct stack_table stacks;
	struct books books;
	VEC(struct closing_books) closing;
	VEC(struct begun_pause) begun; /* that still go on, as far as is known */
	VEC(struct early_books) early;

	struct image images[GC_MAX_IMAGES];
	uint32_t image_count;
	VEC(struct known_file) hooks;
	VEC(struct uprobe) hook_probes;
	struct u64map live;	/* pid → struct process.id */
	struct u64map runtimes; /* process id and image → struct runtime.id */
	struct u64map aged;	/* process id and image → 1: those that ran before we came */
	uint64_t pauses, stalls, phases, bad_records, unfinished;
	uint64_t unprobed;	   /* processes that got a runtime which could not be probed */
	uint32_t last_unprobed;	   /* struct process.id of the latest of them */
	uint64_t unprobed_linkers; /* whose hook could not be probed */
	uint64_t
		unprobed_steps; /* places of step signals, or files of them, that could not be probed */
	uint64_t late_probes;	  /* programs that had collected before they were probed */
	uint64_t unseen_programs; /* likely runtimes that ended before they were looked at */
	uint64_t skipped_changes; /* forks and execs at which the kernel left out our program */
	uint64_t round_ns;	  /* when we last looked who had ended unseen */
	struct proc_pids ended;	  /* who had, then */
	uint64_t unprobed_facts;  /* optional probes that could not be attached */
	struct step_watch steps;
	struct probe_known known;
	struct u64map
		looks; /* pid → from when on its maps are looked at again, and LOOK_DUE in the low bit */
	size_t looks_due;		   /* of them that carry LOOK_DUE */
	uint32_t process_ids, runtime_ids; /* given out so far */
	uint64_t retired_missed;	   /* by runtimes of processes that were retired */
	uint64_t clocks_ns;		   /* when both clocks were last read */
	uint64_t retired_ns;		   /* when the last round looked for them */
	int scanned, due; /* -1: none. They wake the reader: a scan has something; a look is due */
	uint64_t due_ns;  /* when the latter will; 0: it is not set */
	bool ending;	  /* trace_finish() has begun */
	int sink_error;
	bool more; /* the ring was not empty when the last portion of it had been taken */
	uint64_t portion_ends_ns, drained, drained_bytes;
	struct u64map
		inherited; /* process id of a forked child → images, a bit each: trace_inherit() */
	struct u64map
		former; /* process id → images of programs that it was: trace_leave_runtimes() */
};

/* What the sink answered: its first error ends the session at the next turn. */
static inline void trace_note_sink(struct trace *trace, int r)
{
	if (r < 0 && !trace->sink_error)
		trace->sink_error = r;
}

/* attach.c: index of the image for @plan, attached, or -errno with a sentence (-EINVAL: occupied). */
int trace_attach(struct trace *trace, const struct probe_plan *plan, pid_t pid, struct err *err);
int trace_attach_hook(struct trace *trace, const char *path, uint64_t offset);
void trace_detach(struct image *image);

/* look.c: looks again at a process whose maps may have changed; what cannot be probed is a drop. */
void trace_look_again(struct trace *trace, pid_t pid);
/* The maps changed: looks again, at once or when the burst of changes is over. */
void trace_maps_changed(struct trace *trace, pid_t pid);
void trace_looks_turn(struct trace *trace);
void trace_forget_looks(struct trace *trace, pid_t pid);
/*
 * What runtimes a process has. Returns how many, or -errno with a sentence. @add: it becomes a
 * target, else it is one, or -ESRCH.
 */
int trace_look(struct trace *trace, pid_t pid, bool add, struct err *err);

/* target.c: processes. Ids are struct process.id. @comm: what the new program is called. */
void trace_process_exec(struct trace *trace, pid_t pid, const char *comm, uint64_t time_ns);
void trace_process_fork(struct trace *trace, pid_t parent, pid_t child, uint64_t time_ns);
void trace_process_exit(struct trace *trace, pid_t pid, uint64_t time_ns);

/*
 * runtime.c: the image attached for this mapped file (and, with a watchpoint, this process). Its
 * index or -1.
 */
int trace_find_image(const struct trace *trace, pid_t pid, const struct proc_map *map);
/* The image of what was found in @pid (0: in a file), attached if it was not. Its index or -errno. */
int trace_attach_found(struct trace *trace, pid_t pid, const struct probe_image *found,
	struct err *err);
/* Probes the hook of the linker among @maps. */
void trace_hook_linker(struct trace *trace, pid_t pid, const struct proc_maps *maps);
/* Lets go of what belonged to the program that @pid was before its exec. */
void trace_forget_image(struct trace *trace, pid_t pid);
/* The same at its end, but for the probes: the kernel gave its forked children copies of them. */
void trace_disown_image(struct trace *trace, pid_t pid);
/* NULL if its process has been retired. */
struct runtime *trace_runtime_by_id(struct trace *trace, uint32_t id);

/* runtime_books.c: opens those of what was @found; indexes[i] is its image, negative: none. */
void trace_open_books(struct trace *trace, pid_t pid, uint32_t process,
	const struct probe_image *found, const int *indexes, size_t count);
/* Reads the counters of all that still run; once all pauses they count are drained, compares. */
void trace_read_books(struct trace *trace);
void trace_close_books(struct trace *trace);

/*
 * inherit.c: a forked child has its parent's runtimes, but most children exec at once. They are the
 * child's own, and told, when it collects, has lived for INHERITED_NS, or ends:
 * trace_keep_inherited(); an exec before that forgets them. The turn keeps those of processes seen
 * no later than @before_ns.
 */
#define INHERITED_NS 5000000000ull
void trace_inherit(struct trace *trace, uint32_t parent, uint32_t child);
/* @images are a bit each; GC_MAX_IMAGES is 64. */
void trace_bequeath(struct trace *trace, uint32_t child, uint64_t images);
uint64_t trace_bequeathed(const struct trace *trace, uint32_t process);
void trace_keep_inherited(struct trace *trace, uint32_t process);
void trace_forget_inherited(struct trace *trace, uint32_t process);
void trace_inherited_turn(struct trace *trace, uint64_t before_ns);
/*
 * The runtimes that @process had are those of the program before its exec, and no child's, until one of
 * them is met again.
 */
void trace_leave_runtimes(struct trace *trace, uint32_t process);
void trace_meet_runtime(struct trace *trace, uint32_t process, uint32_t image);
void trace_disown_former(struct trace *trace, uint32_t parent, uint32_t child);

/* open_pause.c: follows a collection that no probe saw begin, until it is over; each drain looks. */
void trace_begun_add(struct trace *trace, const struct begun_pause *begun);
void trace_begun_turn(struct trace *trace);
/* That of @process is over: @interpreter collects anew since @start_ns, or its program has ended. */
void trace_begun_next(struct trace *trace, uint32_t process, uint64_t interpreter,
	uint64_t start_ns);
void trace_begun_over(struct trace *trace, uint32_t process);
/*
 * The recording ends: what goes on is told of as unfinished. After the books were read. 0 or
 * -errno.
 */
int trace_finish_open(struct trace *trace);

/*
 * layout_check.c: holds image @index against @pid, where it is mapped as @map, once that has
 * started up.
 */
void trace_check_later(struct trace *trace, uint32_t index, pid_t pid, const struct proc_map *map);
void trace_check_turn(struct trace *trace);
/* Images whose pauses cannot be told by what is known of them. */
uint64_t trace_misfits(const struct trace *trace);

/* captures.c: each runtime's part of the session, see trace_runtime.h. -ENOMEM. */
int trace_captures_open(struct trace *trace);
/* The lists of the programs of all runtimes, ending with NULL; owned by the caller. NULL: memory is out. */
const struct capture_program **trace_program_lists(void);
void trace_captures_close(struct trace *trace);
/* That of the runtime of which @image is. */
const struct capture *trace_capture(const struct trace *trace, uint32_t image);
/* That which decodes records of @type; NULL: they are no runtime's own. */
const struct capture *trace_capture_of_record(const struct trace *trace, uint32_t type);
void trace_captures_targeted(struct trace *trace, pid_t pid);
void trace_captures_over(struct trace *trace, pid_t pid, uint64_t time_ns);
void trace_captures_fork(struct trace *trace, uint32_t parent, uint32_t child);
void trace_captures_retire(struct trace *trace);
void trace_captures_turn(struct trace *trace);
void trace_captures_move_strings(struct trace *trace, const struct strtab *from, struct strtab *to);
void trace_captures_look(struct trace *trace);
void trace_captures_finish(struct trace *trace);
void trace_captures_drops(struct trace *trace);

/* scan.c: begins to look through those files of @maps that may hold signals and are new. */
void trace_steps_look(struct trace *trace, pid_t pid, const struct proc_maps *maps);
/* Attaches what the scans that have ended found. */
void trace_scans_turn(struct trace *trace);
/*
 * Scans for which no thread could be started: before a session has begun they are made here and now, at its
 * end their files are drops.
 */
void trace_scans_settle(struct trace *trace);
void trace_scans_close(struct trace *trace);

/* signals.c: probes that may mark steps. */
int trace_steps_open(struct trace *trace, struct err *err);
void trace_steps_close(struct trace *trace);
/* Probes @plan in the file open as @fd. */
void trace_step_attach(struct trace *trace, int fd, const struct signal_plan *plan);
/* Waits for the scans under way, and attaches what they found. */
void trace_steps_settle(struct trace *trace);
/* What is due: scans that ended, signals that ran hot, or may be tried again. */
void trace_steps_turn(struct trace *trace);
/* The last word on every signal. */
void trace_steps_finish(struct trace *trace);

/*
 * price.c: what a hit of a step signal costs a program on this machine, in ns: from an eighth of TRACE_HIT_PRICE_NS,
 * which is also what it is where it costs more or cannot be measured. Takes 15 ms, and the caller detaches
 * *ret, which takes 30 and so can wait.
 */
uint64_t trace_hit_price(struct trace *trace, struct uprobe *ret);
#define TRACE_HIT_PRICE_NS 500

/* marks.c: marks → series and marks of the recording. */
void trace_on_mark(struct trace *trace, const struct event *event);
void trace_on_label(struct trace *trace, const struct event *event);

/* wake.c: what wakes the reader beside the ring, by the same descriptor. */
int trace_wake_open(struct trace *trace, struct err *err);
void trace_wake_close(struct trace *trace);
void trace_wake_now(int fd); /* from any thread */
void trace_wake_at(struct trace *trace, uint64_t time_ns);
/* It is awake. */
void trace_woken(struct trace *trace);

/*
 * early.c: the books of a program that began under trace begin at zero: what they hold at the first look
 * and no probe saw is missed. It is known once the pauses until then are drained.
 */
void trace_early_open(struct trace *trace, uint32_t process, uint32_t image,
	const struct probe_books *books);
void trace_early_turn(struct trace *trace);
/*
 * Those of a forked child begin where its parent's stood, which is not known before these are settled: what the
 * parent missed is not the child's.
 */
void trace_early_fork(struct trace *trace, uint32_t parent, uint32_t child);
/*
 * Everything that @process (0: any) did until @time_ns, its end or its exec, is drained. What was read
 * later is of the program that it became, and is forgotten: that one will be looked at.
 */
void trace_early_settle(struct trace *trace, uint32_t process, uint64_t time_ns);

/*
 * catch_up.c: looks for what BPF could not tell of the processes. Who has ended is listed before the
 * ring is drained, and noted after: all that they did is in it by then.
 */
void trace_list_ended(struct trace *trace);
void trace_catch_up(struct trace *trace);
/* retire.c: lets go of what belonged to processes that ended a while ago. */
void trace_retire_turn(struct trace *trace);

/* Of trace.runtimes. */
static inline uint64_t trace_runtime_key(uint32_t process, uint32_t image)
{
	return (uint64_t)process * GC_MAX_IMAGES + image;
}

bool trace_is_target(const struct trace *trace, pid_t pid);
/* trace.c: adds the descendants that are not ours yet. Returns how many runtimes they have. */
int trace_add_descendants(struct trace *trace, pid_t pid);

/*
 * ring.c: takes what the ring holds, for 20 ms at the most: trace->more says whether something may be left.
 * All: what it held at the call. 0 or more, or -errno.
 */
int trace_consume(struct trace *trace);
int trace_consume_all(struct trace *trace);
int trace_on_ring(void *arg, void *bytes, size_t size);

/* drain.c */
int trace_on_record(void *arg, void *bytes, size_t size);
void trace_count_drops(struct trace *trace);
