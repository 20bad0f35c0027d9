/*
 * The wire between CPython's programs and user/runtime/cpython/capture/: records of its collections, and
 * what its programs must know of a file. As in gc_wire.h: sized, no gaps unnamed, never renumbered.
 */
#pragma once

#include "gc_wire.h"

#define GC_MAX_CALLERS 4    /* calls of the collector by hand in one image */
#define GC_MAX_FRAMES  127  /* of one stack; a deeper one is marked truncated */
#define GC_NAME_BYTES  512  /* raw bytes of a function's or file's name that are kept */
#define GC_TABLE_BYTES 1024 /* of a code object's line table, per record */
#define GC_MAX_TABLES  64   /* records per line table */
#define GC_NO_TABLE    0xffffffff
#define GC_SEEN_SLOTS  8192 /* code objects whose names were already sent */
#define GC_MAX_STOPS                                                                               \
	2 /* times that a collection stops all other threads, in a free-threaded build */

/* gc_header.type */
#define GC_EVENT_PAUSE 1
#define GC_EVENT_CODE  2
#define GC_EVENT_TABLE 3

/* gc_pause.flags */
#define GC_PAUSE_SLEPT	   1 /* the thread slept: a finalizer waited, or memory was paged in */
#define GC_PAUSE_NESTED	   2 /* the collector was called again by the same thread, to no effect */
#define GC_PAUSE_TRUNCATED 4 /* more than GC_MAX_FRAMES frames */
#define GC_PAUSE_NO_BOOKS                                                                          \
	8 /* the runtime's counters could not be read: generation is its argument's word */
#define GC_PAUSE_BROKEN_STACK 16  /* a frame could not be read; the stack ends there */
#define GC_PAUSE_HEAP	      32  /* heap_objects and heap_pending are known */
#define GC_PAUSE_RSS	      64  /* rss_start and rss_end are known */
#define GC_PAUSE_WAITED	      128 /* waited_ns is known: the parent is a target */
#define GC_PAUSE_UNFINISHED                                                                        \
	256 /* the thread left the collector by exit or exec; header.time_ns: when */
#define GC_PAUSE_THRESHOLDS 512	 /* thresholds are known */
#define GC_PAUSE_STOPS	    1024 /* stops are known, each with its end */
#define GC_PAUSE_GIL                                                                               \
	2048 /* a free-threaded build ran with its GIL: other threads waited for that */

struct gc_frame {
	__u64 code;  /* id of a gc_code record */
	__s32 lasti; /* byte offset of the instruction in the code object */
	__u32 pad;
};

/* From the request that all other threads stop, to when the last one had, to when they might run again. */
struct gc_stop {
	__u64 request_ns, stopped_ns, end_ns;
};

struct gc_pause {
	struct gc_header header; /* time_ns: the end */
	__u64 start_ns;
	__u64 interpreter; /* address in the target: identifies the interpreter */
	__u32 image;	   /* index into layouts */
	__s32 generation;  /* -1: not known */
	__u32 cause, flags;
	__u64 collected, uncollectable; /* objects, by the runtime's own counters */
	__u64 collections[3]; /* by generation since the interpreter began, this one included */
	/* At the begin: objects that survived the last full collection, and those moved there since. */
	__u64 heap_objects, heap_pending;
	/* Bytes resident, as /proc/PID/statm counts them, less what CPUs have not handed in yet. */
	__u64 rss_start, rss_end;
	/* Of the pause, in which the parent's thread that forked this process slept, for whatever reason. */
	__u64 waited_ns;
	__s32 thresholds[3]; /* at the begin, by generation */
	__u32 stop_count;    /* of stops; more than GC_MAX_STOPS: not all of them are here */
	struct gc_stop stops[GC_MAX_STOPS];
	__u32 frame_count;
	__s32 number; /* of the interpreter; -1: not read, since no process has shown one beside the main one */
	struct gc_frame frames[GC_MAX_FRAMES + 1];
};

/* The record ends after the last frame. */
#define GC_PAUSE_SIZE(frame_count)                                                                 \
	(offsetof(struct gc_pause, frames) + (frame_count) * sizeof(struct gc_frame))

struct gc_text {
	__u32 length; /* characters, of which at most GC_NAME_BYTES / kind are here */
	__u16 kind;   /* bytes a character: 1, 2 or 4 (PEP 393); 0: could not be read */
	__u16 ascii;
	__u8 bytes[GC_NAME_BYTES];
};

/* Names of a code object, sent once before the first pause that refers to it. */
struct gc_code {
	struct gc_header header;
	__u64 id;
	__u32 image;
	__u32 first_line;
	__u32 table_bytes; /* line table in full, its pieces precede this record; or GC_NO_TABLE */
	__u32 pad;
	struct gc_text name, file;
};

/* A piece of a code object's line table. */
struct gc_table {
	struct gc_header header;
	__u64 id;
	__u32 offset, length;
	__u8 bytes[GC_TABLE_BYTES];
};

/* What the cookie of a probe at the collector says of the place. */
#define GC_SITE_FUNCTION 0 /* begin at the entry, end at the return */
#define GC_SITE_BEGIN	 1
#define GC_SITE_END	 2
#define GC_SITE_PLACE	 3 /* the end, once the counters have moved; passed twice by some calls */
#define GC_SITE_WATCH	 4
/* Free-threaded builds: calls, within the collector, of what stops all other threads and lets them go. */
#define GC_SITE_STOP	5 /* they are asked to stop */
#define GC_SITE_STOPPED 6 /* they have */
#define GC_SITE_START	7 /* they may run again */
/* Of those, begins of a copy that the compiler made for some callers, with other arguments: by whom is known or not. */
#define GC_SITE_CLONE	     8
#define GC_SITE_CLONE_MANUAL 9

