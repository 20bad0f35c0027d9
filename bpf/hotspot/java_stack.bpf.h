/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The Java stack of a thread that stands still: its anchor → physical frames, innermost first. What
 * a frame looks like: HotSpot's frame_x86.hpp, the same from JDK 8 to 27 (interpreter_bcp apart);
 * codeBlob.hpp and heap.hpp for the code heap. Nothing read is trusted: each read is bounded, each
 * turn moves up the stack.
 */
#pragma once

#include "jvm_plan.bpf.h"

/* The Thread of the thread that runs; 0: not known. */
static __always_inline __u64 own_thread(const struct gc_jvm *jvm)
{
	__u64 self = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);

	return jvm->thread_tls ? read_u64(self + (__s64)(__s32)jvm->thread_tls) : 0;
}

/* Of the segment map: a block of more than HOPS × 254 segments (2 MB) is not found. */
#define SEGMENT_FREE 0xff
#define SEGMENT_HOPS 64

#define SHORT_BLOCK   120	/* bytes that every block has, all that a stub's are looked at */
#define MOST_WORDS    (1 << 20) /* of one frame */
#define MOST_BYTECODE 65536	/* of one method */

struct java_frames {
	struct gc_java_frame frames[GC_JAVA_FRAMES];
};

/*
 * Where a walk is. In a map's memory, so that to the verifier its values are unknown: it then follows
 * each function below once, not once for each way that may have led there.
 */
struct java_walk {
	__u64 sp, fp, pc;
	__u32 count, flags;
	__u64 start, bytes; /* of the block of the code heap that holds pc */
	/* That block: its header, the blob, and if it is an nmethod, its fields. */
	__u64 block[GC_BLOCK_BYTES / 8];
};

/* Fields of the blob; offsets are masked, so that any plan is safe. */
static __always_inline __u64 block_u64(const struct java_walk *walk, __u64 offset)
{
	return *(__u64 *)((__u8 *)walk->block + (offset & (GC_BLOCK_BYTES - 8)));
}

static __always_inline __u32 block_u32(const struct java_walk *walk, __u64 offset)
{
	return *(__u32 *)((__u8 *)walk->block + (offset & (GC_BLOCK_BYTES - 4)));
}

static __always_inline __u8 block_u8(const struct java_walk *walk, __u64 offset)
{
	return *((__u8 *)walk->block + (offset & (GC_BLOCK_BYTES - 1)));
}

/* Ends the walk: what is there is not what was expected. */
static __always_inline int broken(struct java_walk *walk)
{
	walk->flags |= GC_STACK_BROKEN;
	return 0;
}

/*
 * Where the block of the code heap begins that holds @pc; 0: none does. A global function, like
 * others below: verified once. Weak, because two objects hold it.
 */
__noinline __weak __u64 find_block(const struct gc_jvm *jvm, __u64 pc)
{
	__u64 start = 0, segmap = 0, segment;

	if (!jvm)
		return 0;
	for (int i = 0; i < GC_CODE_HEAPS; i++) {
		if (pc < jvm->heaps[i].start || pc >= jvm->heaps[i].end)
			continue;
		start = jvm->heaps[i].start;
		segmap = jvm->heaps[i].segmap;
	}
	if (!start)
		return 0;
	segment = (pc - start) >> (jvm->segment_shift & 31);
	for (int hop = 0; hop < SEGMENT_HOPS; hop++) {
		__u8 back = 0;

		if (bpf_probe_read_user(&back, 1, (void *)(segmap + segment)) ||
			back == SEGMENT_FREE || back > segment)
			return 0;
		if (!back)
			return start + (segment << (jvm->segment_shift & 31));
		segment -= back;
	}
	return 0;
}

#define TEXT_NMETHOD	 0x00646f6874656d6eull /* "nmethod", as a word */
#define TEXT_NATIVE	 0x6e2065766974616eull /* "native n", */
#define TEXT_NATIVE_REST 0x00646f6874656d00ull /* "method" above its first byte */

