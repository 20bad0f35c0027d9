/*
 * The wire between bpf/ and user/: what BPF programs put into the ring buffer and what the loader
 * puts into their maps. The only header that both sides include. Every field is sized, every gap is named;
 * values are explicit and stable: never renumber.
 */
#pragma once

#include <linux/types.h>

#define GC_MAX_IMAGES  64   /* distinct runtime files probed in one session */
#define GC_MAX_SITES   8    /* begin sites of one image */
#define GC_MAX_TARGETS 8192 /* processes followed at once */
#define GC_MAX_FRAMES  127  /* of one stack; a deeper one is marked truncated */
#define GC_NAME_BYTES  512  /* raw bytes of a function's or file's name that are kept */
#define GC_TABLE_BYTES 1024 /* of a code object's line table, per record */
#define GC_MAX_TABLES  64   /* records per line table */
#define GC_NO_TABLE    0xffffffff
#define GC_OPEN_SLOTS  256  /* pauses in progress that user space can see */
#define GC_SEEN_SLOTS  8192 /* code objects whose names were already sent */
#define GC_MAX_SIGNALS 64   /* probes that may mark steps, in one session */
#define GC_LABEL_BYTES 128  /* of a mark's label that are kept */
#define GC_LABEL_SLOTS 128  /* labels that were already sent */

/* gc_header.type */
#define GC_EVENT_PAUSE	    1
#define GC_EVENT_CODE	    2
#define GC_EVENT_TABLE	    3
#define GC_EVENT_FORK	    4
#define GC_EVENT_EXEC	    5
#define GC_EVENT_EXIT	    6
#define GC_EVENT_MAPS	    7 /* a library was loaded or unloaded: look at the maps again */
#define GC_EVENT_UNFINISHED 8 /* a thread ended inside a pause */
#define GC_EVENT_MARK	    9 /* a call that may mark a step */
#define GC_EVENT_LABEL	    10 /* the text behind the key of marks, sent once before them */

