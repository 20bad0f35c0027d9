/*
 * Layouts of CPython 3.8 – 3.15 on x86-64, of which AArch64's differ in one place. Sources: offsetof() over the internal
 * headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 (pyenv), 3.13.5, 3.14.10 and 3.15.2 (Debian), of the last three
 * and 3.14.4 (Ubuntu) also with Py_GIL_DISABLED; the root tests would miscount or misname with a wrong one.
 */
#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "cpython_layout.h"

/* 3.8 – 3.10: PyFrameObject chain, one line table entry a line. */
#define LEGACY_FRAMES                                                                              \
	.tstate_frame = 24, .frame_code = 32, .frame_previous = 24, .frame_owner = GC_NO_FIELD,    \
	.code_first_line = 40, .code_file = 104, .code_name = 112, .code_table = 120,              \
	.text_ascii = 48, .text_compact = 72, .tstate_thread = 176

/* 3.8 – 3.13: struct _gc_runtime_state did not change. In 3.14 its generation0 moved to the end. */
#define GC_STATE                                                                                   \
	.stats_kind = GC_STATS_INLINE, .gc_enabled = 12, .gc_counts = 40, .gc_stats = 128,         \
	.gc_collecting = 200, .gc_long_lived = 224

#define COMMON                                                                                     \
	.tstate_interp = 16, .gil_holder = 8, .text_shift = 2, .gil_enabled = GC_NO_FIELD,         \
	.frame_tlbc = GC_NO_FIELD

static const struct gc_layout layouts[] = {
	[8] = {COMMON, LEGACY_FRAMES, GC_STATE, .frame_lasti = 104, .lasti_scale = 1,
		.runtime_gc = 344, .runtime_current = 1368, .runtime_head = 32,
		.runtime_finalizing = 16},
	[9] = {COMMON, LEGACY_FRAMES, GC_STATE, .frame_lasti = 104, .lasti_scale = 1,
		.interp_gc = 616, .runtime_current = 568, .runtime_head = 32,
		.runtime_finalizing = 16},
	[10] = {COMMON, LEGACY_FRAMES, GC_STATE, .frame_lasti = 96, .lasti_scale = 2,
		.interp_gc = 616, .runtime_current = 568, .runtime_head = 32,
		.runtime_finalizing = 16},
	[11] = {COMMON, GC_STATE, .tstate_cframe = 56, .cframe_frame = 8, .tstate_thread = 152,
		.interp_gc = 648, .runtime_current = 576, .runtime_head = 40,
		.runtime_finalizing = 24, .frame_code = 32, .frame_previous = 48, .frame_lasti = 56,
		.frame_owner = 69, .code_first_line = 72, .code_file = 112, .code_name = 128,
		.code_table = 136, .code_adaptive = 184, .text_ascii = 48, .text_compact = 72},
	[12] = {COMMON, GC_STATE, .tstate_cframe = 56, .cframe_frame = 0, .tstate_thread = 136,
		.interp_gc = 112, .interp_gil = 384, .interp_next = 0, .runtime_head = 40,
		.runtime_finalizing = 24, .frame_code = 0, .frame_previous = 8, .frame_lasti = 56,
		.frame_owner = 70, .code_first_line = 68, .code_file = 112, .code_name = 128,
		.code_table = 136, .code_adaptive = 192, .text_ascii = 40, .text_compact = 56},
	[13] = {COMMON, GC_STATE, .tstate_frame = 72, .tstate_thread = 152, .interp_gc = 7400,
		.interp_gil = 16, .interp_next = 7264, .runtime_head = 632,
		.runtime_finalizing = 608, .frame_code = 0, .frame_previous = 8, .frame_lasti = 56,
		.frame_owner = 70, .code_first_line = 68, .code_file = 112, .code_name = 128,
		.code_table = 136, .code_adaptive = 200, .text_ascii = 40, .text_compact = 56},
	[14] = {COMMON, .stats_kind = GC_STATS_INLINE, .tstate_frame = 72, .tstate_thread = 152,
		.interp_gc = 7408, .interp_gil = 16, .interp_next = 7272, .runtime_head = 808,
		.runtime_finalizing = 784, .gc_enabled = 12, .gc_counts = 40, .gc_stats = 120,
		.gc_collecting = 192, .gc_long_lived = 240, .frame_code = 0, .frame_previous = 8,
		.frame_lasti = 56, .frame_owner = 74, .code_first_line = 68, .code_file = 112,
		.code_name = 128, .code_table = 136, .code_adaptive = 208, .text_ascii = 40,
		.text_compact = 56},
	[15] = {COMMON, .stats_kind = GC_STATS_RINGS, .tstate_frame = 72, .tstate_thread = 176,
		.interp_gc = 7400, .interp_gil = 16, .interp_next = 7264, .runtime_head = 936,
		.runtime_finalizing = 912, .gc_enabled = 0, .gc_counts = 24, .gc_stats = 104,
		.gc_collecting = 112, .gc_long_lived = 152, .frame_code = 0, .frame_previous = 8,
		.frame_lasti = 56, .frame_owner = 74, .code_first_line = 68, .code_file = 112,
		.code_name = 128, .code_table = 136, .code_adaptive = 208, .text_ascii = 40,
		.text_compact = 56, .stats_ring_base = {0, 712, 912},
		.stats_ring_index = {704, 904, 1104}, .stats_item = 64,
		.stats_item_collections = 16},
};

