/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Python stack of the collecting thread: frames and, once each, the names of their code. */
#pragma once

#include "core.bpf.h"

/* A field of bytes copied from the target; offsets are masked, so that any layout is safe. */
#define FIELD64(bytes, offset) (*(__u64 *)((__u8 *)(bytes) + ((offset) & 0x78)))
#define FIELD32(bytes, offset) (*(__u32 *)((__u8 *)(bytes) + ((offset) & 0x7c)))
#define FIELD8(bytes, offset)  (*(__u8 *)((__u8 *)(bytes) + ((offset) & 0x7f)))

#define CODE_WINDOW 40 /* thread_state.code_bytes holds the code object from here on */
#define UNICODE_LENGTH 16
#define UNICODE_STATE  32
#define BYTES_LENGTH   16
#define BYTES_DATA     32

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

/* The smaller one, in a form that the verifier follows: clang would fold the comparison away. */
static __always_inline __u64 at_most(__u64 length, __u64 most)
{
	asm volatile("" : "+r"(length));
	return length > most ? most : length;
}

/* Copies a PyUnicodeObject's characters; kind 0 if it is not one of the compact forms. */
static __always_inline void copy_text(const struct gc_layout *layout, __u64 object,
	struct gc_text *ret)
{
	__u64 length = read_u64(object + UNICODE_LENGTH);
	__u32 state = (__u32)read_u64(object + UNICODE_STATE);
	__u32 kind, compact, ascii;

	/* GIL builds: interned 2 bits, kind 3, compact, ascii; from 3.14t interned is a byte. */
	state >>= layout->text_free_threaded ? 8 : 2;
	kind = state & 7;
	compact = state >> 3 & 1;
	ascii = state >> 4 & 1;
	ret->kind = 0;
	ret->ascii = ascii;
	ret->length = length > 0xffffffff ? 0xffffffff : length;
	if (!compact || (kind != 1 && kind != 2 && kind != 4))
		return;
	if (bpf_probe_read_user(ret->bytes, at_most(ret->length * (__u64)kind, GC_NAME_BYTES),
		    (void *)(object + (ascii ? layout->text_ascii : layout->text_compact))))
		return;
	ret->kind = kind;
}

struct table_walk {
	__u64 id, bytes, length;
	bool failed;
};

static long send_piece(__u32 i, struct table_walk *walk)
{
	__u64 offset = i * GC_TABLE_BYTES, part = walk->length - offset;
	struct gc_table *piece = bpf_ringbuf_reserve(&events, sizeof(*piece), 0);

	if (!piece) {
		count_drop(GC_DROP_RING);
		walk->failed = true;
		return 1;
	}
	fill_header(&piece->header, GC_EVENT_TABLE, sizeof(*piece), bpf_ktime_get_ns());
	part = at_most(part, GC_TABLE_BYTES);
	piece->id = walk->id;
	piece->offset = offset;
	piece->length = part;
	bpf_probe_read_user(piece->bytes, part, (void *)(walk->bytes + offset));
	bpf_ringbuf_submit(piece, BPF_RB_NO_WAKEUP);
	return offset + part >= walk->length;
}

/* Sends the line table in pieces. Returns its length, 0 if it could not be sent. */
static __always_inline __u32 send_table(__u64 id, __u64 object)
{
	struct table_walk walk = {.id = id, .bytes = object + BYTES_DATA};

	walk.length = read_u64(object + BYTES_LENGTH);
	if (!walk.length || walk.length > GC_MAX_TABLES * GC_TABLE_BYTES)
		return 0;
	bpf_loop(GC_MAX_TABLES, send_piece, &walk, 0);
	return walk.failed ? 0 : (__u32)walk.length;
}

