/*
 * One JVM under observation: how to read its memory, what BPF must know of it, what its records mean.
 * In: a pid, its mapping of libjvm, a plan. Out: struct gc_jvm, times and names of safepoints.
 */
#pragma once

#include <sys/types.h>

#include "hotspot_event.h"
#include "hotspot_file.h"
#include "jvm_plan.h"

struct hotspot;

/* Opens the JVM of @pid whose libjvm is mapped as @map, probed by @plan. The JVM may still be starting. */
int hotspot_open(pid_t pid, const struct proc_map *map, const struct probe_plan *plan,
	struct hotspot **ret, struct err *err);
void hotspot_free(struct hotspot *hotspot);

/*
 * Learns what can be known by now. 0: everything is; -EAGAIN: it is starting, ask again soon; another
 * -errno with a sentence: it will never be known, records then carry times only.
 */
int hotspot_learn(struct hotspot *hotspot, struct err *err);

const struct jvm *hotspot_jvm(const struct hotspot *hotspot); /* NULL: not known yet */
const struct jvm_plan *hotspot_plan(const struct hotspot *hotspot);

#define HOTSPOT_UNKNOWN (-1)

/* The parts of a safepoint, in ns; HOTSPOT_UNKNOWN where not known. */
struct hotspot_times {
	uint64_t start_ns, end_ns;
	int64_t ttsp_ns, cleanup_ns, core_ns, leave_ns;
	bool exact;	   /* the duration is HotSpot's own */
	bool begun_before; /* it began before @start_ns, when is not known */
};

struct hotspot_safepoint {
	struct hotspot_times times;
	int64_t collections[EVENT_COLLECTORS]; /* by collector; HOTSPOT_UNKNOWN */
	int64_t number; /* of the JVM's safepoints, by its own count; HOTSPOT_UNKNOWN */
};

/*
 * @event: EVENT_SAFEPOINT, in the order they come: counters are compared with those of the one before.
 * -ENODATA: no probe saw its begin, and nothing says when that may have been.
 */
int hotspot_read(struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_safepoint *ret);

/*
 * Whether its threads are stopped, or asked to: 1, and since when, 0 if that is not known; 0: they run;
 * -ENOTSUP: nothing says so.
 */
int hotspot_stopped(const struct hotspot *hotspot, uint64_t *ret_begin_ns);

/* It has just become a target: no probe saw the begin of the safepoint that may be under way. */
void hotspot_settle(struct hotspot *hotspot);

/*
 * When a safepoint began that was under way at hotspot_settle() and of which no record has come. @ret_known: by
 * the JVM's own word, else it was under way at that time. -ENOENT: there was none, as far as is known.
 */
int hotspot_first(const struct hotspot *hotspot, uint64_t *ret_ns, bool *ret_known);
/* Whether any record has come since. */
bool hotspot_was_seen(const struct hotspot *hotspot);

/* What is known of a safepoint that goes on, read from the target as BPF does at its end. */
struct hotspot_snapshot {
	struct hotspot_event event; /* points into the rest: not to be moved */
	uint8_t statics[GC_STATICS_BYTES], perf[GC_PERF_BYTES];
};

void hotspot_look(struct hotspot *hotspot, struct hotspot_snapshot *ret);
/* As hotspot_read(), of one that began at @begin_ns and goes on. */
void hotspot_read_open(struct hotspot *hotspot, const struct hotspot_snapshot *snapshot,
	uint64_t begin_ns, struct hotspot_safepoint *ret);

/* "G1CollectForAllocation"; "" if not known. Valid until the next call. */
const char *hotspot_operation(struct hotspot *hotspot, const struct hotspot_event *event);

/*
 * "G1 Evacuation Pause": HotSpot's words for why it collected last, or, if @current, for why it does
 * now; "" if not known. Valid until the next call.
 */
const char *hotspot_cause(struct hotspot *hotspot, const struct hotspot_event *event, bool current);

/* Safepoints so far, by the JVM's own counter. -errno. */
int hotspot_safepoints(const struct hotspot *hotspot, uint64_t *ret);
/* Reads its counters in the target: what comes before the first record. */
void hotspot_counters_now(struct hotspot *hotspot);

/* The thread of the kernel's number for the JVM's @tid (its pid namespace may differ). 0: gone. */
uint32_t hotspot_host_tid(struct hotspot *hotspot, uint32_t tid);

/* The thread whose name is "VM Thread", or 0. */
pid_t hotspot_vm_thread(pid_t pid);

/* For the watchpoint tier: the counters begin, sync, end. -ENOENT with a sentence where there are none. */
int hotspot_counter_addresses(pid_t pid, const struct probe_image *image,
	const struct probe_plan *plan, uint64_t ret[3], struct err *err);

/* The registers of "8@%r12 8@%r13 -4@%eax": GC_VM_REGISTERS(). -EINVAL: it is not of that form. */
int hotspot_vmop_registers(const char *args, uint32_t *ret);
