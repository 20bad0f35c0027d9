/* The inside of a session, shared by this room's files only. */
#pragma once

#include <bpf/libbpf.h>

#include "books.h"
#include "event.h"
#include "gc_wire.h"
#include "gctrace.skel.h"
#include "probe.h"
#include "python_code.h"
#include "trace.h"
#include "u64map.h"

/* A probed file, or for watchpoints a probed process. */
struct image {
	struct probe_plan plan;
	pid_t pid; /* of a per-process plan */
	VEC(struct bpf_link *) links;
	VEC(int) fds; /* links and perf events that libbpf has no handle for */
	uint64_t attached_ns;
};

/* A file that was looked at and holds nothing to probe, or a linker hook already attached. */
struct known_file {
	uint64_t device, inode;
};

struct interpreter {
	uint32_t process;
	uint64_t address;
	int32_t number;
};

/* The runtime's own counters when the session ended. */
struct closing_books {
	uint32_t runtime; /* struct runtime.id */
	struct probe_books books;
};

/* The page that BPF and we share (struct shared in core.bpf.h). */
struct shared_page {
	uint64_t drops[GC_DROP_COUNT];
	struct gc_open open[GC_OPEN_SLOTS];
};

struct trace {
	struct trace_options options;
	struct trace_sink sink;
	struct gctrace_bpf *bpf;
	struct gctrace_bpf *watch; /* the watchpoint program, loaded when first needed */
	struct ring_buffer *ring;
	const struct shared_page *shared;
	bool sessions; /* functions are probed by uprobe sessions, else by pairs of perf uprobes */

	struct recording recording;
	struct stack_table stacks;
	struct python_codes *codes;
	struct books books;
	VEC(struct interpreter) interpreters;
	VEC(struct closing_books) closing;

	struct image images[GC_MAX_IMAGES];
	uint32_t image_count;
	VEC(struct known_file) hooks;
	VEC(struct bpf_link *) links; /* of hooks */
	struct u64map live;	    /* pid → struct process.id */
	struct u64map runtimes;	    /* process id and image → struct runtime.id */
	uint64_t pauses, bad_records, unfinished;
	uint64_t unprobed;	 /* processes that got a runtime which could not be probed */
	uint32_t last_unprobed; /* struct process.id of the latest of them */
	int sink_error;
};

/* load.c */
int trace_load(struct trace *trace, struct err *err);
int trace_load_watch(struct trace *trace, struct err *err);
void trace_quiet_libbpf(void);

/* attach.c: index of the image for @plan, attached, or -errno with a sentence (-EINVAL: occupied). */
int trace_attach(struct trace *trace, const struct probe_plan *plan, pid_t pid, struct err *err);
int trace_attach_hook(struct trace *trace, const char *path, uint64_t offset);
void trace_detach(struct image *image);

/* runtime.c: looks again at a process whose maps may have changed; what cannot be probed is a drop. */
void trace_look_again(struct trace *trace, pid_t pid);
/* Lets go of what belonged to the program that @pid was before its exec. */
void trace_forget_image(struct trace *trace, pid_t pid);

/* target.c: processes. Ids are struct process.id, 0 when memory is out. */
uint32_t trace_process(struct trace *trace, pid_t pid);
void trace_process_exec(struct trace *trace, pid_t pid);
void trace_process_fork(struct trace *trace, pid_t parent, pid_t child, uint64_t time_ns);
void trace_process_exit(struct trace *trace, pid_t pid, uint64_t time_ns);

/* runtime.c: what runtimes a process has. trace_look() returns how many, or -errno with a sentence. */
int trace_look(struct trace *trace, pid_t pid, struct err *err);
struct runtime *trace_runtime(struct trace *trace, uint32_t process, uint32_t image);
/* Reads the counters of all that still run; once all pauses they count are drained, compares. */
void trace_read_books(struct trace *trace);
void trace_close_books(struct trace *trace);
int32_t trace_interpreter(struct trace *trace, uint32_t process, pid_t pid, uint32_t image,
	uint64_t address);
void trace_inherit(struct trace *trace, uint32_t parent, uint32_t child);

/* drain.c */
int trace_on_record(void *arg, void *bytes, size_t size);
void trace_count_drops(struct trace *trace);