/* Where a layout's tstate comes from. */
#define GC_TSTATE_ARG1	  1 /* first argument of the probed function */
#define GC_TSTATE_CURRENT 2 /* _PyRuntime.gilstate.tstate_current (3.8 - 3.11) */
#define GC_TSTATE_INTERP_GIL                                                                       \
	3 /* interp->ceval.gil->last_holder, interpreter by interpreter (3.12+) */
#define GC_TSTATE_THREADS                                                                          \
	4 /* the one of all interpreters' thread states that is this thread's: free-threaded builds */

/* Where the reason of a collection comes from, where count and threshold do not tell. */
#define GC_REASON_NOFAIL 1 /* fifth argument non-zero: shutdown (3.9 - 3.12) */
#define GC_REASON_ARG3	 2 /* third argument: 0 automatic, 1 shutdown, 2 manual (3.13+) */
#define GC_REASON_COUNTS 3 /* no argument says: the counters do */
#define GC_REASON_NONE	 4 /* nothing says: free-threaded builds decide by more than counters */

/*
 * What shows that a begin is none. CPython 3.13 and later enter the collector before they look
 * whether a collection is under way already, or any generation is due.
 */
#define GC_IDLE_NONE  0 /* nothing needs to */
#define GC_IDLE_STATE 1 /* the collector's state at its entry */
#define GC_IDLE_FLAGS 2 /* of the processor: a cmpxchg of gc.collecting has failed */
#define GC_IDLE_WORLD                                                                              \
	3 /* that it does not stop the other threads; free-threaded builds always do to collect */

/* When an automatic collection comes, once there are too many objects. */
#define GC_DEFERRED_NOT 0 /* at that moment */
#define GC_DEFERRED	1 /* later (3.12 on) */
#define GC_DEFERRED_INCREMENT                                                                      \
	2 /* later, and of generation 1 whatever the counts (3.14.0 - 3.14.4) */

/* How generation_stats is laid out. */
#define GC_STATS_INLINE 1 /* three {collections, collected, uncollectable} of 24 bytes */
#define GC_STATS_RINGS	2 /* a pointer to rings of items (3.15) */

/* What BPF must know of one runtime file; offsets in bytes. Sources: cpython_layout.c. */
struct gc_layout {
	/*
	 * Virtual addresses of the probes: give the load bias. Of a watchpoint: the address itself.
	 */
	__u64 site_address[GC_MAX_SITES];
	__u64 runtime_address; /* of _PyRuntime in the file */
	__u32 tstate_source, reason_source, stats_kind;
	__u32 interp_gc, interp_gil, interp_next, runtime_gc; /* runtime_gc: 3.8 only, else 0 */
	__u32 runtime_head, runtime_finalizing, runtime_current;
	__u32 code_adaptive; /* 0: lasti is stored as such */
	__u32 code_tlbc,
		interp_threads; /* a code object's copies for threads; an interpreter's first thread state */
	__u16 gc_counts; /* generations[0].threshold; count follows */
	__u16 gc_enabled, gc_stats, gc_collecting;
	__u16 gc_long_lived; /* long_lived_total; long_lived_pending follows. GC_NO_FIELD: not counted */
	__u16 tstate_interp, tstate_frame, tstate_cframe, cframe_frame, tstate_thread;
	__u16 gil_holder;
	__u16 frame_code, frame_previous, frame_lasti, frame_owner;
	__u16 frame_bytes; /* where the last of these ends */
	__u16 lasti_scale; /* legacy lasti in units of this many bytes */
	__u16 code_first_line, code_file, code_name, code_table;
	__u16 text_ascii, text_compact; /* where characters begin */
	__u16 text_shift;		/* of the state word, to `kind`: what holds `interned` */
	__u16 free_threaded;
	__u16 head_extra; /* by how much an object's head is longer than in other builds */
	__u16 gil_enabled, frame_tlbc; /* of free-threaded builds; GC_NO_FIELD: there is none */
	__u16 tstate_next;
	__u16 stats_ring_count[3], stats_ring_index[3], stats_ring_base[3];
	__u16 stats_item, stats_item_collections; /* size; collected and uncollectable follow */
	__u16 idle_source;			  /* GC_IDLE_… */
	__u16 deferred;				  /* GC_DEFERRED_… */
	/*
	 * 3.8 - 3.12: who called the collector, by the return address @caller_at bytes above the stack pointer;
	 * GC_NO_FIELD: in the link register.
	 */
	__u16 caller_at, manual_count;
	__u16 interp_number; /* where an interpreter's state keeps its number, a u64 */
	__u16 pad;
	__u64 manual_return[GC_MAX_CALLERS]; /* addresses in the file: manual_count calls by hand */
	__u64 caller_first, caller_last;     /* where all calls lie, the automatic ones too */
};

_Static_assert(sizeof(struct gc_frame) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_pause) == 208 + 16 * (GC_MAX_FRAMES + 1), "wire ABI");
_Static_assert(sizeof(struct gc_code) == 48 + 2 * (8 + GC_NAME_BYTES), "wire ABI");
_Static_assert(sizeof(struct gc_table) == 40 + GC_TABLE_BYTES, "wire ABI");
