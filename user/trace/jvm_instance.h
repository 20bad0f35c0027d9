/* One JVM of a session, shared by the files that know JVMs. Not for other rooms. */
#pragma once

#include "hotspot_process.h"
#include "java_stack.h"
#include "jvm_phases.h"
#include "trace_priv.h"

struct jvm_instance {
	pid_t pid;
	uint32_t process, image; /* struct process.id, index into trace.images */
	struct hotspot *hotspot;
	struct java_stacks *stacks;
	bool settled; /* there is no more to learn */
	bool born; /* under trace: it has counted from zero */
	bool fresh;   /* it has just become a target: what came before is not ours */
	uint64_t retry_ns, wait_ns; /* when it is asked again, after how long */
	struct {
		uint64_t begin_ns; /* of the safepoint that had to wait; 0: none */
		uint32_t tid, stack;
	} late;
	struct open_phases phases;
	/* Ends of the last safepoint that collected, and of the last that may have. */
	uint64_t collected_ns, unsure_ns;
};

struct jvm_instance *trace_jvm_find(const struct trace *trace, pid_t pid); /* NULL: none */
