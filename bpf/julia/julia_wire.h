/* The wire between Julia's programs and user/runtime/julia/capture/: see bpf/gc_wire.h. */
#pragma once

#include "gc_wire.h"

#define GC_JULIA_STACK_PAGES 4 /* of a stack that are copied, behind the one that it is in */
#define GC_JULIA_NUM	     200 /* bytes of gc_num that hold all that is asked of it, in every version */
#define GC_JULIA_DEPTH	     8 /* collections within each other's finalizers that are followed */

/* gc_header.type */
#define GC_EVENT_JULIA_PAUSE 32
#define GC_EVENT_JULIA_STACK 33
#define GC_EVENT_JULIA_LATE  34 /* a gc_julia_stack of a thread as it came to the safepoint */
#define GC_EVENT_JULIA_LAST  63

/* Fields of gc_num, of 8 bytes each. What a version lacks has offset 0, and means nothing. */
#define GC_JULIA_TOTAL_TIME   0
#define GC_JULIA_TOTAL_ALLOCD 1
#define GC_JULIA_COUNTS	      2 /* pause; full_sweep in the upper half */
#define GC_JULIA_TTSP	      3
#define GC_JULIA_TOTAL_SWEEP  4
#define GC_JULIA_TOTAL_MARK   5
#define GC_JULIA_FIELDS	      6

/* gc_julia_pause.flags */
#define GC_JULIA_BOOKS 1 /* before[] and after[] were read */
#define GC_JULIA_LIVE  2 /* live_before and live_after were read */
#define GC_JULIA_BEGUN                                                                             \
	4 /* it had begun when the probes came: start_ns is 0, before[] is not known */
#define GC_JULIA_COLLECTED  8  /* its collection was over */
#define GC_JULIA_UNFINISHED 16 /* it did not return: exit or exec */
#define GC_JULIA_MARK	    32 /* mark_ns is known */
#define GC_JULIA_NESTED	    64 /* it began within the finalizers of another, whose pause it ended */
#define GC_JULIA_KEPT	    128 /* before[] is after[] of the last collection that was seen */

/*
 * One collection, and what its thread did for it: start_ns … collected_ns, and from then on to the end but waited_ns. One that begins in a finalizer of another ends that one's
 * pause; what is left of those finalizers belongs to the last of them. So pauses of a thread never overlap.
 */
struct gc_julia_pause {
	struct gc_header header; /* time_ns: the end */
	__u64 start_ns;		 /* the call of the collector */
	__u64 stopped_ns;	 /* all threads stood still, callbacks were done */
	__u64 collected_ns;	 /* it had collected: threads may run again, finalizers come */
	__u64 mark_ns;	 /* from where it began until nothing was left to mark; all its runs */
	__u64 waited_ns; /* of the time after that: for collections of other threads to be over */
	__u64 post_ns;	 /* the rest of it, of finalizers and callbacks */
	__u64 late_ns;	 /* when the last thread came to the safepoint; 0: none had to */
	__u64 live_before, live_after; /* live_bytes, around the collection */
	__u64 before[GC_JULIA_FIELDS], after[GC_JULIA_FIELDS]; /* of gc_num, at the same moments */
	__u32 image, asked, flags;
	__u32 late_tid;
};

/* Where the thread of the next gc_julia_pause was: registers, and what is on its stack. Only so many pages are sent. */
struct gc_julia_stack {
	struct gc_header header;    /* time_ns: when it was there */
	__u64 ip, sp, bp, bx, r[4]; /* r12 … r15 */
	__u32 size, pad;	    /* how many of the bytes, from sp on */
	__u8 bytes[4096 * (1 + GC_JULIA_STACK_PAGES)];
};

/* The argument of the collector: enum jl_gc_collection_t. */
#define GC_JULIA_AUTO	     0
#define GC_JULIA_FULL	     1
#define GC_JULIA_INCREMENTAL 2
#define GC_JULIA_UNKNOWN     3

/* One file's: addresses in it; 0: not known. */
struct gc_julia_layout {
	__u64 site_address[GC_MAX_SITES];
	__u64 gc_num, live_bytes, disabled; /* jl_gc_disable_counter: how often */
	__u8 fields[GC_JULIA_FIELDS + 2];   /* their offsets in gc_num, multiples of 8 */
};

/* One process's calls of the collector. */
struct gc_julia_calls {
	__u64 entered, collected;
	__u64 disabled;	    /* those that came as it was disabled, not among the entered */
	__u64 restarted_ns; /* when the last collection let the threads run again */
	__u64 called_ns;    /* the first call since then */
	__u64 late_ns;	    /* when a thread last came to a safepoint, */
	__u32 late_tid;	    /* and which */
	__u32 kept;	    /* of what image books[] are, + 1; 0: they are not known */
	__u64 books[GC_JULIA_FIELDS]; /* of gc_num, since the last collection that was seen */
};

/*
 * Of a site where a collection may be over: when it is. An x86 condition that holds, or does not, for the jump
 * that is probed.
 */
#define GC_JULIA_ALWAYS		   0
#define GC_JULIA_IF(condition)	   (0x10 | (condition))
#define GC_JULIA_UNLESS(condition) (0x20 | (condition))

_Static_assert(sizeof(struct gc_julia_pause) == 24 + 72 + 16 * GC_JULIA_FIELDS + 16, "wire ABI");
_Static_assert(sizeof(struct gc_julia_stack) == 24 + 72 + 4096 * (1 + GC_JULIA_STACK_PAGES),
	"wire ABI");
_Static_assert(sizeof(struct gc_julia_layout) == 8 * GC_MAX_SITES + 32, "wire ABI");
_Static_assert(sizeof(struct gc_julia_calls) == 56 + 8 * GC_JULIA_FIELDS, "wire ABI");
