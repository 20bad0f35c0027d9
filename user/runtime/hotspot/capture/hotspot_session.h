/* The JVMs of a session. See trace/trace_runtime.h. */
#pragma once

#include "hotspot_process.h"
#include "java_stack.h"
#include "jvm_phases.h"
#include "trace_runtime.h"
#include "vec.h"

/* A safepoint that goes on when the recording is about to end. */
struct jvm_stop {
	uint64_t start_ns; /* 0: none */
	uint32_t flags;	   /* PAUSE_BEGUN_BEFORE */
	bool unsure;	   /* nothing tells whether there is one, and none was seen before */
};

struct jvm_instance {
	pid_t pid;
	uint32_t process, image; /* struct process.id, index of the image */
	struct hotspot *hotspot;
	struct java_stacks *stacks;
	bool settled;		    /* there is no more to learn */
	bool born;		    /* under trace: it has counted from zero */
	bool fresh;		    /* it has just become a target: what came before is not ours */
	bool sums_up;		    /* its summaries of the heap are probed */
	uint64_t retry_ns, wait_ns; /* when it is asked again, after how long */
	uint64_t record_ns;	    /* of its last safepoint: the end; 0: none came */
	struct {
		uint64_t begin_ns; /* of the safepoint that had to wait; 0: none */
		int64_t ran_ns;
		uint32_t tid, stack;
	} late;
	struct jvm_stop stop;
	struct hotspot_snapshot snapshot; /* while there is one */
	struct open_phases phases;
	/* Ends of the last safepoint that collected, and of the last that may have. */
	uint64_t collected_ns, unsure_ns;
};

struct jvms {
	struct trace *trace;
	VEC(struct jvm_instance *) list;
	uint64_t killed; /* that ended inside a safepoint, by a signal or an exec */
	uint64_t unsure; /* of which nothing tells whether they stood still all the time */
};

extern const struct capture_ops hotspot_capture;
extern const char *const hotspot_counters[]; /* what its books count; NULL-terminated */

struct jvm_instance *jvms_find(const struct jvms *jvms, pid_t pid); /* NULL: none */

/* hotspot_drain.c: capture_ops.record */
int jvms_record(void *state, const void *bytes, size_t size);
/*
 * A safepoint as a pause for the sink, with @flags beside those that @read has. _unknown: one of which only the
 * times are known.
 */
void jvms_put_safepoint(struct jvms *jvms, struct jvm_instance *instance, struct runtime *runtime,
	const struct hotspot_event *event, const struct hotspot_safepoint *read, uint32_t flags);
void jvms_put_unknown(struct jvms *jvms, const struct runtime *runtime, uint64_t start_ns,
	uint64_t end_ns, uint32_t flags, uint32_t tid);

/*
 * hotspot_unfinished.c: JVMs that stand in a safepoint as the recording ends, see capture_ops.look and .finish;
 * _over() as one of them ends.
 */
void jvms_look(void *state);
void jvms_finish(void *state);
void jvms_over(struct jvms *jvms, pid_t pid, uint64_t end_ns);