static __always_inline bool is_named_nmethod(__u64 name)
{
	__u64 text[2] = {};

	if (!name || bpf_probe_read_user(text, sizeof(text), (void *)name))
		return false;
	return text[0] == TEXT_NMETHOD ||
	       (text[0] == TEXT_NATIVE && text[1] << 8 == TEXT_NATIVE_REST);
}

static __always_inline bool is_nmethod(const struct gc_jvm *jvm, const struct java_walk *walk)
{
	__u64 blob = jvm->block_header;

	if (jvm->blob_kind != GC_NO_FIELD)
		return block_u8(walk, blob + jvm->blob_kind) == jvm->nmethod_kind;
	if (jvm->nmethod_vtable)
		return block_u64(walk, blob) == jvm->nmethod_vtable;
	return is_named_nmethod(block_u64(walk, blob + jvm->blob_name));
}

#define BLOCK_NONE    0
#define BLOCK_STUB    1
#define BLOCK_NMETHOD 2

/* Copies the block that holds walk->pc. BLOCK_NONE: it does not, or cannot be read. */
__noinline __weak int read_block(const struct gc_jvm *jvm, struct java_walk *walk)
{
	bool whole, wide;
	__u64 segments;

	if (!jvm || !walk)
		return BLOCK_NONE;
	walk->start = find_block(jvm, walk->pc);
	if (!walk->start)
		return BLOCK_NONE;
	whole = !bpf_probe_read_user(walk->block, at_most(jvm->block_bytes, GC_BLOCK_BYTES),
		(void *)walk->start);
	/* The last block of the heap may be shorter than that. */
	if (!whole && bpf_probe_read_user(walk->block, SHORT_BLOCK, (void *)walk->start))
		return BLOCK_NONE;
	/* The header: a length in segments, 32 bits where it has 8 bytes (25+); is it used? */
	wide = jvm->block_header >= 16;
	segments = wide ? walk->block[0] : (__u32)walk->block[0];
	walk->bytes = segments << (jvm->segment_shift & 31);
	if (!block_u8(walk, wide ? 8 : 4) || walk->pc - walk->start >= walk->bytes)
		return BLOCK_NONE;
	if (!is_nmethod(jvm, walk))
		return BLOCK_STUB;
	return whole ? BLOCK_NMETHOD : BLOCK_NONE;
}

/* Whether walk->pc is the handler that a deoptimised frame returns to, by a field of the nmethod. */
static __always_inline bool is_handler(const struct gc_jvm *jvm, const struct java_walk *walk,
	__u16 field)
{
	__u64 at = jvm->block_header + field;

	if (field == GC_NO_FIELD)
		return false;
	if (jvm->nmethod_deopt_wide == 8)
		return block_u64(walk, at) == walk->pc;
	return walk->start + jvm->block_header + block_u32(walk, at) == walk->pc;
}

/* False: the stack is full. */
static __always_inline bool keep_frame(struct java_frames *frames, struct java_walk *walk,
	const struct gc_java_frame *frame)
{
	__u64 n = walk->count;

	asm volatile("" : "+r"(n)); /* the bound is checked on the value that is used */
	if (n >= GC_JAVA_FRAMES) {
		walk->flags |= GC_STACK_TRUNCATED;
		return false;
	}
	frames->frames[n] = *frame;
	walk->count = n + 1;
	return true;
}

/* False: the stack is full. */
static __always_inline bool keep_code(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk)
{
	struct gc_java_frame frame = {.kind = GC_JAVA_COMPILED};
	__u64 header = jvm->block_header;

	frame.code = walk->start + header;
	frame.check = block_u64(walk, header + jvm->nmethod_method);
	frame.compile_id = block_u32(walk, header + jvm->nmethod_compile_id);
	frame.at = walk->pc - frame.code;
	return keep_frame(frames, walk, &frame);
}

