/*
 * The wire between HotSpot's programs and user/runtime/hotspot/. Its VM Thread stops the world and lets it go
 * again; a safepoint is sent at its end, by the VM Thread. What the words mean is for user space to say: BPF
 * copies. As in gc_wire.h: sized, no gaps unnamed, never renumbered.
 */
#pragma once

#include "gc_wire.h"

#define GC_MAX_JVMS	 256 /* JVMs observed at once */
#define GC_JAVA_FRAMES	 96  /* physical frames of one Java stack */
#define GC_PERF_BYTES	 512 /* of a JVM's hsperf counters, copied at the end of each safepoint */
#define GC_PERF_WINDOWS	 8
#define GC_STATICS_BYTES 64 /* of SafepointTracing's variables, likewise */
#define GC_COLLECTORS	 4  /* sun.gc.collector.N */
#define GC_CODE_HEAPS	 4
#define GC_VM_NAME_BYTES 64  /* of an operation's or phase's name that are kept */
#define GC_BLOCK_BYTES	 512 /* of a block of the code heap that are looked at; a power of two */

/* gc_header.type */
#define GC_EVENT_SAFEPOINT 11 /* HotSpot let its threads run again */
#define GC_EVENT_LATE	   12 /* the thread that a safepoint had to wait for; its SAFEPOINT follows */
#define GC_EVENT_STALL	   13 /* a thread has waited for the collector */
#define GC_EVENT_PHASE	   14 /* a concurrent phase began or ended */
#define GC_EVENT_KILLED                                                                            \
	15 /* a JVM was killed, or called exec, inside a safepoint; tid: the VM Thread */

/* gc_java_frame.kind */
#define GC_JAVA_INTERPRETED 1
#define GC_JAVA_COMPILED    2 /* or a native method's wrapper */

/* A physical frame: a compiled one may stand for several inlined methods. */
struct gc_java_frame {
	__u64 code; /* COMPILED: address of the nmethod; INTERPRETED: of the Method */
	__u64 check; /* COMPILED: its Method; INTERPRETED: its ConstMethod: is it still that when it is read later? */
	__u32 compile_id; /* COMPILED: of this nmethod and no other; else 0 */
	__s32 at;	  /* COMPILED: pc − code; INTERPRETED: bytecode index */
	__u32 kind, pad;
};

/* stack_flags of the records below */
#define GC_STACK_TRUNCATED 1 /* more than GC_JAVA_FRAMES frames */
#define GC_STACK_BROKEN                                                                            \
	2 /* a frame could not be read or is of no known kind; the stack ends there */
#define GC_STACK_VIRTUAL 4 /* ends where a virtual thread was mounted */
#define GC_STACK_STALE	 8 /* the walk did not find a Java thread where one was expected: no frames */

/* gc_safepoint.flags */
#define GC_SAFEPOINT_STATICS   1 /* statics were read */
#define GC_SAFEPOINT_PERF      2 /* perf was read, perf_bytes of it */
#define GC_SAFEPOINT_ARGUMENTS 4 /* the probes' arguments are HotSpot's nanoseconds (JDK 17+) */

struct gc_safepoint {
	struct gc_header header; /* time_ns: of the end probe; tid: the VM Thread */
	__u64 begin_ns, sync_ns; /* of the probes; 0: not probed, or not seen */
	__u64 begin_argument;	 /* ns since the last safepoint's end */
	__u64 sync_argument;	 /* ns that it took to reach the safepoint */
	__u64 end_argument; /* ns from there to the end; what counts as the end depends on the version */
	__u64 op_vtable; /* of the VM operation, address in the target; 0: not known */
	__u64 thread,
		thread_vtable; /* its requester's Thread; 0: not known, the vtable of short ones never */
	__u64 heap_before,
		heap_after;  /* bytes, by the first and the last summary; with summaries ≥ 2 */
	__u32 requester_tid; /* as the JVM's pid namespace counts; 0: not known */
	__u32 requester_host_tid; /* as the kernel counts; 0: not known */
	__u32 late_tid; /* likewise: who came last, and later than late_ns; 0: nobody, or not known */
	__u32 summaries; /* heap summaries reported within */
	__u32 flags, stack_flags;
	__u32 frame_count, statics_bytes, perf_bytes, name_bytes;
	__u8 name
		[GC_VM_NAME_BYTES]; /* of the operation where a USDT probe gave it; not terminated */
	__u8 statics[GC_STATICS_BYTES];
	__u8 perf[GC_PERF_BYTES];
	struct gc_java_frame frames[GC_JAVA_FRAMES]; /* of the requester, innermost first */
};

