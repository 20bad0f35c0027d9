/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Python stack of the collecting thread: frames and, once each, the names of their code. */
#pragma once

#include "cpython_thread.bpf.h"

/* A field of bytes copied from the target; offsets are masked, so that any layout is safe. */
#define FIELD64(bytes, offset) (*(__u64 *)offset_by(bytes, (offset) & 0x78))
#define FIELD32(bytes, offset) (*(__u32 *)offset_by(bytes, (offset) & 0x7c))
#define FIELD8(bytes, offset)  (*(__u8 *)offset_by(bytes, (offset) & 0x7f))

#define CODE_WINDOW 40 /* thread_state.code_bytes holds the code object from here on */
/* Behind an object's head, which free-threaded builds have longer by layout->head_extra. */
#define UNICODE_LENGTH 16
#define UNICODE_STATE  32
#define BYTES_LENGTH   16
#define BYTES_DATA     32
#define TLBC_ENTRIES   8 /* behind their number */

/* Copies a PyUnicodeObject's characters; kind 0 if it is not one of the compact forms. */
static __always_inline void copy_text(const struct gc_layout *layout, __u64 object,
	struct gc_text *ret)
{
	__u64 length = read_u64(object + layout->head_extra + UNICODE_LENGTH);
	__u32 state = (__u32)read_u64(object + layout->head_extra + UNICODE_STATE);
	__u32 kind, compact, ascii;

