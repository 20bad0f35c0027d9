/*
 * A JVM made of bytes, for tests of the jvm room: its exported tables, flags, counters, threads and
 * code cache, as JDK 8, 17 or 25 lay them out. What a test changes in it, it changes in the bytes.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gc_wire.h"
#include "jvm.h"

#define IMAGE_BASE     0x7f1200000000ull
#define IMAGE_BYTES    0x20000
#define IMAGE_THREADS  5
#define IMAGE_SYMBOLS  64
#define IMAGE_ROWS     128
#define IMAGE_COUNTERS 24

struct image_row {
	const char *type, *field;
	bool is_static;
	uint64_t value;
};

struct image {
	uint8_t bytes[IMAGE_BYTES];
	size_t used;
	struct {
		const char *name;
		uint64_t at;
	} symbols[IMAGE_SYMBOLS];
	size_t symbol_count;
	bool stripped; /* only the gHotSpotVM… are known */
	struct image_row rows[IMAGE_ROWS], types[IMAGE_ROWS];
	size_t row_count, type_count;
	int release;

	/* Where a test may want to change something. */
	uint64_t structs, flags, perf,
		perf_used; /* the arrays; the hsperf block, bytes used of it */
	uint64_t threads[IMAGE_THREADS], vtable; /* oldest first */
	uint64_t list, list_head; /* ThreadsList (17, 25), the pointer to it or the newest */
	uint64_t heap_memory, heap_array; /* blocks; GrowableArray of CodeHeaps */
	uint64_t nmethods[2], nmethod_vtable;
	uint64_t code, call_stub; /* variables: AbstractInterpreter::_code, the stub's address */
};

static inline uint64_t image_alloc(struct image *image, size_t len, size_t align)
{
	size_t at = (image->used + align - 1) & ~(align - 1);

	if (at + len > IMAGE_BYTES)
		abort();
	image->used = at + len;
	return IMAGE_BASE + at;
}

static inline uint8_t *image_at(struct image *image, uint64_t address)
{
	return image->bytes + (address - IMAGE_BASE);
}

static inline void image_put(struct image *image, uint64_t address, uint64_t value, size_t bytes)
{
	memcpy(image_at(image, address), &value, bytes);
}

static inline uint64_t image_get(struct image *image, uint64_t address)
{
	uint64_t value;

	memcpy(&value, image_at(image, address), 8);
	return value;
}

static inline uint64_t image_text(struct image *image, const char *text)
{
	uint64_t at = image_alloc(image, strlen(text) + 1, 1);

	memcpy(image_at(image, at), text, strlen(text) + 1);
	return at;
}

/* A variable of 8 bytes. */
static inline uint64_t image_var(struct image *image, uint64_t value)
{
	uint64_t at = image_alloc(image, 8, 8);

	image_put(image, at, value, 8);
	return at;
}

static inline void image_symbol(struct image *image, const char *name, uint64_t at)
{
	if (image->symbol_count == IMAGE_SYMBOLS)
		abort();
	image->symbols[image->symbol_count].name = name;
	image->symbols[image->symbol_count++].at = at;
}

static inline int image_read(void *arg, uint64_t address, void *ret, size_t len)
{
	struct image *image = arg;

	if (address < IMAGE_BASE || address - IMAGE_BASE > IMAGE_BYTES ||
		len > IMAGE_BYTES - (address - IMAGE_BASE))
		return -EFAULT;
	memcpy(ret, image_at(image, address), len);
	return 0;
}

static inline uint64_t image_find(void *arg, const char *name)
{
	struct image *image = arg;

	if (image->stripped && strncmp(name, "gHotSpot", 8))
		return 0;
	for (size_t i = 0; i < image->symbol_count; i++)
		if (!strcmp(image->symbols[i].name, name))
			return image->symbols[i].at;
	return 0;
}

static inline void image_field(struct image *image, const char *type, const char *field,
	uint64_t offset)
{
	if (image->row_count == IMAGE_ROWS)
		abort();
	image->rows[image->row_count++] = (struct image_row){type, field, false, offset};
}