/* Without frames the record ends after perf_bytes of perf. */
#define GC_SAFEPOINT_SIZE(frame_count)                                                             \
	(offsetof(struct gc_safepoint, frames) + (frame_count) * sizeof(struct gc_java_frame))
#define GC_SAFEPOINT_SHORT_SIZE(perf_bytes) (offsetof(struct gc_safepoint, perf) + (perf_bytes))

struct gc_late {
	struct gc_header header; /* time_ns: when the world stood still; tid: the VM Thread */
	__u64 begin_ns;		 /* gc_safepoint.begin_ns of the record that follows */
	__u64 arrived_ns;	 /* when the late thread came */
	__u64 ran_ns;		 /* on a CPU between the two, at least; GC_RAN_UNKNOWN */
	__u32 late_tid, stack_flags;
	__u32 frame_count, pad;
	struct gc_java_frame frames[GC_JAVA_FRAMES]; /* of the late thread */
};

#define GC_RAN_UNKNOWN (~0ull)
#define GC_LATE_SIZE(frame_count)                                                                  \
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
	__u64 collections_start[GC_COLLECTORS],
		collections_end[GC_COLLECTORS]; /* EXPLICIT: invocations */
	__u64 unloaded; /* classes unloaded so far: the sum of gc_jvm.unloaded; all ones: not known */
	__u32 kind, collectors; /* collectors: how many of the above are known */
	__u32 frame_count, stack_flags;
	struct gc_java_frame frames[GC_JAVA_FRAMES];
};

#define GC_STALL_SIZE(frame_count)                                                                 \
	(offsetof(struct gc_stall, frames) + (frame_count) * sizeof(struct gc_java_frame))

/* A concurrent phase: of one thread, they nest. */
struct gc_phase {
	struct gc_header header;
	__u32 begins; /* else it ends, and has no name */
	__u32 name_bytes;
	__u8 name[GC_VM_NAME_BYTES];
};

/* KILLED; header.tid: the VM Thread */
struct gc_killed {
	struct gc_header header;
	__u64 start_ns; /* when the safepoint began */
};

