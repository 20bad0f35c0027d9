/*
 * The session: BPF programs loaded, targets probed, children followed. In: pids. Out: a recording
 * that grows: processes, runtimes, drops, stacks kept here; pauses handed on one by one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "gpu_fact.h"
#include "pause.h"
#include "stack_table.h"
#include "step_spec.h"

struct trace;

/* What is probed to learn what GPUs do. */
enum trace_gpu {
	TRACE_GPU_OFF,
	TRACE_GPU_AUTO, /* the CUPTI shims; of processes without one, the driver's waits and allocations */
	TRACE_GPU_INFER,   /* CUDA's driver: launches, waits and allocations */
	TRACE_GPU_MEASURE, /* the CUPTI shims of processes that have one */
};

/* Whether shims are probed; whether the driver is, of processes without one. */
static inline bool trace_gpu_shims(enum trace_gpu gpu)
{
	return gpu == TRACE_GPU_MEASURE || gpu == TRACE_GPU_AUTO;
}

static inline bool trace_gpu_driver(enum trace_gpu gpu)
{
	return gpu == TRACE_GPU_INFER || gpu == TRACE_GPU_AUTO;
}

struct trace_options {
	bool children;	       /* follow what the targets fork */
	uint64_t min_stack_ns; /* shorter pauses carry no stack */
	uint64_t buffer_bytes; /* of the ring buffer; rounded up to a power of two */
	const char *only_tier; /* one way to probe, for tests; NULL: the best */
	/* Probe what may mark steps; @step_wish: also this, or NULL. It is copied by trace_open(). */
	bool steps;
	const struct signal_wish *step_wish;
	uint64_t marks_most;	/* calls that may mark steps, kept in a session */
	const char *step_asked; /* --step as typed, for the recording; or NULL */
	uint64_t late_ns;	/* a longer time to safepoint names the late thread */
	enum trace_gpu gpu;
	bool variants; /* frames tell apart what a function was compiled to for different arguments */
};

#define TRACE_DEFAULT_STACK_NS	   50000
#define TRACE_DEFAULT_BUFFER_BYTES (4u << 20)
#define TRACE_DEFAULT_LATE_NS	   1000000
#define TRACE_DEFAULT_MARKS	   8000000 /* 170 MB of a recording */

/* What the session tells its owner. A negative return ends the session with that error. */
struct trace_sink {
	void *arg;
	int (*process)(void *arg, const struct process *process); /* new, or changed */
	int (*runtime)(void *arg, const struct runtime *runtime);
	int (*pause)(void *arg, const struct pause *pause);
	int (*signal)(void *arg,
		const struct signal *signal); /* new, or changed; like series, or NULL */
	int (*series)(void *arg, const struct series *series); /* new; before its first mark */
	int (*mark)(void *arg, const struct mark *mark);
	int (*thread)(void *arg,
		const struct thread *thread); /* before the first record that names it */
	int (*stall)(void *arg, const struct stall *stall);
	int (*phase)(void *arg, const struct phase *phase);
	int (*gpu)(void *arg, const struct gpu_fact *fact);
};

/* Loads the programs and follows processes from here on. -errno with the remedy. */
int trace_open(const struct trace_options *options, const struct trace_sink *sink,
	struct trace **ret, struct err *err);
void trace_free(struct trace *trace); /* detaches everything; NULL is fine */

/*
 * Adds process @pid, and its descendants if children are followed. Returns how many runtimes were
 * found and probed in them, 0 for none (@err says what was looked for), or -errno with a sentence.
 */
int trace_add(struct trace *trace, pid_t pid, struct err *err);

/*
 * Probes the runtimes in the files of @paths, from which a program will be mapped, so that it is seen
 * from its first collection on. What cannot be probed before it runs is left to the first look at it.
 * Returns how many were probed.
 */
#define TRACE_FORESEEN_MAX 256
size_t trace_foresee(struct trace *trace, char *const *paths, size_t count);

/*
 * Whether what options.step_wish names was found in the processes added so far. 0, or -ENOENT with a
 * sentence: where it was looked for, and what resembles it.
 */
int trace_check_step(const struct trace *trace, struct err *err);

/* Whether a process added so far has a CUPTI shim that is probed. 0, or -ENOENT with a sentence. */
int trace_check_gpu(const struct trace *trace, struct err *err);

/* Why no runtime was traced: it could not be probed, or "a process runs PyPy, …"; false: nothing is known. */
bool trace_why_nothing(const struct trace *trace, struct err *err);

/* A descriptor that polls readable when trace_drain() should not wait for its turn. */
int trace_fd(const struct trace *trace);

/*
 * Takes what the kernel has for us, for some 20 ms at the most: trace_has_more() says whether to come again at
 * once. 0 or -errno: what the sink returned, or a broken ring.
 */
int trace_drain(struct trace *trace);
bool trace_has_more(const struct trace *trace);

/* Processes of ours that still run, and runtimes seen so far. */
size_t trace_alive(const struct trace *trace);
size_t trace_runtimes(const struct trace *trace);

struct trace_open_pause {
	uint32_t pid, tid;
	uint64_t start_ns;
	uint32_t image, cause;
	int32_t kind; /* what it collects, as its runtime numbers it; UNKNOWN if not known */
};

/*
 * Lists at most @max pauses that have been running, or watched, for @least_ns or longer. Returns
 * how many.
 */
size_t trace_open_pauses(const struct trace *trace, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max);

/* Drains for the last time, closes the books and settles end and completeness. 0 or -errno. */
int trace_finish(struct trace *trace);

/* The recording and its stacks so far, owned by the session. */
const struct recording *trace_recording(const struct trace *trace);
const struct stack_table *trace_stacks(const struct trace *trace);

/*
 * Loads all programs there are and hits a uprobe on gctrace itself, to learn whether that works and by which
 * means: @ret_way, "uprobe sessions". 0 or -errno with the remedy.
 */
int trace_probe_kernel(const char **ret_way, struct err *err);