static inline void image_static(struct image *image, const char *type, const char *field,
	uint64_t address)
{
	if (image->row_count == IMAGE_ROWS)
		abort();
	image->rows[image->row_count++] = (struct image_row){type, field, true, address};
}

static inline void image_type(struct image *image, const char *type, uint64_t size)
{
	if (image->type_count == IMAGE_ROWS)
		abort();
	image->types[image->type_count++] = (struct image_row){type, NULL, false, size};
}

static inline void image_version(struct image *image)
{
	static const struct {
		int release, major;
		const char *text;
	} versions[] = {
		{8, 25, "25.504-b08"}, {17, 17, "17.0.99+1-fake"}, {25, 25, "25.0.7+9-LTS"}};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (versions[i].release != image->release)
			continue;
		image_static(image, "Abstract_VM_Version", "_vm_major_version",
			image_var(image, (uint64_t)versions[i].major));
		image_static(image, "Abstract_VM_Version", "_s_vm_release",
			image_var(image, image_text(image, versions[i].text)));
	}
}

struct image_flag {
	const char *name, *type;
	int number; /* of the type, from 17 on */
	uint64_t value;
};

/* The table of flags; its last entry has no name. */
static inline void image_flags(struct image *image, const struct image_flag *flags, size_t count)
{
	bool old = image->release == 8;
	const char *type = old ? "Flag" : "JVMFlag";
	size_t stride = old ? 32 : 24;

	image->flags = image_alloc(image, (count + 1) * stride, 8);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = image->flags + i * stride, name = image_text(image, flags[i].name);
		uint64_t address = image_var(image, flags[i].value);

		image_put(image, at + 8, name, 8);
		image_put(image, at + (old ? 16 : 0), address, 8);
		if (old)
			image_put(image, at, image_text(image, flags[i].type), 8);
		else
			image_put(image, at + 20, (uint64_t)flags[i].number, 4);
	}
	image_static(image, type, "flags", image_var(image, image->flags));
	image_static(image, type, "numFlags", image_var(image, count + 1));
	image_field(image, type, "_name", 8);
	image_field(image, type, "_type", old ? 0 : 20);
	image_field(image, type, "_addr", old ? 16 : 0);
	image_type(image, type, stride);
}

static inline void image_usual_flags(struct image *image)
{
	static const struct image_flag flags[] = {
		{"UseSerialGC", "bool", 0, 0},
		{"UseG1GC", "bool", 0, 0x0101010101010101},
		{"UseParallelGC", "bool", 0, 0},
		{"UseZGC", "bool", 0, 0},
		{"ZGenerational", "bool", 0, 0},
		{"UseShenandoahGC", "bool", 0, 0},
		{"ShenandoahGCMode", "ccstr", 8, 0},
		{"UseEpsilonGC", "bool", 0, 0},
		{"UseConcMarkSweepGC", "bool", 0, 0},
		{"MaxHeapSize", "size_t", 6, 0x6400000},
		{"OnError", "ccstrlist", 9, 0},
		{"RTMRetryCount", "int", 1, 0xfffffffb},
		{"ParallelGCThreads", "uint", 2, 0xfffffffb},
		{"CompileThreshold", "intx", 3, 10007},
		{"MaxRAMPercentage", "double", 7, 0x4039000000000000},
		{"UsePerfData", "bool", 0, 1},
		{"UseCompiler", "bool", 0, 1},
	};
	struct image_flag copy[sizeof(flags) / sizeof(flags[0])];

	memcpy(copy, flags, sizeof(flags));
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (image->release == 8 && !strcmp(copy[i].type, "size_t"))
			copy[i].type = "uintx";
	image_flags(image, copy, sizeof(copy) / sizeof(copy[0]));
}