/* A deoptimised frame returns to a handler, and keeps its pc elsewhere. False ends the walk. */
static __always_inline bool keep_compiled(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk)
{
	if (is_handler(jvm, walk, jvm->nmethod_deopt) ||
		is_handler(jvm, walk, jvm->nmethod_deopt_mh)) {
		walk->pc = read_u64(walk->sp +
				    block_u32(walk, jvm->block_header + jvm->nmethod_orig_pc));
		if (walk->pc - walk->start >= walk->bytes)
			return broken(walk);
	}
	return keep_code(jvm, frames, walk);
}

/*
 * Code in the code heap: an nmethod is a frame to keep, a stub is passed over. 0 ends the walk, as
 * of the two functions below; walk->flags then says whether all was well.
 */
__noinline __weak int pass_compiled(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk)
{
	__u64 caller[2];
	int kind;
	__s32 words;

	if (!jvm || !frames || !walk)
		return 0;
	kind = read_block(jvm, walk);
	if (kind == BLOCK_NONE)
		return broken(walk);
	if (kind == BLOCK_NMETHOD && !keep_compiled(jvm, frames, walk))
		return 0;
	/* Of a frame, its caller's rbp and return address are the uppermost words. */
	words = block_u32(walk, jvm->block_header + jvm->blob_frame_size);
	if (words < 2 || words > MOST_WORDS ||
		bpf_probe_read_user(caller, sizeof(caller), (void *)(walk->sp + words * 8ull - 16)))
		return broken(walk);
	walk->sp += words * 8ull;
	walk->fp = caller[0];
	walk->pc = caller[1];
	return 1;
}

/* Words of an interpreted frame, from fp − 72 on: the places of what is read there. */
#define FRAME_BELOW	72
#define FRAME_WORDS	11
#define FRAME_METHOD	6 /* fp − 24 */
#define FRAME_SENDER_SP 8 /* fp − 8 */
#define FRAME_FP	9
#define FRAME_PC	10

__noinline __weak int pass_interpreted(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk)
{
	struct gc_java_frame frame = {.kind = GC_JAVA_INTERPRETED};
	__u64 words[FRAME_WORDS], bcp;

	if (!jvm || !frames || !walk)
		return 0;
	/* Each frame lies above the one before: none is visited twice. */
	if ((walk->fp & 7) || walk->fp < walk->sp ||
		bpf_probe_read_user(words, sizeof(words), (void *)(walk->fp - FRAME_BELOW)) ||
		words[FRAME_SENDER_SP] <= walk->sp)
		return broken(walk);
	frame.code = words[FRAME_METHOD];
	if (!frame.code || (frame.code & 7) ||
		bpf_probe_read_user(&frame.check, sizeof(frame.check),
			(void *)(frame.code + jvm->method_const)))
		return broken(walk);
	bcp = jvm->interpreter_bcp == 56 ? words[2] : words[1];
	/* A native method has no bytecodes: its bcp is 0. */
	bcp = bcp ? bcp - frame.check - jvm->const_bytes : 0;
	if (bcp >= MOST_BYTECODE)
		return broken(walk);
	frame.at = bcp;
	if (!keep_frame(frames, walk, &frame))
		return 0;
	walk->sp = words[FRAME_SENDER_SP];
	walk->fp = words[FRAME_FP];
	walk->pc = words[FRAME_PC];
	return 1;
}

/* Continues at a JavaFrameAnchor, whose three words lie side by side in every version. */
static __always_inline int start_at(struct java_walk *walk, __u64 anchor, __u32 fp, __u32 pc)
{
	__u64 words[4] = {}, below = walk->sp;

	if (bpf_probe_read_user(words, 24, (void *)anchor))
		return broken(walk);
	if (!words[0])
		return 0; /* the thread's first frame was the last one */
	walk->sp = words[0];
	walk->fp = words[fp >> 3 & 3];
	walk->pc = words[pc >> 3 & 3];
	if ((walk->sp & 7) || walk->sp <= below)
		return broken(walk);
	if (!walk->pc)
		walk->pc = read_u64(walk->sp - 8);
	return 1;
}

#define ENTRY_WRAPPER 48 /* below the fp of call_stub's frame: the JavaCallWrapper's address */

