/* One JVM of a session, shared by the files that know JVMs. Not for other rooms. */
#pragma once

#include "hotspot_process.h"
#include "java_stack.h"
#include "jvm_phases.h"
#include "trace_priv.h"

/* A safepoint that goes on when the recording is about to end. */
struct jvm_stop {
	uint64_t start_ns; /* 0: none */
	uint32_t flags;	   /* PAUSE_BEGUN_BEFORE */
	bool unsure;	   /* nothing tells whether there is one, and none was seen before */
};

struct jvm_instance {
	pid_t pid;
	uint32_t process, image; /* struct process.id, index into trace.images */
	struct hotspot *hotspot;
	struct java_stacks *stacks;
	bool settled; /* there is no more to learn */
	bool born; /* under trace: it has counted from zero */
	bool fresh;   /* it has just become a target: what came before is not ours */
	bool sums_up; /* its summaries of the heap are probed */
	uint64_t retry_ns, wait_ns; /* when it is asked again, after how long */
	uint64_t record_ns; /* of its last safepoint: the end; 0: none came */
	struct {
		uint64_t begin_ns; /* of the safepoint that had to wait; 0: none */
		uint32_t tid, stack;
	} late;
	struct jvm_stop stop;
	struct hotspot_snapshot snapshot; /* while there is one */
	struct open_phases phases;
	/* Ends of the last safepoint that collected, and of the last that may have. */
	uint64_t collected_ns, unsure_ns;
};

/*
 * jvm_drain.c: a safepoint as a pause for the sink, with @flags beside those that @read has. _unknown: one of
 * which only the times are known.
 */
void trace_put_safepoint(struct trace *trace, struct jvm_instance *instance, struct runtime *runtime,
	const struct event *event, const struct hotspot_safepoint *read, uint32_t flags);
void trace_put_unknown(struct trace *trace, struct jvm_instance *instance,
	const struct runtime *runtime, uint64_t start_ns, uint64_t end_ns, uint32_t flags, uint32_t tid);

struct jvm_instance *trace_jvm_find(const struct trace *trace, pid_t pid); /* NULL: none */