/* Where the value of @name is kept. */
static inline uint64_t image_flag_at(struct image *image, const char *name)
{
	size_t stride = image->release == 8 ? 32 : 24;

	for (uint64_t at = image->flags;; at += stride) {
		uint64_t text = image_get(image, at + 8);

		if (!text)
			abort();
		if (!strcmp((char *)image_at(image, text), name))
			return image_get(image, at + (image->release == 8 ? 16 : 0));
	}
}

/* Appends a counter to the hsperf block; a number if @text is NULL. Returns the value's address. */
static inline uint64_t image_counter(struct image *image, const char *name, const char *text,
	uint64_t number, size_t gap)
{
	uint64_t at = image->perf + image->perf_used + gap;
	size_t bytes = text ? 81 : 8;
	size_t data = (20 + strlen(name) + 1 + 7) & ~7ul, length = (data + bytes + 7) & ~7ul;
	uint64_t count_at = image->perf + 28;

	if (gap) { /* an entry that nobody asks for */
		uint64_t filler = image->perf + image->perf_used;

		image_put(image, filler, gap, 4);
		image_put(image, filler + 4, 20, 4);
		image_put(image, filler + 16, 24, 4);
		image_put(image, filler + 12, 'X', 1);
		image_put(image, count_at, image_get(image, count_at) + 1, 4);
	}
	image_put(image, at, length, 4);
	image_put(image, at + 4, 20, 4);
	image_put(image, at + 8, text ? bytes : 0, 4);
	image_put(image, at + 12, text ? 'B' : 'J', 1);
	image_put(image, at + 16, data, 4);
	memcpy(image_at(image, at + 20), name, strlen(name) + 1);
	if (text)
		memcpy(image_at(image, at + data), text, strlen(text) + 1);
	else
		image_put(image, at + data, number, 8);
	image->perf_used = at + length - image->perf;
	image_put(image, image->perf + 8, image->perf_used, 4);
	image_put(image, count_at, image_get(image, count_at) + 1, 4);
	return at + data;
}

/* @gap: bytes between the counters that are asked for. */
static inline void image_counters(struct image *image, size_t gap)
{
	size_t size = 0x2000;

	image->perf = image_alloc(image, size, 8);
	image_put(image, image->perf, 0xc0c0feca, 4);
	image_put(image, image->perf + 4, 0x01000201, 4); /* little endian, 2.0, accessible */
	image_put(image, image->perf + 24, 32, 4);
	image->perf_used = 32;
	image_counter(image, "sun.rt.safepointSyncTime", NULL, 1009, 0);
	image_counter(image, "sun.rt.safepoints", NULL, 23, gap);
	image_counter(image, "sun.rt.safepointTime", NULL, 2003, gap);
	image_counter(image, "java.cls.unloadedClasses", NULL, 7, gap);
	image_counter(image, "java.cls.sharedUnloadedClasses", NULL, 3, gap);
	image_counter(image, "sun.gc.cause", "No GC", 0, gap);
	image_counter(image, "sun.gc.lastCause", "System.gc()", 0, gap);
	image_counter(image, "sun.gc.collector.0.invocations", NULL, 13, gap);
	image_counter(image, "sun.gc.collector.1.invocations", NULL, 11, gap);
	image_counter(image, "sun.os.hrt.frequency", NULL, 1000000000, gap);
	image_static(image, "PerfMemory", "_start", image_var(image, image->perf));
	image_static(image, "PerfMemory", "_end", image_var(image, image->perf + size));
}

#define IMAGE_OSTHREAD 0x40
#define IMAGE_NEXT     0x48
#define IMAGE_ANCHOR   0x60
#define IMAGE_TLS      0x98 /* of the key's data in a thread's own memory */