/* Where the fields that BPF reads of a frame end. */
static uint16_t frame_bytes(const struct gc_layout *layout)
{
	uint16_t ends[] = {layout->frame_code, layout->frame_previous, layout->frame_lasti,
		layout->frame_owner == GC_NO_FIELD ? 0 : layout->frame_owner / 8 * 8,
		layout->frame_tlbc == GC_NO_FIELD ? 0 : layout->frame_tlbc / 8 * 8};
	uint16_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i] > last)
			last = ends[i];
	return last + 8;
}

/* Positions of the entries used in _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h). */
struct debug_positions {
	uint16_t finalizing, head, interp_next, interp_gc, interp_gil, tstate_interp, tstate_frame,
		tstate_thread, frame_previous, frame_code, frame_lasti, frame_owner, code_file,
		code_name, code_table, code_first_line, code_adaptive, text_ascii, gc_collecting;
	/* Of free-threaded builds; 0: that version has none. */
	uint16_t interp_threads, gil_enabled, gil_holder, tstate_next, frame_tlbc, code_tlbc;
};

#define INTERP_ID 56 /* the position of interpreter_state.id in all of them */

static const struct debug_positions positions[] = {
	[13] = {32, 40, 64, 80, 112, 176, 184, 192, 232, 240, 248, 264, 280, 296, 304, 312, 344,
		560, 576, 72, 128, 144, 168},
	[14] = {32, 40, 64, 88, 120, 200, 208, 216, 256, 264, 272, 288, 320, 336, 344, 352, 384,
		640, 656, 72, 136, 152, 192, 304, 392},
	[15] = {32, 40, 64, 88, 120, 200, 208, 240, 320, 328, 336, 352, 384, 400, 408, 416, 448,
		736, 760, 72, 136, 152, 192, 368, 456},
};

#define DEBUG_OFFSETS_BYTES   768
#define BYTES_READ_OF_A_FRAME 128
#define BYTES_READ_OF_CODE    168

/* Takes the entry at @position if it stays below @limit, else leaves what our own table says. */
#define TAKE(field, position, limit)                                                               \
	do {                                                                                       \
		uint64_t value_;                                                                   \
		memcpy(&value_, table + (position), sizeof(value_));                               \
		if (value_ < (limit))                                                              \
			ret->field = (__typeof__(ret->field))value_;                               \
	} while (0)

static void apply_debug_offsets(const uint8_t *table, const struct debug_positions *at,
	struct gc_layout *ret)
{
	const uint64_t anywhere = 1 << 20;

	TAKE(runtime_finalizing, at->finalizing, anywhere);
	TAKE(runtime_head, at->head, anywhere);
	TAKE(interp_next, at->interp_next, anywhere);
	TAKE(interp_gc, at->interp_gc, anywhere);
	TAKE(interp_gil, at->interp_gil, anywhere);
	TAKE(tstate_interp, at->tstate_interp, GC_NO_FIELD);
	TAKE(tstate_frame, at->tstate_frame, GC_NO_FIELD);
	TAKE(tstate_thread, at->tstate_thread, GC_NO_FIELD);
	TAKE(frame_previous, at->frame_previous, BYTES_READ_OF_A_FRAME);
	TAKE(frame_code, at->frame_code, BYTES_READ_OF_A_FRAME);
	TAKE(frame_lasti, at->frame_lasti, BYTES_READ_OF_A_FRAME);
	TAKE(frame_owner, at->frame_owner, BYTES_READ_OF_A_FRAME);
	TAKE(code_file, at->code_file, BYTES_READ_OF_CODE);
	TAKE(code_name, at->code_name, BYTES_READ_OF_CODE);
	TAKE(code_table, at->code_table, BYTES_READ_OF_CODE);
	TAKE(code_first_line, at->code_first_line, BYTES_READ_OF_CODE);
	TAKE(code_adaptive, at->code_adaptive, anywhere);
	TAKE(text_ascii, at->text_ascii, 256);
	TAKE(gc_collecting, at->gc_collecting, GC_NO_FIELD);
	TAKE(interp_number, INTERP_ID, GC_NO_FIELD);
	ret->text_compact = ret->text_ascii + 16; /* utf8_length and utf8 follow */
}

