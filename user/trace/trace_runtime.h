/*
 * Between a session and the capture code of the runtimes (user/runtime/NAME/capture/): what it asks of them,
 * and what it does for them. A session knows no runtime by name.
 */
#pragma once

#include <bpf/libbpf.h>

#include "books.h"
#include "probe.h"
#include "programs.h"
#include "trace.h"

/*
 * What a session asks of a runtime; whatever may be NULL is not asked. @state is the runtime's own, of this
 * session. Processes are named by their pid or by struct process.id, images by their index in the session.
 */
struct capture_ops {
	const struct capture_program *programs; /* ends with one without a name */
	uint32_t first_record, last_record;	/* its range of gc_header.type */
	bool ends_at_fork; /* a forked child has none of it, whatever its memory holds */

	/* The state, closed by @close; NULL when memory is out. */
	void *(*open)(struct trace *trace);
	void (*close)(void *state);

	/* A file is about to be probed as @image, by @plan: its programs must know of it. May be NULL. 0 or -errno. */
	int (*image)(void *state, uint32_t image, const struct probe_plan *plan, struct err *err);
	/* Attaches a watchpoint of @image in @pid: trace_watch(). NULL: no plan of it has one. */
	int (*watch)(void *state, uint32_t image, pid_t pid, const struct probe_site *site,
		uint64_t cookie, struct err *err);

	/*
	 * A record of its range, whole by its header. 0, or -EBADMSG: it makes no sense, or is of no process of
	 * ours.
	 */
	int (*record)(void *state, const void *bytes, size_t size);

	/* All below may be NULL. */

	/* Process @pid has it, mapped as @map and probed; told at each look, whether known or not. 0 or -errno. */
	int (*found)(void *state, pid_t pid, uint32_t process, uint32_t image,
		const struct proc_map *map, struct err *err);
	/* @pid is a target now; told at each look. */
	void (*targeted)(void *state, pid_t pid);
	/* The program that @pid was has ended, by exit or exec. */
	void (*over)(void *state, pid_t pid, uint64_t time_ns);
	/* Process @child was forked. */
	void (*fork)(void *state, uint32_t parent, uint32_t child);
	/* Processes that trace_knows() no longer may be forgotten. */
	void (*retire)(void *state);
	/* Something may be due. */
	void (*turn)(void *state);
	/*
	 * A function called @name, as its programs call it, marks steps: trace_step_at() for each place in @pid where
	 * one begins. Asked at each look at a process and each turn, as there may be more by then; a place may be told
	 * of again. trace_step_near() for names that resemble it.
	 */
	void (*find_step)(void *state, pid_t pid, const char *name);
	/* Its books in @pid, where ops->books cannot tell; counts that do not exist are 0. 0 or -errno. */
	int (*books)(void *state, pid_t pid, struct probe_books *ret);
	/* The ids of strings in @from lose their meaning: what is kept of them is moved to @to. */
	void (*move_strings)(void *state, const struct strtab *from, struct strtab *to);
	/*
	 * The recording ends: looks what is under way; then, once all is drained that was sent until then, tells
	 * of it. NULL: what trace_open_slots() lists is told of by the session.
	 */
	void (*look)(void *state);
	void (*finish)(void *state);
	/*
	 * Adds to @pause, whose end no probe saw, what is known of it beside its times, thread and cause: by
	 * struct trace_open_pause.kind, which is @kind.
	 */
	void (*unfinished)(int32_t kind, struct pause *pause);
	/* Reports what was lost, by trace_note_drop(). */
	void (*drops)(void *state);
};

const struct trace_options *trace_options(const struct trace *trace);

/* The plan by which an image was probed, and whether it exists: NULL for an index that a record made up. */
struct probe_plan *trace_plan(struct trace *trace, uint32_t image);
/* A map of its programs; owned by the session, never NULL for one that the programs have. */
const struct bpf_map *trace_map(const struct trace *trace, const char *name);
/*
 * Watches writes to @bytes at @site->address by thread @tid, if @inherit those by threads and children that it
 * makes later, too. 0 or -errno: -ESRCH if the thread has ended.
 */
int trace_watch(struct trace *trace, uint32_t image, const struct probe_site *site, pid_t tid,
	unsigned int bytes, bool inherit, uint64_t cookie, struct err *err);

/* The id of process @pid, known or new; 0 when memory is out. */
uint32_t trace_process(struct trace *trace, pid_t pid);
bool trace_knows(const struct trace *trace, uint32_t process);
/* The row of @image in @process, made if it is not there; NULL: memory is out, or there is no such image. */
struct runtime *trace_runtime(struct trace *trace, uint32_t process, uint32_t image);
/* A row has changed. */
void trace_tell_runtime(struct trace *trace, const struct runtime *runtime);
/* Whether @process had @image before it was looked at first: its books did not begin at zero under our eyes. */
bool trace_ran_before(const struct trace *trace, uint32_t process, uint32_t image);
/* Tells the sink thread @tid's name, once. */
void trace_thread(struct trace *trace, uint32_t process, pid_t pid, uint32_t tid);

/* Where stacks and texts are interned. */
struct stack_table *trace_stack_table(struct trace *trace);
struct books *trace_books(struct trace *trace);

/*
 * A pause of @image in @process is about to be told. @owner: of the counters that it moved, as in struct
 * probe_books. Settles what was under way before.
 */
void trace_saw_pause(struct trace *trace, uint32_t process, uint32_t image, uint64_t owner,
	uint64_t start_ns);
/* A pause of struct runtime.id @runtime, of which only its times are known. */
struct pause trace_unknown_pause(uint32_t runtime, uint64_t start_ns, uint64_t end_ns);
/* Each gives its id and tells the sink. */
void trace_put_pause(struct trace *trace, struct pause *pause);
void trace_put_stall(struct trace *trace, struct stall *stall);
void trace_put_phase(struct trace *trace, struct phase *phase);

/* Pauses that a probe saw begin and that have been running for @least_ns. Returns how many, at most @max. */
size_t trace_open_slots(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max);

/* Where a function begins that marks steps: in a file that is mapped, or in memory that no file holds. */
struct step_at {
	const struct proc_map *map; /* with its path; NULL: it is in memory */
	uint64_t offset;	    /* in the file */
	uint64_t address;	    /* in the process */
	const char *symbol;	    /* for people */
};

void trace_step_at(struct trace *trace, pid_t pid, const struct step_at *at);
void trace_step_near(struct trace *trace, const char *name);

/* So much has been lost by @cause so far; 0 is nothing. */
void trace_note_drop(struct trace *trace, const char *cause, uint64_t count, const char *remedy);
/* A process has a runtime that could not be probed. */
void trace_note_unprobed(struct trace *trace);