struct gc_header {
	__u32 type;
	__u32 size; /* of the whole record */
	__u32 pid, tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/* gc_pause.cause */
#define GC_CAUSE_UNKNOWN   0
#define GC_CAUSE_AUTOMATIC 1
#define GC_CAUSE_MANUAL	   2
#define GC_CAUSE_SHUTDOWN  3

/* gc_pause.flags */
#define GC_PAUSE_SLEPT	      1 /* the thread slept: a finalizer waited, or memory was paged in */
#define GC_PAUSE_NESTED	      2 /* the collector was called again by the same thread, to no effect */
#define GC_PAUSE_TRUNCATED    4 /* more than GC_MAX_FRAMES frames */
#define GC_PAUSE_NO_BOOKS     8 /* the runtime's counters could not be read: generation is its argument's word */
#define GC_PAUSE_BROKEN_STACK 16 /* a frame could not be read; the stack ends there */
#define GC_PAUSE_HEAP	      32 /* heap_objects and heap_pending are known */
#define GC_PAUSE_RSS	      64 /* rss_start and rss_end are known */
#define GC_PAUSE_WAITED	      128 /* waited_ns is known: the parent is a target */

struct gc_frame {
	__u64 code; /* id of a gc_code record */
	__s32 lasti; /* byte offset of the instruction in the code object */
	__u32 pad;
};

struct gc_pause {
	struct gc_header header; /* time_ns: the end */
	__u64 start_ns;
	__u64 interpreter; /* address in the target: tells interpreters apart */
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
	__u32 frame_count, pad;
	struct gc_frame frames[GC_MAX_FRAMES + 1];
};

/* The record ends after the last frame. */
#define GC_PAUSE_SIZE(frame_count) \
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

/* FORK: header.pid/tid is the parent, child the new process. EXEC, EXIT, MAPS, UNFINISHED: child 0. */
struct gc_process {
	struct gc_header header;
	__u32 child, pad;
	__u64 start_ns; /* UNFINISHED: when the pause began */
};

/* A call that may mark a step. */
struct gc_mark {
	struct gc_header header; /* time_ns: of the call's entry */
	__u32 signal; /* index into signals */
	__u32 flags;  /* GC_MARK_… */
	__u64 key;    /* tells apart the series of one signal: a hash of its label, or 0 */
	__u64 number; /* what GC_KEY_NUMBER read, else 0 */
	__u64 rss_bytes;
};

#define GC_MARK_RSS 1 /* rss_bytes is known */

/* The text whose hash is a key. */
struct gc_label {
	struct gc_header header;
	__u32 signal, length; /* of the text; at most GC_LABEL_BYTES of it are here */
	__u64 key;
	__u8 bytes[GC_LABEL_BYTES];
};

/* Where a mark's key and number come from. */
#define GC_KEY_NONE   0 /* which of the signal's functions was called */
#define GC_KEY_TEXT   1 /* a std::string {char *, size_t} at argument + offset: the label */
#define GC_KEY_NUMBER 2 /* the argument itself: number; no label */
#define GC_KEY_DIMS   3 /* three 32-bit arguments from this one on: number, see GC_DIMS(); no label */
#define GC_KEY_HINT   4 /* as TEXT, of a function further out: none once the inner one was called */

/* Three dimensions below 2^21 as one number; larger ones are hashed, and GC_DIMS_HASHED is set. */
#define GC_DIMS(m, n, k) ((__u64)(m) << 42 | (__u64)(n) << 21 | (__u64)(k))
#define GC_DIMS_MOST	 0x1fffff
#define GC_DIMS_HASHED	 (1ull << 63)

/* The attach cookie of a step signal; variant: which of its functions, 0 if they are all the same. */
#define GC_STEP_COOKIE(signal, variant, key, argument, offset)                                     \
	((__u64)(offset) << 32 | (__u64)(argument) << 24 | (__u64)(key) << 16 |                    \
		(__u64)(variant) << 8 | (__u64)(signal))
#define GC_STEP_SIGNAL(cookie)	 ((__u32)(cookie) & (GC_MAX_SIGNALS - 1))
#define GC_STEP_VARIANT(cookie)	 ((__u32)(cookie) >> 8 & 0xff)
#define GC_STEP_KEY(cookie)	 ((__u32)(cookie) >> 16 & 0xff)
#define GC_STEP_ARGUMENT(cookie) ((__u32)(cookie) >> 24 & 0xff)
#define GC_STEP_OFFSET(cookie)	 ((__u32)((cookie) >> 32))

/* A probe that may mark steps. */
struct gc_signal {
	__u64 hits;   /* in targets, marks or not */
	__u64 due_ns; /* the leaky bucket: how far the hits so far would reach at the highest rate */
	__u64 hint;   /* the key of the last mark by GC_KEY_HINT */
	__u32 muted;  /* set by BPF when the bucket has run over, cleared by user space */
	__u32 kept;   /* never muted, however hot: the user asked for it */
	__u32 marked; /* it has sent a mark */
	__u32 direct; /* by GC_KEY_TEXT: GC_KEY_HINT would tell of the same calls */
};

/* What BPF and user space share about signals: one page, so that a hit touches no other. */
struct gc_signals {
	struct gc_signal signals[GC_MAX_SIGNALS];
	__u64 labels[GC_LABEL_SLOTS]; /* keys of labels already sent; losing one costs a resend */
};

#define GC_SIGNAL_RATE_NS 200000ull /* 5,000 hits a second are borne for ever, … */
#define GC_SIGNAL_BURST	  20000	    /* … and so many at once */

/* A pause in progress, seen through the mapped page; start_ns 0: none. */
struct gc_open {
	__u32 pid, tid;
	__u64 start_ns;
};

/* The attach cookie: which image, which of its sites, and what a hit there means. */
#define GC_SITE_FUNCTION 0 /* begin at the entry, end at the return */
#define GC_SITE_BEGIN	 1
#define GC_SITE_END	 2
#define GC_COOKIE(image, site, kind) ((__u64)(kind) << 40 | (__u64)(site) << 32 | (image))
#define GC_COOKIE_IMAGE(cookie)	     ((__u32)(cookie))
#define GC_COOKIE_SITE(cookie)	     ((__u32)((cookie) >> 32) & (GC_MAX_SITES - 1))
#define GC_COOKIE_KIND(cookie)	     ((__u32)((cookie) >> 40) & 3)

/* A process that is traced. */
struct gc_target {
	__u32 space;  /* names its code addresses: inherited at fork, new after exec */
	__u32 looked; /* times that `gctrace run` has halted it to look at its maps */
	__u64 interpreter; /* the first one that was seen to collect */
};

#define GC_LOOKS 4 /* of a program without a runtime, before it is left alone */

/* Where a layout's tstate comes from. */
#define GC_TSTATE_ARG1	  1 /* first argument of the probed function */
#define GC_TSTATE_CURRENT 2 /* _PyRuntime.gilstate.tstate_current (3.8 - 3.11) */
#define GC_TSTATE_INTERP_GIL 3 /* interp->ceval.gil->last_holder, interpreter by interpreter (3.12+) */

/* Where the reason of a collection comes from, where count and threshold do not tell. */
#define GC_REASON_NOFAIL 1 /* fifth argument non-zero: shutdown (3.9 - 3.12) */
#define GC_REASON_ARG3	 2 /* third argument: 0 automatic, 1 shutdown, 2 manual (3.13+) */
#define GC_REASON_COUNTS 3 /* no argument tells: the counters do */

/* How generation_stats is laid out. */
#define GC_STATS_INLINE 1 /* three {collections, collected, uncollectable} of 24 bytes */
#define GC_STATS_RINGS	2 /* a pointer to rings of items (3.15) */

#define GC_NO_FIELD 0xffff

/* What BPF must know of one runtime file; offsets in bytes. Sources: probe/cpython_layout.c. */
struct gc_layout {
	__u64 site_address[GC_MAX_SITES]; /* virtual addresses of the probes: give the load bias */
	__u64 runtime_address; /* of _PyRuntime in the file */
	__u32 tstate_source, reason_source, stats_kind;
	__u32 interp_gc, interp_gil, interp_next, runtime_gc; /* runtime_gc: 3.8 only, else 0 */
	__u32 runtime_head, runtime_finalizing, runtime_current;
	__u32 code_adaptive; /* 0: lasti is stored as such */
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
	__u16 text_free_threaded;	/* the state word holds `interned` in a byte of its own */
	__u16 stats_ring_count[3], stats_ring_index[3], stats_ring_base[3];
	__u16 stats_item, stats_item_collections; /* size; collected and uncollectable follow */
	__u16 pad[2];
};

/* Reasons for events lost, as indexes into `drops`. */
#define GC_DROP_RING	      0 /* the ring buffer was full */
#define GC_DROP_THREAD	      1 /* no memory for a thread's state */
#define GC_DROP_UNMATCHED_END 2 /* an end without a begin */
#define GC_DROP_TARGETS	      3 /* more than GC_MAX_TARGETS processes: a child is not followed */
#define GC_DROP_COUNT	      4


_Static_assert(sizeof(struct gc_header) == 24, "wire ABI");
_Static_assert(sizeof(struct gc_frame) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_pause) == 144 + 16 * (GC_MAX_FRAMES + 1), "wire ABI");
_Static_assert(sizeof(struct gc_code) == 48 + 2 * (8 + GC_NAME_BYTES), "wire ABI");
_Static_assert(sizeof(struct gc_table) == 40 + GC_TABLE_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_process) == 40, "wire ABI");
_Static_assert(sizeof(struct gc_open) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_mark) == 56, "wire ABI");
_Static_assert(sizeof(struct gc_label) == 40 + GC_LABEL_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_signal) == 40, "wire ABI");
_Static_assert(sizeof(struct gc_signals) <= 4096, "one page");