/*
 * Objects' heads are 32 bytes long, a GIL tells whether it is on, and from 3.14 on a string's `interned` has a byte of its
 * own and threads run copies of a code object's instructions.
 */
static void adapt_free_threaded(const uint8_t *table, const struct debug_positions *at, int minor,
	struct gc_layout *ret)
{
	ret->free_threaded = 1;
	ret->gc_long_lived = GC_NO_FIELD; /* of every collection: not held against the truth */
	ret->head_extra = 16;
	ret->text_shift = minor >= 14 ? 8 : 2;
	ret->gil_enabled = 0;
	ret->gil_holder = 16;
	TAKE(gil_enabled, at->gil_enabled, 256);
	TAKE(gil_holder, at->gil_holder, 256);
	TAKE(interp_threads, at->interp_threads, 1 << 20);
	TAKE(tstate_next, at->tstate_next, GC_NO_FIELD);
	if (!at->frame_tlbc)
		return;
	ret->frame_tlbc = 72;
	ret->code_tlbc = 224;
	TAKE(frame_tlbc, at->frame_tlbc, BYTES_READ_OF_A_FRAME);
	TAKE(code_tlbc, at->code_tlbc, 1 << 20);
}

/* 3.14.0 – 3.14.4 do, and keep no count of long-lived objects. */
static bool collects_in_increments(uint64_t version, bool free_threaded)
{
	return !free_threaded && version >> 8 >= 0x030e00 && version >> 8 < 0x030e05;
}

static bool correct_by_file(const struct elf_file *file, int minor, struct gc_layout *ret)
{
	uint8_t table[DEBUG_OFFSETS_BYTES];
	uint64_t version, free_threaded;

	if ((size_t)minor >= ARRAY_SIZE(positions) || !positions[minor].head ||
		elf_file_read(file, ret->runtime_address, table, sizeof(table)) ||
		memcmp(table, "xdebugpy", 8))
		return false;
	memcpy(&version, table + 8, sizeof(version));
	memcpy(&free_threaded, table + 16, sizeof(free_threaded));
	if (version >> 24 != 3 || (int)(version >> 16 & 0xff) != minor)
		return false;
	apply_debug_offsets(table, &positions[minor], ret);
	if (collects_in_increments(version, free_threaded)) {
		ret->gc_long_lived = GC_NO_FIELD;
		ret->deferred = GC_DEFERRED_INCREMENT;
	}
	if (free_threaded)
		adapt_free_threaded(table, &positions[minor], minor, ret);
	return free_threaded;
}

/*
 * Debian's 3.13 packs `generations` four bytes lower (its gchead-alignment patch), and no offset in
 * the file says so. But the main interpreter lies in _PyRuntime, initialised at compile time: its
 * `enabled` and its thresholds, 2000, 10 and 10, stand in the file this or the other way.
 */
static void find_counts(const struct elf_file *file, uint64_t runtime_size, struct gc_layout *ret)
{
	enum { STEP = 4096, BYTES = STEP + 96 };
	uint8_t bytes[BYTES];

	for (uint64_t at = 0; at + BYTES <= runtime_size; at += STEP) {
		if (elf_file_read(file, ret->runtime_address + at, bytes, BYTES))
			break;
		for (int i = 0; i < STEP; i += 8)
			for (int shift = 0; shift <= 4; shift += 4) {
				int32_t enabled, young, middle, old;

				memcpy(&enabled, bytes + i + 12, 4);
				memcpy(&young, bytes + i + 40 - shift, 4);
				memcpy(&middle, bytes + i + 64 - shift, 4);
				memcpy(&old, bytes + i + 88 - shift, 4);
				if (enabled != 1 || young != 2000 || middle != 10 || old != 10)
					continue;
				ret->gc_counts = (uint16_t)(40 - shift);
				return;
			}
	}
	ret->gc_counts = GC_NO_FIELD;
}

void cpython_layout(const struct elf_file *file, int minor, const struct elf_symbol *runtime,
	struct gc_layout *ret, bool *ret_free_threaded)
{
	static const uint16_t number[] = {[8] = 16,
		[9] = 24,
		[10] = 24,
		[11] = 48,
		[12] = 8,
		[13] = 7272,
		[14] = 7280,
		[15] = 7272};

	*ret = layouts[minor];
	ret->interp_number = number[minor];
	ret->runtime_address = runtime->vaddr;
	ret->deferred = minor >= 12 ? GC_DEFERRED : GC_DEFERRED_NOT;
	/* Up to 3.11 the GIL is in _PyRuntime, with two of glibc's mutexes: of 48 bytes there, of 40 on x86-64. */
	if (elf_file_machine(file) == EM_AARCH64 && minor <= 11)
		ret->runtime_current += 2 * 8;
	*ret_free_threaded = correct_by_file(file, minor, ret);
	ret->frame_bytes = frame_bytes(ret);
	if (minor == 13)
		find_counts(file, runtime->size, ret);
}
