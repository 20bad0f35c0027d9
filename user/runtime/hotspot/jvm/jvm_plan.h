/*
 * What BPF must know of one JVM, and how to read what it sends back. In: a JVM. Out: struct gc_jvm for
 * its map, decoded hsperf counters of each safepoint.
 */
#pragma once

#include "hotspot_wire.h"
#include "jvm.h"

/* Counters copied at each safepoint's end, by their place in gc_safepoint.perf; bytes 0: not there. */
enum jvm_counter {
	JVM_SAFEPOINTS, /* sun.rt.safepoints */
	JVM_SAFEPOINT_TIME, /* sun.rt.safepointTime: sum of cleanup + at + leaving, in ticks of the next */
	JVM_SYNC_TIME, /* sun.rt.safepointSyncTime: sum of the times to safepoint */
	JVM_CAUSE,     /* sun.gc.cause: text */
	JVM_LAST_CAUSE,
	JVM_COLLECTOR_0, /* sun.gc.collector.0.invocations … */
	JVM_COLLECTOR_1,
	JVM_COLLECTOR_2,
	JVM_COLLECTOR_3,
	JVM_UNLOADED,	     /* java.cls.unloadedClasses */
	JVM_SHARED_UNLOADED, /* java.cls.sharedUnloadedClasses */
	JVM_COUNTERS
};

struct jvm_plan {
	struct gc_jvm wire;
	struct jvm_counter_place {
		uint16_t offset, bytes; /* in gc_safepoint.perf */
	} counters[JVM_COUNTERS];
	uint64_t perf_address; /* of the hsperf block; 0: the JVM keeps none (-XX:-UsePerfData) */
	uint64_t safepoints_address, sync_time_address,
		safepoint_time_address; /* of the counters; 0: none */
	uint64_t ticks_per_second;	/* sun.os.hrt.frequency; 0: not known */
	bool walks;			/* Java stacks can be walked */
	char lacks[160]; /* for people: what cannot be known of this JVM, and why; "" nothing */
};

/*
 * Fills all that can be known now but wire.image, .statics, .statics_bytes, .late_ns, which are the
 * caller's. 0: complete; -EAGAIN: the JVM still starts, what is there is filled in: ask again soon,
 * but not for ever: one that lies may never be complete.
 */
int jvm_plan(const struct jvm *jvm, struct jvm_plan *ret, struct err *err);

/* A counter of a safepoint record's perf bytes. -ENOENT: not there. */
int jvm_counter(const struct jvm_plan *plan, enum jvm_counter counter, const uint8_t *perf,
	size_t perf_bytes, uint64_t *ret);
/* The same for a text, cut to @size; never unterminated; control characters become '?'. */
int jvm_counter_text(const struct jvm_plan *plan, enum jvm_counter counter, const uint8_t *perf,
	size_t perf_bytes, char *ret, size_t size);

/* The counters as they are in the target now, for opening and closing the books. -errno. */
int jvm_counter_now(const struct jvm *jvm, const struct jvm_plan *plan, enum jvm_counter counter,
	uint64_t *ret);
