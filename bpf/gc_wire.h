/*
 * The wire between bpf/ and user/: what BPF programs put into the ring buffer and what the loader
 * puts into their maps. The header that both sides include; what only one runtime has is in its own
 * (bpf/NAME/NAME_wire.h). Every field is sized, every gap is named; values are explicit and stable: never
 * renumber.
 */
#pragma once

#include <linux/types.h>

#include "gpu_wire.h"

#define GC_MAX_IMAGES  64   /* distinct runtime files probed in one session */
#define GC_MAX_SITES   32   /* probes of one image; a power of two */
#define GC_MAX_TARGETS 8192 /* processes followed at once */
#define GC_OPEN_SLOTS  256  /* pauses in progress that user space can see */
#define GC_MAX_SIGNALS 64   /* probes that may mark steps, in one session */
#define GC_LABEL_BYTES 128  /* of a mark's label that are kept */
#define GC_LABEL_SLOTS 128  /* labels that were already sent */

/*
 * gc_header.type. Those below are every runtime's. A runtime has a range of its own, which its header and its
 * struct capture_ops (user/trace/trace_runtime.h) name: 1 to 3 and 11 to 63 are taken, a new runtime takes the
 * next 32, from 64 on; those from 4096 on are every runtime's, too.
 */
#define GC_EVENT_FORK	    4
#define GC_EVENT_EXEC	    5
#define GC_EVENT_EXIT	    6
#define GC_EVENT_MAPS	    7	 /* a library was loaded or unloaded: look at the maps again */
#define GC_EVENT_UNFINISHED 8	 /* a thread ended, and the end of its last pause was lost */
#define GC_EVENT_MARK	    9	 /* a call that may mark a step */
#define GC_EVENT_LABEL	    10	 /* the text behind the key of marks, sent once before them */
#define GC_EVENT_GPU	    4096 /* what the CUPTI shim of a process hands over */
#define GC_EVENT_DRIVER	    4097 /* a call of CUDA's driver has returned */