static inline void image_threads(struct image *image)
{
	bool linked = image->release == 8;
	uint64_t array = image_alloc(image, 8 * IMAGE_THREADS, 8);
	uint64_t other = image_alloc(image, 64, 8), start = image_alloc(image, 16, 16);

	image->vtable = image_alloc(image, 64, 8) + 16;
	image_symbol(image, "_ZTV10JavaThread", image->vtable - 16);
	for (size_t i = 0; i < IMAGE_THREADS; i++) {
		uint64_t thread = image_alloc(image, 0x100, 8), os = image_alloc(image, 0x40, 8);
		uint64_t own = image_alloc(image, 0x200, 64);

		image->threads[i] = thread;
		image_put(image, array + 8 * i, thread, 8);
		/* The third one is a compiler's; the last one was attached, not started. */
		image_put(image, thread, i == 2 ? other : image->vtable, 8);
		image_put(image, thread + IMAGE_OSTHREAD, os, 8);
		if (i && linked)
			image_put(image, thread + IMAGE_NEXT, image->threads[i - 1], 8);
		image_put(image, os + 8, own, 8);
		image_put(image, own + IMAGE_TLS - 8, 3, 8); /* the key's sequence */
		image_put(image, own + IMAGE_TLS, thread, 8);
		if (i + 1 < IMAGE_THREADS) { /* its start function and argument lie there too */
			image_put(image, own + 0x120, start, 8);
			image_put(image, own + 0x128, thread, 8);
		}
	}
	image->list = image_alloc(image, 32, 8);
	image_put(image, image->list + 4, IMAGE_THREADS, 4);
	image_put(image, image->list + 16, array, 8);
	image->list_head =
		image_var(image, linked ? image->threads[IMAGE_THREADS - 1] : image->list);
	image_field(image, "OSThread", "_pthread_id", 8);
	image_field(image, "OSThread", "_thread_id", 16);
	image_field(image, image->release == 25 ? "Thread" : "JavaThread", "_osthread",
		IMAGE_OSTHREAD);
	image_field(image, "JavaThread", "_anchor", IMAGE_ANCHOR);
	image_field(image, "JavaFrameAnchor", "_last_Java_sp", 0);
	image_field(image, "JavaFrameAnchor", "_last_Java_pc", 8);
	image_field(image, "JavaFrameAnchor", "_last_Java_fp", 16);
	image_field(image, "JavaCallWrapper", "_anchor", 32);
	if (linked) {
		image_static(image, "Threads", "_thread_list", image->list_head);
		image_field(image, "JavaThread", "_next", IMAGE_NEXT);
	} else {
		image_static(image, "ThreadsSMRSupport", "_java_thread_list", image->list_head);
		image_field(image, "ThreadsList", "_length", 4);
		image_field(image, "ThreadsList", "_threads", 16);
	}
}

/* A block of the code cache; returns the blob in it. */
static inline uint64_t image_block(struct image *image, uint64_t *at, bool used, uint64_t name,
	uint64_t vtable, uint8_t kind)
{
	bool narrow = image->release == 25;
	uint64_t blob = *at + (narrow ? 8 : 16);

	image_put(image, *at, 2, narrow ? 4 : 8); /* segments of 128 bytes */
	image_put(image, *at + (narrow ? 4 : 8), used, 1);
	if (!narrow)
		image_put(image, blob, vtable, 8);
	else
		image_put(image, blob + 56, kind, 1);
	image_put(image, blob + 8, name, 8);
	*at += 256;
	return blob;
}

