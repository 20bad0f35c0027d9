/* One record of HotSpot's programs, decoded and bounds-checked. In: ring-buffer bytes. Out: struct hotspot_event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

enum hotspot_event_type {
	EVENT_SAFEPOINT, /* HotSpot let its threads run again */
	EVENT_LATE,	 /* who kept the safepoint waiting whose EVENT_SAFEPOINT follows */
	EVENT_STALL,	 /* a thread has waited for the collector */
	EVENT_PHASE,	 /* a concurrent phase began or ended */
	EVENT_KILLED,	 /* a JVM was killed, or called exec, inside a safepoint */
};

/* A physical frame of a Java stack; see gc_wire.h. */
struct event_java_frame {
	uint64_t code;	     /* compiled: address of the nmethod; interpreted: of the Method */
	uint64_t check;	     /* compiled: its Method; interpreted: its ConstMethod */
	uint32_t compile_id; /* compiled: of this nmethod and no other */
	int32_t at;	     /* compiled: pc − code; interpreted: bytecode index */
	uint32_t kind;	     /* enum event_java_kind */
	uint32_t pad;
};

enum event_java_kind { EVENT_INTERPRETED = 1, EVENT_COMPILED = 2 };

enum event_stack_flag {
	EVENT_STACK_TRUNCATED = 1,
	EVENT_STACK_BROKEN = 2,
	EVENT_STACK_VIRTUAL = 4,
	EVENT_STACK_STALE = 8,
};

struct event_java_stack {
	const struct event_java_frame *frames; /* innermost first */
	size_t count;
	uint32_t flags; /* enum event_stack_flag */
};

enum event_safepoint_flag {
	EVENT_SAFEPOINT_STATICS = 1,
	EVENT_SAFEPOINT_PERF = 2,
	EVENT_SAFEPOINT_ARGUMENTS = 4, /* the arguments are HotSpot's nanoseconds */
};

enum event_stall_kind {
	EVENT_STALL_EXPLICIT = 1,
	EVENT_STALL_ALLOCATION = 2,
	EVENT_STALL_PACING = 3,
	EVENT_STALL_LOCKER = 4,
};

#define EVENT_COLLECTORS 4

struct hotspot_event {
	enum hotspot_event_type type;
	struct event_head head;
	union {
		struct {
			uint64_t begin_ns, sync_ns; /* of the probes; 0: not probed, or not seen */
			uint64_t begin_argument, sync_argument, end_argument;
			uint64_t op_vtable, thread, thread_vtable; /* 0: not known */
			uint64_t heap_before, heap_after;	   /* bytes; with summaries ≥ 2 */
			uint32_t
				requester_tid; /* as the JVM's pid namespace counts; 0: not known */
			uint32_t requester_host_tid; /* 0: not known */
			uint32_t late_tid;	     /* 0: nobody was, or not known */
			uint32_t summaries, flags;   /* enum event_safepoint_flag */
			const uint8_t *name;	     /* of the operation, not terminated */
			size_t name_bytes;
			const uint8_t *statics, *perf;
			size_t statics_bytes, perf_bytes;
			struct event_java_stack stack; /* of the requester */
		} safepoint;
		struct {
			uint64_t begin_ns, arrived_ns;
			int64_t ran_ns; /* on a CPU between the two, at least; or UNKNOWN */
			uint32_t tid;
			struct event_java_stack stack;
		} late;
		struct {
			uint64_t start_ns, thread, unloaded;
			uint64_t collections_start[EVENT_COLLECTORS],
				collections_end[EVENT_COLLECTORS];
			uint32_t kind;	   /* enum event_stall_kind */
			size_t collectors; /* of the collections that are known */
			struct event_java_stack stack;
		} stall;
		struct {
			bool begins;
			const uint8_t *name; /* not terminated; only of a begin */
			size_t name_bytes;
		} phase;
		struct {
			uint64_t start_ns; /* of the safepoint */
		} killed;
	};
};

/*
 * Decodes one record, which event_check() has found to be whole; pointers in @ret reach into @bytes. 0, or
 * -EBADMSG for bytes that no BPF program of this version writes (@ret untouched).
 */
int hotspot_decode(const void *bytes, size_t size, struct hotspot_event *ret);
