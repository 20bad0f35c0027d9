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

/* Sends the line table in pieces. Returns its length, GC_NO_TABLE if it could not be sent. */
static __always_inline __u32 send_table(__u64 id, __u64 object)
{
	struct table_walk walk = {.id = id, .bytes = object + BYTES_DATA};

	if (bpf_probe_read_user(&walk.length, sizeof(walk.length), (void *)(object + BYTES_LENGTH)) ||
		walk.length > GC_MAX_TABLES * GC_TABLE_BYTES)
		return GC_NO_TABLE;
	if (walk.length)
		bpf_loop(GC_MAX_TABLES, send_piece, &walk, 0);
	return walk.failed ? GC_NO_TABLE : (__u32)walk.length;
}

/* Sends the names of the code object at @address. A global function: verified once. */
__noinline int send_code(struct thread_state *state, __u64 address, __u64 id)
{
	const struct gc_layout *layout;
	struct gc_code *code;
	__u32 image, table;

	if (!state)
		return 1;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout || bpf_probe_read_user(state->code_bytes, sizeof(state->code_bytes),
			       (void *)(address + CODE_WINDOW)))
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

/* Odd and without pattern, one for each word that makes a code object's id. */
#define MIX_ADDRESS 0x9e3779b97f4a7c15ull
#define MIX_FILE    0xc2b2ae3d27d4eb4full
#define MIX_NAME    0xd6e8feb86659fd93ull
#define MIX_TABLE   0xa0761d6478bd642full
#define MIX_SPACE   0xe7037ed1a0b428dbull

/*
 * Names the code object at @address by its address, the addresses of what it refers to and its
 * first line, and makes sure that user space has its names. Returns the id, 0 if unreadable.
 */
static __always_inline __u64 identify_code(struct thread_state *state,
	const struct gc_layout *layout, __u64 address, __u32 space)
{
	__u64 code[16]; /* on the stack: see struct gc_window */
	struct shared *s = shared();
	__u64 id;

	if (!s || bpf_probe_read_user(code, sizeof(code), (void *)(address + CODE_WINDOW)))
		return 0;
	id = address * MIX_ADDRESS + FIELD64(code, layout->code_file - CODE_WINDOW) * MIX_FILE +
		FIELD64(code, layout->code_name - CODE_WINDOW) * MIX_NAME +
		FIELD64(code, layout->code_table - CODE_WINDOW) * MIX_TABLE +
		((__u64)space << 32 | FIELD32(code, layout->code_first_line - CODE_WINDOW)) *
			MIX_SPACE;
	id ^= id >> 32;
	id |= !id;
	if (s->seen[id % GC_SEEN_SLOTS] != id && !send_code(state, address, id))
		s->seen[id % GC_SEEN_SLOTS] = id;
	return id;
}

struct walk {
	struct thread_state *state;
	const struct gc_layout *layout;
	__u64 frame;
	__u64 base, span; /* frames at base … base + span are in state->frames */
	__u64 code, id;	  /* of the frame above: a function that calls itself is looked up once */
	__u32 count, space;
};

/*
 * Copies the frame at walk->frame and, from 3.11 on, what lies below it: the callers' frames, mostly.
 * Not beyond the page, which the next one down need not be mapped. False if unreadable.
 */
static __always_inline bool copy_frames(struct walk *walk)
{
	__u64 span = walk->frame & 4095;

	if (walk->layout->frame_owner == GC_NO_FIELD)
		span = 0; /* each frame is an object of its own */
	span = at_most(span, FRAME_WINDOW - 8);
	walk->base = walk->frame - span;
	walk->span = span;
	/* Nor further up than the fields end: behind the last frame of a chunk nothing may be mapped. */
	return !bpf_probe_read_user(walk->state->frames,
		span + at_most(walk->layout->frame_bytes, FRAME_BYTES), (void *)walk->base);
}

/* Puts the frame with these bytes into the record. False if its code cannot be read. */
static __always_inline bool take_frame(struct walk *walk, const __u8 *bytes)
{
	const struct gc_layout *layout = walk->layout;
	__u64 code = FIELD64(bytes, layout->frame_code) & ~3ull;
	__u64 lasti = FIELD64(bytes, layout->frame_lasti);
	struct gc_frame *frame;

	if (code != walk->code) {
		walk->id = identify_code(walk->state, layout, code, walk->space);
		walk->code = code;
	}
	if (!walk->id)
		return false;
	frame = &walk->state->record.frames[walk->count & GC_MAX_FRAMES];
	frame->code = walk->id;
	frame->pad = 0;
	if (layout->code_adaptive)
		frame->lasti = (__s32)(lasti - code - layout->code_adaptive);
	else
		frame->lasti = (__s32)lasti * layout->lasti_scale;
	walk->count++;
	return true;
}

/* A shim between C and Python is no function of the user's. */
static __always_inline bool is_shim(const struct gc_layout *layout, const __u8 *bytes)
{
	return layout->frame_owner != GC_NO_FIELD && FIELD8(bytes, layout->frame_owner) >= 3;
}

static long walk_step(__u32 i, struct walk *walk)
{
	struct thread_state *state = walk->state;
	const __u8 *bytes;

	if ((walk->frame & 7) || (walk->frame - walk->base > walk->span && !copy_frames(walk))) {
		state->flags |= GC_PAUSE_BROKEN_STACK;
		return 1;
	}
	bytes = &state->frames[(walk->frame - walk->base) & (FRAME_WINDOW - 8)];
	if (!is_shim(walk->layout, bytes) && !take_frame(walk, bytes)) {
		state->flags |= GC_PAUSE_BROKEN_STACK;
		return 1;
	}
	walk->frame = FIELD64(bytes, walk->layout->frame_previous);
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
	walk.layout = layout;
	walk.space = target->space;
	if (layout->tstate_cframe)
		walk.frame = read_u64(read_u64(state->tstate + layout->tstate_cframe) +
			layout->cframe_frame);
	else
		walk.frame = read_u64(state->tstate + layout->tstate_frame);
	walk.base = walk.frame + 8; /* nothing copied yet */
	if (walk.frame)
		bpf_loop(2 * GC_MAX_FRAMES, walk_step, &walk, 0);
	state->record.frame_count = walk.count;
	return 0;
}