static inline void image_heap(struct image *image)
{
	uint64_t nmethod = image_text(image, "nmethod"),
		 native = image_text(image, "native nmethod");
	uint64_t stub = image_text(image, "StubRoutines (1)"), other = image_alloc(image, 64, 8);
	uint64_t memory, segmap, heap = image_alloc(image, 256, 8), at, array;

	image->nmethod_vtable = image_alloc(image, 64, 8) + 16;
	image_symbol(image, "_ZTV7nmethod", image->nmethod_vtable - 16);
	memory = image->heap_memory = image_alloc(image, 8 * 256, 256);
	segmap = image_alloc(image, 16, 16);
	at = memory;
	image_block(image, &at, true, stub, other, 6);
	image_block(image, &at, false, nmethod, other + 32,
		1); /* free: its first word is a pointer */
	image_block(image, &at, false, nmethod, other + 32, 1);
	image->nmethods[0] = image_block(image, &at, true, native, image->nmethod_vtable, 1);
	image->nmethods[1] = image_block(image, &at, true, nmethod, image->nmethod_vtable, 1);
	image_put(image, heap, memory, 8); /* _memory: low_boundary, high_boundary, low, high */
	image_put(image, heap + 8, memory + 8 * 256, 8);
	image_put(image, heap + 16, memory, 8);
	image_put(image, heap + 24, at, 8);
	image_put(image, heap + 112 + 16, segmap, 8);
	image_put(image, heap + 248, 7, 4);
	image_field(image, "CodeHeap", "_memory", 0);
	image_field(image, "CodeHeap", "_segmap", 112);
	image_field(image, "CodeHeap", "_log2_segment_size", 248);
	image_field(image, "VirtualSpace", "_low", 16);
	image_field(image, "VirtualSpace", "_high", 24);
	image_field(image, "VirtualSpace", "_high_boundary", 8);
	if (image->release == 8) {
		image_static(image, "CodeCache", "_heap", image_var(image, heap));
		return;
	}
	array = image_var(image, heap);
	image->heap_array = image_alloc(image, 16, 8);
	image_put(image, image->heap_array, 1, 4);
	image_put(image, image->heap_array + 8, array, 8);
	image_static(image, "CodeCache", "_heaps", image_var(image, image->heap_array));
	image_field(image, "GrowableArrayBase", "_len", 0);
	image_field(image, "GrowableArray<int>", "_data", 8);
}

static inline void image_code(struct image *image)
{
	uint64_t queue = image_alloc(image, 64, 8);

	image_put(image, queue + 8, 0x7f1100001000, 8);
	image_put(image, queue + 20, 0x17000, 4);
	image->code = image_var(image, queue);
	image->call_stub = image_var(image, 0x7f1100000cc9);
	image_static(image, "AbstractInterpreter", "_code", image->code);
	image_static(image, "StubRoutines", "_call_stub_return_address", image->call_stub);
	image_field(image, "StubQueue", "_stub_buffer", 8);
	image_field(image, "StubQueue", "_buffer_limit", 20);
	image_symbol(image, "_ZN12StubRoutines19_cont_returnBarrierE",
		image_var(image, 0x7f1100000dd1));
	image_symbol(image, "_ZN8VMThread17_cur_vm_operationE", image_var(image, 0));
	image_type(image, "HeapBlock", image->release == 25 ? 8 : 16);
	image_type(image, "ConstMethod", 48);
	image_field(image, "Method", "_constMethod", 8);
	image_field(image, "CodeBlob", "_name", 8);
	image_field(image, "CodeBlob", "_frame_size", 44);
	image_field(image, "nmethod", "_compile_id", 204);
	image_field(image, "nmethod", "_orig_pc_offset", 200);
	if (image->release == 25) {
		image_field(image, "CodeBlob", "_kind", 56);
		image_field(image, "nmethod", "_method", 80);
		image_field(image, "nmethod", "_deopt_handler_offset", 176);
		image_field(image, "nmethod", "_deopt_mh_handler_offset", 180);
	} else if (image->release == 17) {
		image_field(image, "CompiledMethod", "_method", 112);
		image_field(image, "CompiledMethod", "_deopt_handler_begin", 128);
		image_field(image, "CompiledMethod", "_deopt_mh_handler_begin", 136);
	} else {
		image_field(image, "nmethod", "_method", 64);
		image_field(image, "nmethod", "_deoptimize_offset", 148);
		image_field(image, "nmethod", "_deoptimize_mh_offset", 152);
	}
}

static inline void image_column(struct image *image, const char *prefix, const char *suffix,
	uint64_t offset)
{
	static char names[32][64];
	static size_t next;
	char *name = names[next++ % 32];

	snprintf(name, sizeof(names[0]), "%s%s", prefix, suffix);
	image_symbol(image, name, image_var(image, offset));
}

