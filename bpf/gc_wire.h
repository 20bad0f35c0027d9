/*
 * The wire between bpf/ and user/: what BPF programs put into the ring buffer and what the loader
 * puts into their maps. The only header that both sides include. Every field is sized, every gap is named;
 * values are explicit and stable: never renumber.
 */
#pragma once

#include <linux/types.h>

#define GC_MAX_IMAGES  64   /* distinct runtime files probed in one session */
#define GC_MAX_SITES   32   /* probes of one image; a power of two */
#define GC_MAX_CALLERS 4    /* calls of the collector by hand in one image */
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
#define GC_JAVA_FRAMES 96   /* physical frames of one Java stack */
#define GC_PERF_BYTES  512  /* of a JVM's hsperf counters, copied at the end of each safepoint */
#define GC_PERF_WINDOWS 8
#define GC_STATICS_BYTES 64 /* of SafepointTracing's variables, likewise */
#define GC_COLLECTORS  4    /* sun.gc.collector.N */
#define GC_CODE_HEAPS  4
#define GC_VM_NAME_BYTES 64 /* of an operation's or phase's name that are kept */
#define GC_BLOCK_BYTES 512 /* of a block of the code heap that are looked at; a power of two */

/* gc_header.type */
#define GC_EVENT_PAUSE	    1
#define GC_EVENT_CODE	    2
#define GC_EVENT_TABLE	    3
#define GC_EVENT_FORK	    4
#define GC_EVENT_EXEC	    5
#define GC_EVENT_EXIT	    6
#define GC_EVENT_MAPS	    7 /* a library was loaded or unloaded: look at the maps again */
#define GC_EVENT_UNFINISHED 8 /* a thread ended, and the end of its last pause was lost */
#define GC_EVENT_MARK	    9 /* a call that may mark a step */
#define GC_EVENT_LABEL	    10 /* the text behind the key of marks, sent once before them */
#define GC_EVENT_SAFEPOINT  11 /* HotSpot let its threads run again */
#define GC_EVENT_LATE	    12 /* the thread that a safepoint had to wait for; its SAFEPOINT follows */
#define GC_EVENT_STALL	    13 /* a thread has waited for the collector */
#define GC_EVENT_PHASE	    14 /* a concurrent phase began or ended */
#define GC_EVENT_KILLED	    15 /* a JVM was killed, or called exec, inside a safepoint; tid: the VM Thread */

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
#define GC_PAUSE_UNFINISHED   256 /* the thread left the collector by exit or exec; header.time_ns: when */

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
	__u32 frame_count;
	__s32 number; /* of the interpreter; -1: not read, since no process has shown one beside the main one */
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