struct gc_header {
	__u32 type;
	__u32 size; /* of the whole record */
	__u32 pid, tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/* gc_open.cause, and that of records */
#define GC_CAUSE_UNKNOWN   0
#define GC_CAUSE_AUTOMATIC 1
#define GC_CAUSE_MANUAL	   2
#define GC_CAUSE_SHUTDOWN  3

/* FORK: header.pid/tid is the parent, child the new process. EXEC, EXIT, MAPS, UNFINISHED: child 0. */
struct gc_process {
	struct gc_header header;
	__u32 child, pad;
	__u64 start_ns; /* UNFINISHED: when the pause began */
	char comm[16];	/* EXEC: what the program is called */
};

/* A call that may mark a step. */
struct gc_mark {
	struct gc_header header; /* time_ns: of the call's entry */
	__u32 signal;		 /* index into signals */
	__u32 flags;		 /* GC_MARK_… */
	__u64 key;    /* distinguishes the series of one signal: a hash of its label, or 0 */
	__u64 number; /* what GC_KEY_NUMBER read, else 0 */
	__u64 rss_bytes;
	__u64 work_ns; /* the thread's CPU time outside calls that wait, from an origin of its own */
	__u32 skipped,
		pad; /* calls just before it, of this thread, signal and key, that were not sent */
};

#define GC_MARK_RSS  1 /* rss_bytes is known */
#define GC_MARK_WORK 2 /* work_ns is known */

/* The text whose hash is a key. */
struct gc_label {
	struct gc_header header;
	__u32 signal, length; /* of the text; at most GC_LABEL_BYTES of it are here */
	__u64 key;
	__u8 bytes[GC_LABEL_BYTES];
};

/*
 * Records of the CUPTI shim. Of those that one thread handed over since its last ones that are here, lost could not be
 * sent, or not be read; they are of the time from lost_start_ns to lost_end_ns, unless GC_GPU_BLIND is set. (A start
 * behind the end: they say nothing of any time.)
 */
struct gc_gpu {
	struct gc_header header;
	__u32 count,
		flags; /* of records; GC_GPU_BLIND: it is not known of what time the lost ones are */
	__u64 lost, lost_start_ns, lost_end_ns;
	struct gc_gpu_record records[];
};

#define GC_GPU_BLIND 1

/* What of a thread's was lost since its last record. */
struct gc_gpu_loss {
	__u64 records, start_ns, end_ns, blind;
};

#define GC_GPU_THREADS 1024 /* that hand over records, and lost some, at once */

/* The attach cookie of the shim's probe: where in struct pt_regs its two arguments are. */
#define GC_GPU_COOKIE(records, count) ((__u64)(count) << 8 | (records))
#define GC_GPU_FROM(cookie)	      ((__u32)(cookie) & 0xf8)
#define GC_GPU_COUNT(cookie)	      ((__u32)(cookie) >> 8 & 0xf8)

/* A call of CUDA's driver that waits, or allocates or frees a device's memory. */
struct gc_driver_call {
	struct gc_header header; /* time_ns: of its return */
	__u64 start_ns;
	__u64 launches; /* by its thread so far */
	__u64 address,
		bytes; /* what it allocated, or is to free; bytes 0: not among its arguments */
	__u32 cookie;
	__s32 result; /* CUDA's: 0 is success */
};

/* The attach cookie: which function, and which arguments say how much (0: none) of what (allocated: where that is written). */
#define GC_DRIVER_COOKIE(function, kind, address, bytes)                                           \
	((__u64)(bytes) << 24 | (__u64)(address) << 16 | (__u64)(kind) << 8 | (__u64)(function))
#define GC_DRIVER_FUNCTION(cookie) ((__u32)(cookie) & 0xff)
#define GC_DRIVER_KIND(cookie)	   ((__u32)(cookie) >> 8 & 0xff)
#define GC_DRIVER_ADDRESS(cookie)  ((__u32)(cookie) >> 16 & 0xff)
#define GC_DRIVER_BYTES(cookie)	   ((__u32)(cookie) >> 24 & 0xff)

#define GC_DRIVER_WAIT	   1
#define GC_DRIVER_ALLOCATE 2
#define GC_DRIVER_FREE	   3

/* A thread that calls CUDA's driver. */
struct gc_driver_thread {
	__u64 launches, calls; /* so far; calls: those that are sent */
	__u64 sp; /* where its stack was at the entry of the last of these; 0: none is under way */
	__u64 start_ns, address, bytes;
};

#define GC_DRIVER_THREADS 4096

/* Where a mark's key and number come from. */
#define GC_KEY_NONE    0 /* which of the signal's functions was called */
#define GC_KEY_TEXT    1 /* a std::string {char *, size_t} at argument + offset: the label */
#define GC_KEY_NUMBER  2 /* the argument itself: number; no label */
#define GC_KEY_DIMS    3 /* three 32-bit arguments from this one on: number, see GC_DIMS(); no label */
#define GC_KEY_DIMS_AT 5 /* as DIMS, of arguments that are addresses of the numbers: Fortran's */
#define GC_KEY_HINT    4 /* as TEXT, of a function further out: none once the inner one was called */
#define GC_KEY_CLASS                                                                               \
	6 /* the class of the first object that a vector of pointers, the argument, holds: number; no label */
#define GC_KEY_OBJECT                                                                              \
	7 /* what the pointer at the argument points to: number; only of the first call after one by TEXT or HINT */
#define GC_KEY_SIZE                                                                                \
	8 /* half of the number at the argument, the size of an absl::InlinedVector: number; no label */

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

/* The attach cookie of a function of a server: its signal, where the first byte is, the signal of what is not understood. */
#define GC_REQUEST_COOKIE(signal, kind, other)                                                     \
	((__u64)(other) << 16 | (__u64)(kind) << 8 | (__u64)(signal))
#define GC_REQUEST_SIGNAL(cookie) ((__u32)(cookie) & (GC_MAX_SIGNALS - 1))
#define GC_REQUEST_KIND(cookie)	  ((__u32)(cookie) >> 8 & 0xff)
#define GC_REQUEST_OTHER(cookie)  ((__u32)(cookie) >> 16 & (GC_MAX_SIGNALS - 1))

#define GC_REQUEST_BUFFER  0 /* its second argument is a buffer, */
#define GC_REQUEST_VECTOR  1 /* a struct iovec, */
#define GC_REQUEST_MESSAGE 2 /* a struct msghdr, and the third are flags, */
#define GC_REQUEST_SOCKET  3 /* or a buffer, and the fourth are flags */

/* Why the requests of a connection cannot be read; stored, as a series' number. */
#define GC_UNTOLD_ENCRYPTED 1
#define GC_UNTOLD_HTTP2	    2

/* A probe that may mark steps. */
struct gc_signal {
	__u64 hits;    /* in targets, marks or not */
	__u64 due_ns;  /* the leaky bucket: how far the hits so far reach, at rate_ns each */
	__u64 hint;    /* the key of the last mark by GC_KEY_HINT */
	__u32 rate_ns; /* what a hit takes from the bucket; set by user space */
	__u8 muted;    /* set by BPF when the bucket has run over, cleared by user space */
	__u8 kept;     /* never muted, however hot: the user asked for it */
	__u8 marked;   /* it has sent a mark */
	__u8 direct;   /* by GC_KEY_TEXT: GC_KEY_HINT would report the same calls */
	__u8 thinned;  /* of many calls in a row some are sent, with the count of all */
	__u8 pad[7];
};

/* The probes on calls that wait, all together. */
struct gc_waits {
	__u64 calls;  /* in targets */
	__u64 due_ns; /* the leaky bucket, as a signal's */
	__u64 epoch; /* from 1; counted up by user space when calls are seen that were not before */
	__u32 rate_ns; /* what a call takes from the bucket; set by user space */
	__u8 muted;    /* set by BPF when the bucket has run over, cleared by user space */
	__u8 blind;    /* set by user space: not all calls that wait are seen */
	__u8 pad[2];
};

/* What BPF and user space share about signals: one page, so that a hit touches no other. */
struct gc_signals {
	struct gc_signal signals[GC_MAX_SIGNALS];
	__u64 labels[GC_LABEL_SLOTS]; /* keys of labels already sent; losing one costs a resend */
	__u64 any_thinned; /* a thinned signal was hit: other marks check whether they end a row */
	struct gc_waits waits;
};

/* An instruction of a process whose execution marks steps, and what is known of it. */
struct gc_watched_place {
	__u32 pid, pad;
	__u64 address;
};

struct gc_watched_step {
	__u64 cookie;  /* GC_STEP_COOKIE */
	__u64 last_ns; /* when it was executed last; 0: never yet */
};

#define GC_WATCHED_STEPS 256 /* of all processes */

#define GC_SIGNAL_BURST 20000 /* hits that are tolerated at once */
#define GC_ROW_SHARE	16 /* of the calls in a row, at most one in so many waits for a later mark */

#define GC_OPEN_LOST 1 /* gc_open.sp: its end was seen, and did not find the thread's state */

/* A pause in progress, seen through the mapped page; start_ns 0: none. */
struct gc_open {
	__u32 pid, tid;
	__u64 start_ns;
	__u32 image; /* index of the image */
	__s16 kind;  /* what it collects, as its runtime numbers it; -1: not known */
	__u16 cause; /* GC_CAUSE_… */
	__u64 sp;    /* where the thread's stack is at its end; 0: there is no other end */
};

/* The attach cookie: which image, which of its sites, and from bit 40 on what the runtime chose. */
#define GC_COOKIE(image, site)	((__u64)(site) << 32 | (image))
#define GC_COOKIE_OF(kind)	((__u64)(kind) << 40)
#define GC_COOKIE_IMAGE(cookie) ((__u32)(cookie))
#define GC_COOKIE_SITE(cookie)	((__u32)((cookie) >> 32) & (GC_MAX_SITES - 1))
#define GC_COOKIE_KIND(cookie)	((__u32)((cookie) >> 40) & 0xff)

/* A process that is traced. */
struct gc_target {
	__u32 space;   /* names its code addresses: inherited at fork, new after exec */
	__u32 watched; /* index + 1 of the image whose memory is watched; 0: none */
	__u64 owner;   /* whose books were the first seen to be kept; see struct probe_books */
	__u64 exec;    /* the kernel's count of its execs at the last one seen; 0: none was */
};

/* Key of the map calls_in_vain: calls of a collector that should have moved a counter of its books, and did not. */
struct gc_vain {
	__u32 pid, image;
};

#define GC_NO_FIELD 0xffff /* among the offsets that programs are given: no such field */

/* Reasons for events lost, as indexes into `drops`. */
#define GC_DROP_RING	      0 /* the ring buffer was full */
#define GC_DROP_THREAD	      1 /* no memory for a thread's state */
#define GC_DROP_UNMATCHED_END 2 /* an end without a begin */
#define GC_DROP_TARGETS	      3 /* more than GC_MAX_TARGETS processes: a child is not followed */
#define GC_DROP_COUNT	      4

/* What BPF and user space share through a mapped page. */
struct gc_shared {
	__u64 drops[GC_DROP_COUNT];
	struct gc_open open[GC_OPEN_SLOTS];
};

_Static_assert(sizeof(struct gc_header) == 24, "wire ABI");
_Static_assert(sizeof(struct gc_process) == 56, "wire ABI");
_Static_assert(sizeof(struct gc_open) == 32, "wire ABI");
_Static_assert(sizeof(struct gc_mark) == 72, "wire ABI");
_Static_assert(sizeof(struct gc_label) == 40 + GC_LABEL_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_gpu) == 56, "wire ABI");
_Static_assert(sizeof(struct gc_gpu_loss) == 32, "wire ABI");
_Static_assert(sizeof(struct gc_driver_call) == 64, "wire ABI");
_Static_assert(sizeof(struct gc_driver_thread) == 48, "wire ABI");
_Static_assert(sizeof(struct gc_signal) == 40, "wire ABI");
_Static_assert(sizeof(struct gc_watched_place) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_watched_step) == 16, "wire ABI");
_Static_assert(sizeof(struct gc_waits) == 32, "wire ABI");
_Static_assert(sizeof(struct gc_signals) <= 4096, "one page");
_Static_assert(sizeof(struct gc_shared) == 32 + 32 * GC_OPEN_SLOTS, "wire ABI");