/* What BPF must know of one JVM; addresses are those of the process. Filled by user/runtime/hotspot/jvm. */
struct gc_jvm {
	__u32 image; /* index into layouts, for which this process was planned */
	__u32 window_count;
	struct gc_jvm_window {
		__u64 address;
		__u32 bytes,
			offset; /* copied to gc_safepoint.perf + offset; offset + bytes ≤ GC_PERF_BYTES */
	} windows[GC_PERF_WINDOWS];
	/*
	 * A safepoint shorter than min_stack_ns whose operation cannot collect sends only the first
	 * short_windows of them: the others are a third of its cost. gc_types: the operations that may
	 * collect, a bit for each type, which is at statics + statics_type; all 0: not known, send all.
	 */
	__u64 gc_types[2];
	__u32 short_windows, statics_type;
	__u64 collections
		[GC_COLLECTORS]; /* of the counters sun.gc.collector.N.invocations; 0: none */
	__u64 unloaded[2]; /* of java.cls.unloadedClasses and .sharedUnloadedClasses; 0: none */
	__u64 statics;	   /* where to copy gc_safepoint.statics from; 0: none */
	__u64 current_op;  /* of the pointer VMThread::_cur_vm_operation; 0: not known */
	__u64 java_vtable; /* what the first word of a JavaThread points to; 0: no stack is walked */
	__u64 late_ns;	   /* a longer time to safepoint names who was late */
	__u64 interpreter_start, interpreter_end;
	__u64 call_stub_return; /* StubRoutines::_call_stub_return_address */
	__u64 return_barrier;	/* StubRoutines::_cont_returnBarrier; 0: none */
	__u64 nmethod_vtable; /* what the first word of a blob that is one points to; 0: others tell */
	struct gc_code_heap {
		__u64 start, end; /* of its memory, as far as it is reserved */
		__u64 segmap;	  /* of the segment map's memory */
	} heaps[GC_CODE_HEAPS];	  /* start 0: none */
	__u32 segment_shift;	  /* log2 of a segment's bytes */
	__u32 statics_bytes;
	__u32 thread_tls; /* of the Thread pointer, from the thread's fsbase */
	__u16 op_thread;  /* VM_Operation::_calling_thread; GC_NO_FIELD: not known */
	__u16 thread_osthread, osthread_tid;
	__u16 anchor_sp, anchor_fp, anchor_pc;	  /* of the last Java frame, in JavaThread */
	__u16 wrapper_sp, wrapper_fp, wrapper_pc; /* of the one before, in JavaCallWrapper */
	__u16 block_header;			  /* sizeof(HeapBlock): the blob follows */
	__u16 blob_frame_size;			  /* CodeBlob::_frame_size, int, in words */
	__u16 blob_name;			  /* CodeBlob::_name: pointer */
	/* CodeBlob::_kind, one byte (24+); GC_NO_FIELD: nmethod_vtable tells; 0 as well: the name does. */
	__u16 blob_kind;
	__u16 nmethod_kind; /* the value of it that says nmethod */
	__u16 nmethod_method, nmethod_compile_id;
	__u16 nmethod_deopt,
		nmethod_deopt_wide; /* of the deopt handler: pointer (wide 8) or offset (4); GC_NO_FIELD */
	__u16 nmethod_orig_pc; /* of the int that says where in the frame the pc is kept then */
	__u16 method_const;    /* Method::_constMethod */
	__u16 const_bytes;     /* sizeof(ConstMethod): bytecodes follow */
	__u16 nmethod_deopt_mh; /* as nmethod_deopt: the handler of method handle calls (8-25); GC_NO_FIELD */
	/* From the block's header on, what holds all blob and nmethod fields above: ≤ GC_BLOCK_BYTES. */
	__u16 block_bytes;
	__u16 interpreter_bcp; /* how far below its fp an interpreted frame has its bcp: 64; 56 in JDK 8 */
	__u16 arguments; /* 1: the safepoint probes' arguments are HotSpot's nanoseconds (17+) */
	__u16 thread_poll_pc; /* JavaThread::_saved_exception_pc: where it was as it saw the poll; 0: not known */
	__u16 safepoint_kind; /* the value of blob_kind that says SafepointBlob */
};

/* What on_perf_write's cookie kind says: which counter was written. */
#define GC_PERF_BEGIN 16 /* sun.rt.safepoints */
#define GC_PERF_SYNC  17 /* sun.rt.safepointSyncTime */
#define GC_PERF_END   18 /* sun.rt.safepointTime */

/*
 * The cookie of a vmops USDT probe: in which registers the name, its length and the flag (0: a
 * safepoint operation) are. Registers as in DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 … r15.
 */
#define GC_VM_REGISTERS(name, length, flag)                                                        \
	((__u64)(name) | (__u64)(length) << 4 | (__u64)(flag) << 8)
#define GC_VM_COOKIE(registers) ((__u64)(registers) << 48)
#define GC_VM_NAME(cookie)	((__u32)((cookie) >> 48) & 15)
#define GC_VM_LENGTH(cookie)	((__u32)((cookie) >> 52) & 15)
#define GC_VM_FLAG(cookie)	((__u32)((cookie) >> 56) & 15)

_Static_assert(sizeof(struct gc_java_frame) == 32, "wire ABI");
_Static_assert(sizeof(struct gc_safepoint) == 784 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_late) == 64 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_stall) == 128 + 32 * GC_JAVA_FRAMES, "wire ABI");
_Static_assert(sizeof(struct gc_phase) == 32 + GC_VM_NAME_BYTES, "wire ABI");
_Static_assert(sizeof(struct gc_killed) == 32, "wire ABI");
