/* One observation from the kernel, decoded and bounds-checked. In: ring-buffer bytes. Out: struct event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_type {
	EVENT_PAUSE,	  /* a collection ended */
	EVENT_CODE,	  /* names of a code object, after its line table */
	EVENT_TABLE,	  /* a piece of a line table */
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_MAPS,	  /* libraries came or went */
	EVENT_UNFINISHED, /* a thread ended, and the end of its last pause was lost */
	EVENT_MARK,	  /* a call that may mark a step */
	EVENT_LABEL,	  /* the text behind the key of marks to come */
	EVENT_SAFEPOINT,  /* HotSpot let its threads run again */
	EVENT_LATE,	  /* who kept the safepoint waiting whose EVENT_SAFEPOINT follows */
	EVENT_STALL,	  /* a thread has waited for the collector */
	EVENT_PHASE,	  /* a concurrent phase began or ended */
	EVENT_KILLED,	  /* a JVM was killed, or called exec, inside a safepoint */
};

enum event_pause_flag {
	EVENT_SLEPT = 1,
	EVENT_NESTED = 2,
	EVENT_TRUNCATED = 4,
	EVENT_NO_BOOKS = 8,
	EVENT_BROKEN_STACK = 16,
	EVENT_HEAP = 32,
	EVENT_RSS = 64,
	EVENT_WAITED = 128,
	EVENT_LEFT = 256, /* by exit or exec, at time_ns; the runtime's counters are not known */
};

enum event_cause { EVENT_CAUSE_UNKNOWN, EVENT_AUTOMATIC, EVENT_MANUAL, EVENT_SHUTDOWN };

struct event_frame {
	uint64_t code;
	int32_t lasti; /* bytes into the code object's instructions */
	uint32_t pad;
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

struct event_text {
	const uint8_t *bytes;
	size_t characters; /* that are here */
	uint32_t kind;	   /* bytes a character; 0: could not be read */
	size_t cut;	   /* characters left out at the end */
};

struct event {
	enum event_type type;
	uint32_t pid, tid;
	uint64_t time_ns;
	union {
		struct {
			uint64_t start_ns, interpreter;
			uint32_t image, cause, flags;
			int32_t generation;
			int32_t number; /* of the interpreter; -1: not read */
			uint64_t collected, uncollectable, collections[3];
			uint64_t heap_objects, heap_pending; /* with EVENT_HEAP */
			uint64_t rss_start, rss_end;	     /* with EVENT_RSS; bytes */
			uint64_t waited_ns;		     /* with EVENT_WAITED */
			const struct event_frame *frames; /* innermost first */
			size_t frame_count;
		} pause;
		struct {
			uint64_t id;
			uint32_t image, first_line, table_bytes;
			bool has_table; /* its pieces came before; else it could not be read */
			struct event_text name, file;
		} code;
		struct {
			uint64_t id;
			uint32_t offset, length;
			const uint8_t *bytes;
		} table;
		struct {
			uint32_t signal; /* index of the probe */
			bool has_rss;
			uint64_t key, number, rss_bytes;
		} mark;
		struct {
			uint32_t signal;
			uint64_t key;
			const uint8_t *bytes; /* not terminated, of any encoding */
			size_t length;
			bool cut;
		} label;
		struct {
			uint64_t begin_ns, sync_ns; /* of the probes; 0: not probed, or not seen */
			uint64_t begin_argument, sync_argument, end_argument;
			uint64_t op_vtable, thread, thread_vtable; /* 0: not known */
			uint64_t heap_before, heap_after;	   /* bytes; with summaries ≥ 2 */
			uint32_t requester_tid;	     /* as the JVM's pid namespace counts; 0: not known */
			uint32_t requester_host_tid; /* 0: not known */
			uint32_t late_tid;	     /* 0: nobody was, or not known */
			uint32_t summaries, flags;   /* enum event_safepoint_flag */
			const uint8_t *name; /* of the operation, not terminated */
			size_t name_bytes;
			const uint8_t *statics, *perf;
			size_t statics_bytes, perf_bytes;
			struct event_java_stack stack; /* of the requester */
		} safepoint;
		struct {
			uint64_t begin_ns, arrived_ns;
			uint32_t tid;
			struct event_java_stack stack;
		} late;
		struct {
			uint64_t start_ns, thread, unloaded;
			uint64_t collections_start[EVENT_COLLECTORS], collections_end[EVENT_COLLECTORS];
			uint32_t kind; /* enum event_stall_kind */
			size_t collectors; /* of the collections that are known */
			struct event_java_stack stack;
		} stall;
		struct {
			bool begins;
			const uint8_t *name; /* not terminated; only of a begin */
			size_t name_bytes;
		} phase;
		struct {
			uint32_t child;	   /* FORK */
			uint64_t start_ns; /* UNFINISHED, KILLED */
			char comm[17];	   /* EXEC */
		} process;
	};
};

/*
 * Decodes one record of the ring buffer; pointers in @ret reach into @bytes. 0, or -EBADMSG for
 * bytes that no BPF program of this version writes (@ret untouched).
 */
int event_decode(const void *bytes, size_t size, struct event *ret);