/* FORK: header.pid/tid is the parent, child the new process. EXEC, EXIT, MAPS, UNFINISHED, KILLED: child 0. */
struct gc_process {
	struct gc_header header;
	__u32 child, pad;
	__u64 start_ns; /* UNFINISHED, KILLED: when the pause began */
	char comm[16]; /* EXEC: what the program is called */
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

/*
 * HotSpot. Its VM Thread stops the world and lets it go again; a safepoint is sent at its end, by the
 * VM Thread. What the words mean is for user space to say: BPF copies.
 */

/* gc_java_frame.kind */
#define GC_JAVA_INTERPRETED 1
#define GC_JAVA_COMPILED    2 /* or a native method's wrapper */

/* A physical frame: a compiled one may stand for several inlined methods. */
struct gc_java_frame {
	__u64 code;	  /* COMPILED: address of the nmethod; INTERPRETED: of the Method */
	__u64 check;	  /* COMPILED: its Method; INTERPRETED: its ConstMethod: still so, when it is read later? */
	__u32 compile_id; /* COMPILED: of this nmethod and no other; else 0 */
	__s32 at;	  /* COMPILED: pc − code; INTERPRETED: bytecode index */
	__u32 kind, pad;
};

/* stack_flags of the records below */
#define GC_STACK_TRUNCATED 1 /* more than GC_JAVA_FRAMES frames */
#define GC_STACK_BROKEN	   2 /* a frame could not be read or is of no known kind; the stack ends there */
#define GC_STACK_VIRTUAL   4 /* ends where a virtual thread was mounted */
#define GC_STACK_STALE	   8 /* the walk did not find a Java thread where one was expected: no frames */

/* gc_safepoint.flags */
#define GC_SAFEPOINT_STATICS 1 /* statics were read */
#define GC_SAFEPOINT_PERF    2 /* perf was read, perf_bytes of it */
#define GC_SAFEPOINT_ARGUMENTS 4 /* the probes' arguments are HotSpot's nanoseconds (JDK 17+) */

struct gc_safepoint {
	struct gc_header header;    /* time_ns: of the end probe; tid: the VM Thread */
	__u64 begin_ns, sync_ns;    /* of the probes; 0: not probed, or not seen */
	__u64 begin_argument;	    /* ns since the last safepoint's end */
	__u64 sync_argument;	    /* ns that it took to reach the safepoint */
	__u64 end_argument;	    /* ns from there to the end; what counts as the end depends on the version */
	__u64 op_vtable;	    /* of the VM operation, address in the target; 0: not known */
	__u64 thread, thread_vtable; /* its requester's Thread; 0: not known, the vtable of short ones never */
	__u64 heap_before, heap_after; /* bytes, by the first and the last summary; with summaries ≥ 2 */
	__u32 requester_tid;	    /* as the JVM's pid namespace counts; 0: not known */
	__u32 requester_host_tid;   /* as the kernel counts; 0: not known */
	__u32 late_tid;		    /* likewise: who came last, and later than late_ns; 0: nobody, or not known */
	__u32 summaries;	    /* heap summaries reported within */
	__u32 flags, stack_flags;
	__u32 frame_count, statics_bytes, perf_bytes, name_bytes;
	__u8 name[GC_VM_NAME_BYTES]; /* of the operation where a USDT probe gave it; not terminated */
	__u8 statics[GC_STATICS_BYTES];
	__u8 perf[GC_PERF_BYTES];
	struct gc_java_frame frames[GC_JAVA_FRAMES]; /* of the requester, innermost first */
};

/* Without frames the record ends after perf_bytes of perf. */
#define GC_SAFEPOINT_SIZE(frame_count) \
	(offsetof(struct gc_safepoint, frames) + (frame_count) * sizeof(struct gc_java_frame))
#define GC_SAFEPOINT_SHORT_SIZE(perf_bytes) (offsetof(struct gc_safepoint, perf) + (perf_bytes))

struct gc_late {
	struct gc_header header; /* time_ns: when the world stood still; tid: the VM Thread */
	__u64 begin_ns;		 /* gc_safepoint.begin_ns of the record that follows */
	__u64 arrived_ns;	 /* when the late thread came */
	__u32 late_tid, stack_flags;
	__u32 frame_count, pad;
	struct gc_java_frame frames[GC_JAVA_FRAMES]; /* of the late thread */
};

#define GC_LATE_SIZE(frame_count) \
	(offsetof(struct gc_late, frames) + (frame_count) * sizeof(struct gc_java_frame))

/* gc_stall.kind; stored: never renumber */
#define GC_STALL_EXPLICIT   1 /* JVM_GC: System.gc() and its like, from the call to its return */
#define GC_STALL_ALLOCATION 2 /* ZGC: no page to be had */
#define GC_STALL_PACING	    3 /* Shenandoah: allocation is slowed down */
#define GC_STALL_LOCKER	    4 /* a JNI critical section keeps the collector away, or the reverse */

struct gc_stall {
	struct gc_header header; /* time_ns: its end; tid: the thread that waited */
	__u64 start_ns;
	__u64 thread; /* its Thread, address in the target; 0: not known */
	__u64 collections_start[GC_COLLECTORS], collections_end[GC_COLLECTORS]; /* EXPLICIT: invocations */
	__u64 unloaded; /* classes unloaded so far: the sum of gc_jvm.unloaded; all ones: not known */
	__u32 kind, collectors; /* collectors: how many of the above are known */
	__u32 frame_count, stack_flags;
	struct gc_java_frame frames[GC_JAVA_FRAMES];
};

#define GC_STALL_SIZE(frame_count) \
	(offsetof(struct gc_stall, frames) + (frame_count) * sizeof(struct gc_java_frame))

/* A concurrent phase: of one thread, they nest. */
struct gc_phase {
	struct gc_header header;
	__u32 begins; /* else it ends, and has no name */
	__u32 name_bytes;
	__u8 name[GC_VM_NAME_BYTES];
};

/* What BPF must know of one JVM; addresses are those of the process. Filled by user/jvm. */
struct gc_jvm {
	__u32 image; /* index into layouts, for which this process was planned */
	__u32 window_count;
	struct gc_jvm_window {
		__u64 address;
		__u32 bytes, offset; /* copied to gc_safepoint.perf + offset; offset + bytes ≤ GC_PERF_BYTES */
	} windows[GC_PERF_WINDOWS];
	/*
	 * A safepoint shorter than min_stack_ns whose operation cannot collect sends only the first
	 * short_windows of them: the others are a third of its cost. gc_types: the operations that may
	 * collect, a bit for each type, which is at statics + statics_type; all 0: not known, send all.
	 */
	__u64 gc_types[2];
	__u32 short_windows, statics_type;
	__u64 collections[GC_COLLECTORS]; /* of the counters sun.gc.collector.N.invocations; 0: none */
	__u64 unloaded[2]; /* of java.cls.unloadedClasses and .sharedUnloadedClasses; 0: none */
	__u64 statics;	   /* where to copy gc_safepoint.statics from; 0: none */
	__u64 current_op;  /* of the pointer VMThread::_cur_vm_operation; 0: not known */
	__u64 java_vtable; /* what the first word of a JavaThread points to; 0: no stack is walked */
	__u64 late_ns;	   /* a longer time to safepoint names who was late */
	__u64 interpreter_start, interpreter_end;
	__u64 call_stub_return; /* StubRoutines::_call_stub_return_address */
	__u64 return_barrier;	/* StubRoutines::_cont_returnBarrier; 0: none */
	__u64 nmethod_vtable;	/* what the first word of a blob that is one points to; 0: others tell */
	struct gc_code_heap {
		__u64 start, end; /* of its memory, as far as it is reserved */
		__u64 segmap;	  /* of the segment map's memory */
	} heaps[GC_CODE_HEAPS]; /* start 0: none */
	__u32 segment_shift;	/* log2 of a segment's bytes */
	__u32 statics_bytes;
	__u32 thread_tls;	/* of the Thread pointer, from the thread's fsbase */
	__u16 op_thread;	/* VM_Operation::_calling_thread; GC_NO_FIELD: not known */
	__u16 thread_osthread, osthread_tid;
	__u16 anchor_sp, anchor_fp, anchor_pc; /* of the last Java frame, in JavaThread */
	__u16 wrapper_sp, wrapper_fp, wrapper_pc; /* of the one before, in JavaCallWrapper */
	__u16 block_header;	/* sizeof(HeapBlock): the blob follows */
	__u16 blob_frame_size;	/* CodeBlob::_frame_size, int, in words */
	__u16 blob_name;	/* CodeBlob::_name: pointer */
	/* CodeBlob::_kind, one byte (24+); GC_NO_FIELD: nmethod_vtable tells; 0 as well: the name does. */
	__u16 blob_kind;
	__u16 nmethod_kind;	/* the value of it that says nmethod */
	__u16 nmethod_method, nmethod_compile_id;
	__u16 nmethod_deopt, nmethod_deopt_wide; /* of the deopt handler: pointer (wide 8) or offset (4); GC_NO_FIELD */
	__u16 nmethod_orig_pc;	/* of the int that says where in the frame the pc is kept then */
	__u16 method_const;	/* Method::_constMethod */
	__u16 const_bytes;	/* sizeof(ConstMethod): bytecodes follow */
	__u16 nmethod_deopt_mh; /* as nmethod_deopt: the handler of method handle calls (8-25); GC_NO_FIELD */
	/* From the block's header on, what holds all blob and nmethod fields above: ≤ GC_BLOCK_BYTES. */
	__u16 block_bytes;
	__u16 interpreter_bcp; /* how far below its fp an interpreted frame has its bcp: 64; 56 in JDK 8 */
	__u16 arguments;       /* 1: the safepoint probes' arguments are HotSpot's nanoseconds (17+) */
	__u16 thread_poll_pc;  /* JavaThread::_saved_exception_pc: where it was as it saw the poll; 0: not known */
	__u16 safepoint_kind;  /* the value of blob_kind that says SafepointBlob */
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
	__u32 image;	  /* index into layouts */
	__s16 generation; /* as the collector's argument says; -1: not known */
	__u16 cause;	  /* GC_CAUSE_… */
};

/* The attach cookie: which image, which of its sites, and what a hit there means. */
#define GC_SITE_FUNCTION 0 /* begin at the entry, end at the return */
#define GC_SITE_BEGIN	 1
#define GC_SITE_END	 2
#define GC_SITE_PLACE	 3 /* the end, once the counters have moved; passed twice by some calls */
#define GC_SITE_WATCH	 4
#define GC_COOKIE(image, site, kind) ((__u64)(kind) << 40 | (__u64)(site) << 32 | (image))
#define GC_COOKIE_IMAGE(cookie)	     ((__u32)(cookie))
#define GC_COOKIE_SITE(cookie)	     ((__u32)((cookie) >> 32) & (GC_MAX_SITES - 1))
#define GC_COOKIE_KIND(cookie)	     ((__u32)((cookie) >> 40) & 0xff)

/* What on_perf_write's cookie kind says: which counter was written. */
#define GC_PERF_BEGIN 16 /* sun.rt.safepoints */
#define GC_PERF_SYNC  17 /* sun.rt.safepointSyncTime */
#define GC_PERF_END   18 /* sun.rt.safepointTime */

/*
 * The cookie of a vmops USDT probe: in which registers the name, its length and the flag (0: a
 * safepoint operation) are. Registers as in DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 … r15.
 */
#define GC_VM_REGISTERS(name, length, flag) ((__u64)(name) | (__u64)(length) << 4 | (__u64)(flag) << 8)
#define GC_VM_COOKIE(image, site, registers) ((__u64)(registers) << 48 | GC_COOKIE(image, site, 0))
#define GC_VM_NAME(cookie)	((__u32)((cookie) >> 48) & 15)
#define GC_VM_LENGTH(cookie)	((__u32)((cookie) >> 52) & 15)
#define GC_VM_FLAG(cookie)	((__u32)((cookie) >> 56) & 15)

#define GC_MAX_JVMS 256 /* JVMs observed at once */

/* A process that is traced. */
struct gc_target {
	__u32 space;   /* names its code addresses: inherited at fork, new after exec */
	__u32 watched; /* index into layouts + 1 of the image whose memory is watched; 0: none */
	__u64 interpreter; /* the first one that was seen to collect */
};

/* Where a layout's tstate comes from. */
#define GC_TSTATE_ARG1	  1 /* first argument of the probed function */
#define GC_TSTATE_CURRENT 2 /* _PyRuntime.gilstate.tstate_current (3.8 - 3.11) */
#define GC_TSTATE_INTERP_GIL 3 /* interp->ceval.gil->last_holder, interpreter by interpreter (3.12+) */

/* Where the reason of a collection comes from, where count and threshold do not tell. */
#define GC_REASON_NOFAIL 1 /* fifth argument non-zero: shutdown (3.9 - 3.12) */
#define GC_REASON_ARG3	 2 /* third argument: 0 automatic, 1 shutdown, 2 manual (3.13+) */
#define GC_REASON_COUNTS 3 /* no argument tells: the counters do */

/*
 * What tells a begin that is none. CPython 3.13 and later enter the collector before they look
 * whether a collection is under way already, or any generation is due.
 */
#define GC_IDLE_NONE  0 /* nothing needs to */
#define GC_IDLE_STATE 1 /* the collector's state at its entry */
#define GC_IDLE_FLAGS 2 /* of the processor: a cmpxchg of gc.collecting has failed */

/* How generation_stats is laid out. */
#define GC_STATS_INLINE 1 /* three {collections, collected, uncollectable} of 24 bytes */
#define GC_STATS_RINGS	2 /* a pointer to rings of items (3.15) */

#define GC_NO_FIELD 0xffff

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
	__u16 idle_source; /* GC_IDLE_… */
	__u16 deferred; /* 1: automatic collections come later than what makes them due (3.12+) */
	/*
	 * 3.8 - 3.12: who called the collector, by the return address @caller_at bytes above %rsp.
	 */
	__u16 caller_at, manual_count;
	__u16 interp_number; /* where an interpreter's state keeps its number, a u64 */
	__u16 pad;
	__u64 manual_return[GC_MAX_CALLERS]; /* addresses in the file: manual_count calls by hand */
	__u64 caller_first, caller_last; /* where all calls lie, the automatic ones too */
};