/* The VM has called Java here: above are frames of the VM, above these those of Java that called it. */
static __always_inline int pass_entry(const struct gc_jvm *jvm, struct java_walk *walk)
{
	__u64 wrapper = read_u64(walk->fp - ENTRY_WRAPPER);

	return start_at(walk, wrapper + jvm->wrapper_sp, jvm->wrapper_fp - jvm->wrapper_sp,
		jvm->wrapper_pc - jvm->wrapper_sp);
}

/* One frame, or a stub. 0 ends the walk. */
__noinline __weak int java_step(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk)
{
	__u64 pc;

	if (!jvm || !frames || !walk)
		return 0;
	pc = walk->pc;
	if (pc >= jvm->interpreter_start && pc < jvm->interpreter_end)
		return pass_interpreted(jvm, frames, walk);
	if (pc && pc == jvm->call_stub_return)
		return pass_entry(jvm, walk);
	if (pc && pc == jvm->return_barrier) {
		walk->flags |= GC_STACK_VIRTUAL;
		return 0;
	}
	return pass_compiled(jvm, frames, walk);
}

#define TEXT_SAFEPOINT 0x6e696f7065666153ull /* "Safepoin", with which "SafepointBlob" begins */

static __always_inline bool is_poll_handler(const struct gc_jvm *jvm, const struct java_walk *walk)
{
	__u64 blob = jvm->block_header;

	if (jvm->blob_kind != GC_NO_FIELD)
		return block_u8(walk, blob + jvm->blob_kind) == jvm->safepoint_kind;
	return read_u64(block_u64(walk, blob + jvm->blob_name)) == TEXT_SAFEPOINT;
}

/*
 * A compiled method sees most polls as it returns, with its frame gone: a thread that was late because of a
 * long loop would show only its caller. The thread has saved where it was.
 */
__noinline __weak int keep_poll(const struct gc_jvm *jvm, struct java_frames *frames,
	struct java_walk *walk, __u64 thread)
{
	__u64 pc, poll_pc, bytes;

	if (!jvm || !frames || !walk || !jvm->thread_poll_pc)
		return 0;
	pc = walk->pc;
	poll_pc = read_u64(thread + jvm->thread_poll_pc);
	if (read_block(jvm, walk) != BLOCK_STUB || !is_poll_handler(jvm, walk))
		return 0; /* it came otherwise */
	bytes = block_u32(walk, jvm->block_header + jvm->blob_frame_size) * 8ull;
	if (read_u64(walk->sp + bytes - 8) == poll_pc)
		return 0; /* its frame is still there */
	walk->pc = poll_pc;
	if (read_block(jvm, walk) == BLOCK_NMETHOD)
		keep_code(jvm, frames, walk);
	walk->pc = pc;
	return 0;
}

#define STEPS (3 * GC_JAVA_FRAMES) /* with stubs and entries */

/*
 * Fills @frames with those of the JavaThread at @thread in the current process; their number is left
 * in walk->count, GC_STACK_… in walk->flags. @at_poll: it has come to a safepoint.
 */
__noinline __weak int walk_java(struct java_frames *frames, struct java_walk *walk, __u64 thread,
	bool at_poll)
{
	const struct gc_jvm *jvm = jvm_plan();
	__u64 vtable;
	int turn;

	if (!frames || !walk)
		return 0;
	walk->count = walk->flags = 0;
	walk->sp = 0;
	if (!jvm || !jvm->java_vtable)
		return 0;
	if (bpf_probe_read_user(&vtable, sizeof(vtable), (void *)thread) ||
		vtable != jvm->java_vtable) {
		walk->flags = GC_STACK_STALE;
		return 0;
	}
	if (!start_at(walk, thread + jvm->anchor_sp, jvm->anchor_fp - jvm->anchor_sp,
		    jvm->anchor_pc - jvm->anchor_sp))
		return 0;
	if (at_poll)
		keep_poll(jvm, frames, walk, thread);
	for (turn = 0; turn < STEPS; turn++)
		if (!java_step(jvm, frames, walk))
			break;
	if (turn == STEPS)
		walk->flags |= GC_STACK_TRUNCATED;
	return 0;
}