	/* Behind interned: kind, of 3 bits, compact, ascii. */
	state >>= layout->text_shift & 31;
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

/* Sends the next piece of state->table. Not 0: it was the last, or could not be sent. */
__noinline int send_piece(struct thread_state *state)
{
	struct table_walk *table;
	struct gc_table *piece;
	__u64 part;

	if (!state)
		return 1;
	table = &state->table;
	piece = bpf_ringbuf_reserve(&events, sizeof(*piece), 0);
	if (!piece) {
		count_drop(GC_DROP_RING);
		return 1;
	}
	fill_header(&piece->header, GC_EVENT_TABLE, sizeof(*piece), bpf_ktime_get_ns());
	part = at_most(table->length - table->offset, GC_TABLE_BYTES);
	piece->id = table->id;
	piece->offset = table->offset;
	piece->length = part;
	bpf_probe_read_user(piece->bytes, part, (void *)(table->bytes + table->offset));
	bpf_ringbuf_submit(piece, BPF_RB_NO_WAKEUP);
	table->offset += part;
	return table->offset >= table->length;
}

/* Sends the line table in pieces. Returns its length, GC_NO_TABLE if it could not be sent. */
static __always_inline __u32 send_table(struct thread_state *state, const struct gc_layout *layout,
	__u64 id, __u64 object)
{
	__u64 length = 0;

	object += layout->head_extra;
	if (bpf_probe_read_user(&length, sizeof(length), (void *)(object + BYTES_LENGTH)) ||
		length > GC_MAX_TABLES * GC_TABLE_BYTES)
		return GC_NO_TABLE;
	state->table =
		(struct table_walk){.id = id, .bytes = object + BYTES_DATA, .length = length};
	for (int i = 0; i < GC_MAX_TABLES && length; i++)
		if (send_piece(state))
			break;
	return state->table.offset == length ? (__u32)length : GC_NO_TABLE;
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
	table = send_table(state, layout, id,
		FIELD64(state->code_bytes, layout->code_table - CODE_WINDOW));
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
	struct seen_codes *seen;
	__u32 zero = 0;
	__u64 id;

	seen = bpf_map_lookup_elem(&seen_codes, &zero);
	if (!seen || bpf_probe_read_user(code, sizeof(code), (void *)(address + CODE_WINDOW)))
		return 0;
	id = address * MIX_ADDRESS + FIELD64(code, layout->code_file - CODE_WINDOW) * MIX_FILE +
	     FIELD64(code, layout->code_name - CODE_WINDOW) * MIX_NAME +
	     FIELD64(code, layout->code_table - CODE_WINDOW) * MIX_TABLE +
	     ((__u64)space << 32 | FIELD32(code, layout->code_first_line - CODE_WINDOW)) *
		     MIX_SPACE;
	id ^= id >> 32;
	id |= !id;
	if (seen->ids[id % GC_SEEN_SLOTS] != id && !send_code(state, address, id))
		seen->ids[id % GC_SEEN_SLOTS] = id;
	return id;
}

/*
 * Copies the frame at walk->frame and, from 3.11 on, what lies below it: the callers' frames, mostly.
 * Not beyond the page, which the next one down need not be mapped. False if unreadable.
 */
static __always_inline bool copy_frames(struct thread_state *state, const struct gc_layout *layout)
{
	struct walk *walk = &state->walk;
	__u64 span = walk->frame & 4095;

	if (layout->frame_owner == GC_NO_FIELD)
		span = 0; /* each frame is an object of its own */
	span = at_most(span, FRAME_WINDOW - 8);
	walk->base = walk->frame - span;
	walk->span = span;
	/* Nor further up than the fields end: behind the last frame of a chunk nothing may be mapped. */
	return !bpf_probe_read_user(state->frames, span + at_most(layout->frame_bytes, FRAME_BYTES),
		(void *)walk->base);
}

/*
 * Where the instructions begin that the frame runs. A free-threaded build (3.14+) has copies of them for its threads, the
 * first of which is the code object's own. 0: not readable.
 */
static __always_inline __u64 first_instruction(const struct gc_layout *layout, const __u8 *bytes,
	__u64 code)
{
	__u64 copies, index;

	if (layout->frame_tlbc == GC_NO_FIELD)
		return code + layout->code_adaptive;
	copies = read_u64(code + layout->code_tlbc);
	index = FIELD32(bytes, layout->frame_tlbc);
	if (!copies || index >= read_u64(copies))
		return 0;
	return read_u64(copies + TLBC_ENTRIES + index * 8);
}

/* Puts the frame with these bytes into the record. False if its code cannot be read. */
static __always_inline bool take_frame(struct thread_state *state, const struct gc_layout *layout,
	const __u8 *bytes)
{
	__u64 code = FIELD64(bytes, layout->frame_code) & ~3ull;
	__u64 lasti = FIELD64(bytes, layout->frame_lasti);
	struct walk *walk = &state->walk;
	struct gc_frame *frame;
	__u64 first;

	if (code != walk->code) {
		walk->id = identify_code(state, layout, code, walk->space);
		walk->code = code;
	}
	if (!walk->id)
		return false;
	frame = &state->record.frames[walk->count & GC_MAX_FRAMES];
	frame->code = walk->id;
	frame->pad = 0;
	if (layout->code_adaptive) {
		first = first_instruction(layout, bytes, code);
		frame->lasti = first ? (__s32)(lasti - first) : -1;
	} else {
		frame->lasti = (__s32)lasti * layout->lasti_scale;
	}
	walk->count++;
	return true;
}

/* A shim between C and Python is no function of the user's. */
static __always_inline bool is_shim(const struct gc_layout *layout, const __u8 *bytes)
{
	return layout->frame_owner != GC_NO_FIELD && FIELD8(bytes, layout->frame_owner) >= 3;
}

/* Takes the frame at state->walk and goes on to its caller's. Not 0: the walk has ended. */
__noinline int walk_step(struct thread_state *state)
{
	const struct gc_layout *layout;
	const __u8 *bytes;
	struct walk *walk;
	__u32 image;

	if (!state)
		return 1;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return 1;
	walk = &state->walk;
	if ((walk->frame & 7) ||
		(walk->frame - walk->base > walk->span && !copy_frames(state, layout))) {
		state->flags |= GC_PAUSE_BROKEN_STACK;
		return 1;
	}
	bytes = offset_by(state->frames, (walk->frame - walk->base) & (FRAME_WINDOW - 8));
	if (!is_shim(layout, bytes) && !take_frame(state, layout, bytes)) {
		state->flags |= GC_PAUSE_BROKEN_STACK;
		return 1;
	}
	walk->frame = FIELD64(bytes, layout->frame_previous);
	if (walk->count >= GC_MAX_FRAMES && walk->frame)
		state->flags |= GC_PAUSE_TRUNCATED;
	return walk->count >= GC_MAX_FRAMES || !walk->frame;
}

/* Where the innermost Python frame of the collecting thread is. */
static __always_inline __u64 first_frame(const struct thread_state *state,
	const struct gc_layout *layout)
{
	if (!layout->tstate_cframe)
		return read_u64(state->tstate + layout->tstate_frame);
	return read_u64(read_u64(state->tstate + layout->tstate_cframe) + layout->cframe_frame);
}

/* Fills state->record.frames, innermost first. */
__noinline int walk_stack(struct thread_state *state)
{
	__u32 tgid = current_tgid(), image;
	const struct gc_target *target = bpf_map_lookup_elem(&targets, &tgid);
	const struct gc_layout *layout;

	if (!state || !target)
		return 0;
	image = state->image;
	layout = bpf_map_lookup_elem(&layouts, &image);
	if (!layout)
		return 0;
	state->walk = (struct walk){.frame = first_frame(state, layout), .space = target->space};
	state->walk.base = state->walk.frame + 8; /* nothing copied yet */
	for (int i = 0; i < 2 * GC_MAX_FRAMES && state->walk.frame; i++)
		if (walk_step(state))
			break;
	state->record.frame_count = state->walk.count;
	return 0;
}
