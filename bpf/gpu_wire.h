/*
 * What the CUPTI shim (cupti/) hands to BPF, and BPF to user space: arrays of fixed records. The only header that the
 * shim shares with the rest. Values are explicit and stable: never renumber.
 */
#pragma once

#include <linux/types.h>

/*
 * Probe gctrace:gpu(struct gc_gpu_record *, u32 count) of libgctrace_cupti.so, with a semaphore. Both arguments are in
 * registers, as those of a function that is not inlined and passes them on are.
 */
#define GC_GPU_RECORDS 64 /* the most that one hit hands over */

/*
 * Probe gctrace:nvtx(struct gc_nvtx_range *), with a semaphore of its own, its argument in %rdi: a range or a mark of NVTX
 * begins. Laid out as GC_KEY_TEXT reads a label.
 */
#define GC_NVTX_BYTES 120 /* the most of its name, "domain:message" or "message" */

struct gc_nvtx_range {
	__u64 name, length;
};

#define GC_GPU_BUSY	1 /* a device had work; launch_ns … tid: of the first; value: gaps, ns */
#define GC_GPU_WAIT	2 /* tid waited for a device; value: when its work was done, or 0; flags */
#define GC_GPU_LAUNCHER 3 /* tid: count launches so far; value: 99th percentile between, ns */
#define GC_GPU_MEMORY	4 /* at start_ns value bytes (signed) more were allocated than at BEGIN */
#define GC_GPU_LOST	5 /* count records dropped between start_ns and end_ns (0: not known when) */
#define GC_GPU_DEVICE	6 /* device exists and is called name; value: its memory in bytes */
#define GC_GPU_CLOCK	7 /* value: the most by which its times differ from CLOCK_MONOTONIC, ns */
#define GC_GPU_ASIDE	8 /* from start_ns on another user of CUPTI is active: nothing is recorded */
/*
 * All that device did from start_ns to end_ns has been handed over before this record, but for what GC_GPU_LOST says
 * (end_ns 0: nothing yet). It comes again as end_ns grows, ten times a second; another start_ns: after an
 * interruption. What lies after the last end_ns is not known.
 */
#define GC_GPU_BEGIN	9
#define GC_GPU_REFUSED	10 /* at start_ns: nothing is recorded; value: why, GC_GPU_NO_… */
#define GC_GPU_ALLOCATE 11 /* tid was in a call that allocates or frees a device's memory; flags */

#define GC_GPU_COPY   1 /* WAIT: it was a copy, which need not have been waited for */
#define GC_GPU_QUEUE  2 /* WAIT: it was a launch, into a queue that was full */
#define GC_GPU_FREES  4 /* ALLOCATE: it frees */
#define GC_GPU_FAILED 8 /* ALLOCATE: it returned an error: there was no room */

#define GC_GPU_NO_CUPTI	  1 /* no libcupti was found */
#define GC_GPU_NO_VERSION 2 /* its version, in count, is none that the shim knows */
#define GC_GPU_NO_DRIVER  3 /* it said that there is no driver or no device */
#define GC_GPU_NO_ENABLE  4 /* it refused to record; count: its error */
#define GC_GPU_NO_ANSWER  5 /* a call of it did not return within seconds */

#define GC_GPU_NAME_BYTES 32

struct gc_gpu_record {
	__u16 kind, flags;
	__u32 device; /* of WAIT and ALLOCATE: 0xffffffff where it is not known */
	union {
		struct {
			__u64 start_ns, end_ns; /* CLOCK_MONOTONIC */
			/* When the call that launched the first was entered, and its thread's one before. */
			__u64 launch_ns, previous_ns; /* 0: not known */
		};
		char name[GC_GPU_NAME_BYTES]; /* DEVICE: "NVIDIA H100", to a NUL if there is one */
	};
	__u32 tid; /* the kernel's number of the thread, in the shim's PID namespace; 0: not known */
	/* BUSY: for so long, in ns, it may have starved unseen (user/gpu/gpu.h); 0xffffffff: that or more. */
	__u32 count;
	__u64 value;
	__u64 starved_ns; /* of a BUSY's gaps (below 50 µs): the next was launched within the gap */
};

_Static_assert(sizeof(struct gc_gpu_record) == 64, "wire ABI");
_Static_assert(sizeof(struct gc_nvtx_range) == 16, "wire ABI");