/* Sends the names of the code object in @state->code_bytes. A global function: verified once. */
__noinline int send_code(struct thread_state *state, __u64 id)
{
	const struct gc_layout *layout;
	struct gc_code *code;
	__u32 image, table;

	if (!state)
		return 1;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return 1;
	table = send_table(id, FIELD64(state->code_bytes, layout->code_table - CODE_WINDOW));
	code = bpf_ringbuf_reserve(&events, sizeof(*code), 0);
	if (!code) {
		count_drop(GC_DROP_RING);
		return 1;
	}
	fill_header(&code->header, GC_EVENT_CODE, sizeof(*code), bpf_ktime_get_ns());
	code->id = id;
	code->image = image;
	code->first_line = FIELD32(state->code_bytes, layout->code_first_line - CODE_WINDOW);
	code->table_bytes = table;
	code->pad = 0;
	copy_text(layout, FIELD64(state->code_bytes, layout->code_name - CODE_WINDOW), &code->name);
	copy_text(layout, FIELD64(state->code_bytes, layout->code_file - CODE_WINDOW), &code->file);
	bpf_ringbuf_submit(code, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Names the code object at @address by its address, the addresses of what it refers to and its
 * first line, and makes sure that user space has its names. Returns the id, 0 if unreadable.
 */
static __always_inline __u64 identify_code(struct thread_state *state,
	const struct gc_layout *layout, __u64 address, __u32 space)
{
	struct shared *s = shared();
	__u64 id;

	if (!s || bpf_probe_read_user(state->code_bytes, sizeof(state->code_bytes),
			  (void *)(address + CODE_WINDOW)))
		return 0;
	id = mix(space, address);
	id = mix(id, FIELD64(state->code_bytes, layout->code_file - CODE_WINDOW));
	id = mix(id, FIELD64(state->code_bytes, layout->code_name - CODE_WINDOW));
	id = mix(id, FIELD64(state->code_bytes, layout->code_table - CODE_WINDOW));
	id = mix(id, FIELD32(state->code_bytes, layout->code_first_line - CODE_WINDOW));
	id |= !id;
	if (s->seen[id % GC_SEEN_SLOTS] != id && !send_code(state, id))
		s->seen[id % GC_SEEN_SLOTS] = id;
	return id;
}

#define WALK_END     0
#define WALK_SKIP    1 /* a shim between C and Python: no function of the user's */
#define WALK_FRAME   2
#define WALK_BROKEN  3

/* Reads the frame at *@frame into slot @n of the record and steps to its caller. */
__noinline int walk_frame(struct thread_state *state, __u64 address, __u32 n, __u32 space)
{
	const struct gc_layout *layout;
	__u64 code, id, lasti;
	__u32 image;

	if (!state)
		return WALK_END;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return WALK_END;
	if (bpf_probe_read_user(state->frame_bytes, sizeof(state->frame_bytes), (void *)address))
		return WALK_BROKEN;
	if (layout->frame_owner != GC_NO_FIELD &&
		FIELD8(state->frame_bytes, layout->frame_owner) >= 3)
		return WALK_SKIP;
	code = FIELD64(state->frame_bytes, layout->frame_code) & ~3ull;
	id = identify_code(state, layout, code, space);
	if (!id)
		return WALK_BROKEN;
	lasti = FIELD64(state->frame_bytes, layout->frame_lasti);
	n &= GC_MAX_FRAMES;
	state->record.frames[n].code = id;
	state->record.frames[n].pad = 0;
	if (layout->code_adaptive)
		state->record.frames[n].lasti = (__s32)(lasti - code - layout->code_adaptive);
	else
		state->record.frames[n].lasti = (__s32)lasti * layout->lasti_scale;
	return WALK_FRAME;
}

struct walk {
	struct thread_state *state;
	__u64 previous; /* offset of frame.previous */
	__u64 frame;
	__u32 count, space;
};

static long walk_step(__u32 i, struct walk *walk)
{
	struct thread_state *state = walk->state;
	int step = walk_frame(state, walk->frame, walk->count, walk->space);

	if (step == WALK_BROKEN || step == WALK_END) {
		state->flags |= GC_PAUSE_BROKEN_STACK;
		return 1;
	}
	walk->count += step == WALK_FRAME;
	walk->frame = FIELD64(state->frame_bytes, walk->previous);
	if (walk->count >= GC_MAX_FRAMES && walk->frame)
		state->flags |= GC_PAUSE_TRUNCATED;
	return walk->count >= GC_MAX_FRAMES || !walk->frame;
}

/* Fills state->record.frames, innermost first. bpf_loop: 127 turns are verified as one. */
__noinline int walk_stack(struct thread_state *state)
{
	__u32 tgid = current_tgid(), image;
	const struct gc_target *target = bpf_map_lookup_elem(&targets, &tgid);
	const struct gc_layout *layout;
	struct walk walk = {.state = state};

	if (!state || !target)
		return 0;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return 0;
	walk.space = target->space;
	walk.previous = layout->frame_previous;
	if (layout->tstate_cframe)
		walk.frame = read_u64(read_u64(state->tstate + layout->tstate_cframe) +
			layout->cframe_frame);
	else
		walk.frame = read_u64(state->tstate + layout->tstate_frame);
	if (walk.frame)
		bpf_loop(2 * GC_MAX_FRAMES, walk_step, &walk, 0);
	state->record.frame_count = walk.count;
	return 0;
}