/* The exported tables, from the rows gathered. */
static inline void image_tables(struct image *image)
{
	uint64_t types = image_alloc(image, (image->type_count + 1) * 40, 8);
	uint64_t numbers = image_alloc(image, 3 * 16, 8);

	image->structs = image_alloc(image, (image->row_count + 1) * 48, 8);
	for (size_t i = 0; i < image->row_count; i++) {
		const struct image_row *row = &image->rows[i];
		uint64_t at = image->structs + 48 * i;

		image_put(image, at, image_text(image, row->type), 8);
		image_put(image, at + 8, image_text(image, row->field), 8);
		image_put(image, at + 24, row->is_static, 4);
		image_put(image, at + (row->is_static ? 40 : 32), row->value, 8);
	}
	for (size_t i = 0; i < image->type_count; i++) {
		image_put(image, types + 40 * i, image_text(image, image->types[i].type), 8);
		image_put(image, types + 40 * i + 32, image->types[i].value, 8);
	}
	image_put(image, numbers, image_text(image, "CodeBlobKind::Nmethod"), 8);
	image_put(image, numbers + 8, 1, 4);
	image_put(image, numbers + 16, image_text(image, "Deoptimization::Reason_many"), 8);
	image_put(image, numbers + 24, 0xfffffff9, 4);
	image_symbol(image, "gHotSpotVMStructs", image_var(image, image->structs));
	image_symbol(image, "gHotSpotVMTypes", image_var(image, types));
	image_symbol(image, "gHotSpotVMIntConstants", image_var(image, numbers));
	image_column(image, "gHotSpotVMStructEntry", "TypeNameOffset", 0);
	image_column(image, "gHotSpotVMStructEntry", "FieldNameOffset", 8);
	image_column(image, "gHotSpotVMStructEntry", "IsStaticOffset", 24);
	image_column(image, "gHotSpotVMStructEntry", "OffsetOffset", 32);
	image_column(image, "gHotSpotVMStructEntry", "AddressOffset", 40);
	image_column(image, "gHotSpotVMStructEntry", "ArrayStride", 48);
	image_column(image, "gHotSpotVMTypeEntry", "TypeNameOffset", 0);
	image_column(image, "gHotSpotVMTypeEntry", "SizeOffset", 32);
	image_column(image, "gHotSpotVMTypeEntry", "ArrayStride", 40);
	image_column(image, "gHotSpotVMIntConstantEntry", "NameOffset", 0);
	image_column(image, "gHotSpotVMIntConstantEntry", "ValueOffset", 8);
	image_column(image, "gHotSpotVMIntConstantEntry", "ArrayStride", 16);
}

/* A whole JVM of @release (8, 17 or 25) under G1, whose counters lie @gap bytes apart. */
static inline void image_init(struct image *image, int release, size_t gap)
{
	memset(image, 0, sizeof(*image));
	image->release = release;
	image->used = 16;
	image_version(image);
	image_usual_flags(image);
	image_static(image, "Universe", "_collectedHeap", image_var(image, 0x600000000));
	image_counters(image, gap);
	image_threads(image);
	image_heap(image);
	image_code(image);
	image_tables(image);
}

/* The entry of a field in the table. */
static inline uint64_t image_entry(struct image *image, const char *type, const char *field)
{
	for (size_t i = 0; i < image->row_count; i++)
		if (!strcmp(image->rows[i].type, type) && !strcmp(image->rows[i].field, field))
			return image->structs + 48 * i;
	abort();
}

/* The address of a static field's variable. */
static inline uint64_t image_static_at(struct image *image, const char *type, const char *field)
{
	return image_get(image, image_entry(image, type, field) + 40);
}

static inline void image_set_flag(struct image *image, const char *name, uint64_t value)
{
	image_put(image, image_flag_at(image, name), value, 8);
}

static inline struct jvm_source image_source(struct image *image)
{
	return (struct jvm_source){image, image_read, image_find};
}