/* Reasons for events lost, as indexes into `drops`. */
#define GC_DROP_RING	      0 /* the ring buffer was full */
#define GC_DROP_THREAD	      1 /* no memory for a thread's state */
#define GC_DROP_UNMATCHED_END 2 /* an end without a begin */
#define GC_DROP_TARGETS	      3 /* more than GC_MAX_TARGETS processes: a child is not followed */
#define GC_DROP_UNREADY	      4 /* a safepoint of a JVM that user space does not know yet */
#define GC_DROP_COUNT	      5


_Static_assert(sizeof(struct gc_header) == 24, "wire ABI");
_Static_assert(sizeof(struct gc_frame) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_pause) == 144 + 16 * (GC_MAX_FRAMES + 1), "wire ABI");
_Static_assert(sizeof(struct gc_code) == 48 + 2 * (8 + GC_NAME_BYTES), "wire ABI");
_Static_assert(sizeof(struct gc_table) == 40 + GC_TABLE_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_process) == 56, "wire ABI");
_Static_assert(sizeof(struct gc_open) == 24, "wire ABI");
_Static_assert(sizeof(struct gc_mark) == 56, "wire ABI");
_Static_assert(sizeof(struct gc_label) == 40 + GC_LABEL_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_signal) == 40, "wire ABI");
_Static_assert(sizeof(struct gc_signals) <= 4096, "one page");
_Static_assert(sizeof(struct gc_java_frame) == 32, "wire ABI");
_Static_assert(sizeof(struct gc_safepoint) == 784 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_late) == 56 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_stall) == 128 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_phase) == 32 + GC_VM_NAME_BYTES, "wire ABI");
