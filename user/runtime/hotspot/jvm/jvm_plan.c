/*
 * A JVM's plan put together, and the counters of a safepoint record taken apart again. In:
 * vmStructs; later, bytes that BPF copied. Out: struct gc_jvm; numbers and texts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan_priv.h"

#define OP_THREAD                                                                                  \
	8 /* VM_Operation::_calling_thread: behind the vtable, in 8 to 27 (vmOperations.hpp) */

static uint16_t narrow(uint64_t value)
{
	return value < GC_NO_FIELD ? (uint16_t)value : GC_NO_FIELD;
}

/* An offset or size that a wire field can hold, else GC_NO_FIELD. */
static uint16_t plan_field(const struct jvm *jvm, const char *type, const char *field)
{
	uint32_t offset;

	return jvm_field(jvm, type, field, &offset) ? GC_NO_FIELD : narrow(offset);
}

/* The first of several names that the JVM knows: they change from release to release. */
struct alias {
	const char *type, *field;
};

static uint16_t first_field(const struct jvm *jvm, const struct alias *aliases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t offset = plan_field(jvm, aliases[i].type, aliases[i].field);

		if (offset != GC_NO_FIELD)
			return offset;
	}
	return GC_NO_FIELD;
}
#define FIRST_FIELD(jvm, ...)                                                                      \
	first_field(jvm, (const struct alias[]){__VA_ARGS__},                                      \
		sizeof((const struct alias[]){__VA_ARGS__}) / sizeof(struct alias))

static uint16_t size_of(const struct jvm *jvm, const char *type)
{
	uint64_t size;

	return jvm_type_size(jvm, type, &size) ? GC_NO_FIELD : narrow(size);
}

/* A field of a frame anchor that lies at @anchor. */
static uint16_t in_anchor(const struct jvm *jvm, uint16_t anchor, const char *field)
{
	uint16_t offset = plan_field(jvm, "JavaFrameAnchor", field);

	if (anchor == GC_NO_FIELD || offset == GC_NO_FIELD)
		return GC_NO_FIELD;
	return narrow((uint64_t)anchor + offset);
}

static void layout_threads(const struct jvm *jvm, struct gc_jvm *wire)
{
	uint16_t anchor = plan_field(jvm, "JavaThread", "_anchor");
	uint16_t outer = plan_field(jvm, "JavaCallWrapper", "_anchor");

	/* Thread's own field, though up to 21 the table puts it down to JavaThread. */
	wire->thread_osthread =
		FIRST_FIELD(jvm, {"Thread", "_osthread"}, {"JavaThread", "_osthread"});
	wire->osthread_tid = plan_field(jvm, "OSThread", "_thread_id");
	wire->thread_poll_pc = plan_field(jvm, "JavaThread", "_saved_exception_pc");
	if (wire->thread_poll_pc == GC_NO_FIELD)
		wire->thread_poll_pc = 0;
	wire->anchor_sp = in_anchor(jvm, anchor, "_last_Java_sp");
	wire->anchor_fp = in_anchor(jvm, anchor, "_last_Java_fp");
	wire->anchor_pc = in_anchor(jvm, anchor, "_last_Java_pc");
	wire->wrapper_sp = in_anchor(jvm, outer, "_last_Java_sp");
	wire->wrapper_fp = in_anchor(jvm, outer, "_last_Java_fp");
	wire->wrapper_pc = in_anchor(jvm, outer, "_last_Java_pc");
}

/* How much of a block a walk must read: up to the end of the last field of these. */
static uint16_t block_bytes(const struct gc_jvm *wire)
{
	const struct {
		uint16_t offset, bytes;
	} fields[] = {{0, 8}, {wire->blob_frame_size, 4}, {wire->blob_name, 8},
		{wire->blob_kind, 1}, {wire->nmethod_method, 8}, {wire->nmethod_compile_id, 4},
		{wire->nmethod_deopt, wire->nmethod_deopt_wide},
		{wire->nmethod_deopt_mh, wire->nmethod_deopt_wide}, {wire->nmethod_orig_pc, 4}};
	uint32_t bytes = 0;

	if (wire->block_header == GC_NO_FIELD)
		return 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t end = (uint32_t)wire->block_header + fields[i].offset + fields[i].bytes;

		if (fields[i].offset != GC_NO_FIELD && end > bytes)
			bytes = end;
	}
	return bytes <= GC_BLOCK_BYTES ? (uint16_t)bytes : 0;
}

static void layout_code(const struct jvm *jvm, struct gc_jvm *wire)
{
	wire->block_header = size_of(jvm, "HeapBlock");
	wire->blob_frame_size = plan_field(jvm, "CodeBlob", "_frame_size");
	wire->blob_name = plan_field(jvm, "CodeBlob", "_name");
	wire->blob_kind = plan_field(jvm, "CodeBlob", "_kind");
	wire->nmethod_method =
		FIRST_FIELD(jvm, {"nmethod", "_method"}, {"CompiledMethod", "_method"});
	wire->nmethod_compile_id = plan_field(jvm, "nmethod", "_compile_id");
	wire->nmethod_orig_pc = plan_field(jvm, "nmethod", "_orig_pc_offset");
	/* A pointer in 9 to 22, else an offset from the nmethod's begin (code/nmethod.hpp). */
	wire->nmethod_deopt = plan_field(jvm, "CompiledMethod", "_deopt_handler_begin");
	wire->nmethod_deopt_mh = plan_field(jvm, "CompiledMethod", "_deopt_mh_handler_begin");
	wire->nmethod_deopt_wide = 8;
	if (wire->nmethod_deopt == GC_NO_FIELD) {
		wire->nmethod_deopt = FIRST_FIELD(jvm, {"nmethod", "_deopt_handler_entry_offset"},
			{"nmethod", "_deopt_handler_offset"}, {"nmethod", "_deoptimize_offset"});
		wire->nmethod_deopt_mh = FIRST_FIELD(jvm, {"nmethod", "_deopt_mh_handler_offset"},
			{"nmethod", "_deoptimize_mh_offset"});
		wire->nmethod_deopt_wide = 4;
	}
	wire->method_const = plan_field(jvm, "Method", "_constMethod");
	wire->const_bytes = size_of(jvm, "ConstMethod");
	wire->block_bytes = block_bytes(wire);
	wire->interpreter_bcp =
		jvm_release_number(jvm) == 8 ? 56 : 64; /* frame_x86.hpp: a mirror since 9 */
}

static bool has_layout(const struct gc_jvm *wire)
{
	const uint16_t needed[] = {wire->anchor_sp, wire->anchor_fp, wire->anchor_pc,
		wire->wrapper_sp, wire->wrapper_fp, wire->wrapper_pc, wire->block_header,
		wire->blob_frame_size, wire->nmethod_method, wire->nmethod_compile_id,
		wire->method_const, wire->const_bytes};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (needed[i] == GC_NO_FIELD)
			return false;
	return wire->block_bytes != 0;
}

int jvm_plan(const struct jvm *jvm, struct jvm_plan *ret, struct err *err)
{
	struct jvm_plan plan = {0};
	int threads, code, counters;
	bool walkable;

	layout_threads(jvm, &plan.wire);
	layout_code(jvm, &plan.wire);
	plan.wire.op_thread = OP_THREAD;
	plan.wire.current_op = jvm_symbol(jvm, "_ZN8VMThread17_cur_vm_operationE");
	counters = plan_counters(jvm, &plan);
	threads = plan_threads(jvm, &plan);
	code = plan_code(jvm, &plan);
	walkable = has_layout(&plan.wire);
	if (!walkable)
		plan_lacks(&plan, "Java stacks (frames are not laid out as expected)");
	else
		plan.walks = plan.wire.java_vtable && plan.wire.interpreter_start &&
			     plan.wire.heaps[0].start;
	if (!plan.walks)
		plan.wire.java_vtable = 0;
	if (!plan.wire.current_op)
		plan_lacks(&plan,
			"requesters and operations, unless USDT probes tell them (no symbols)");
	if (counters == -ENOMEM)
		return err_set(err, ENOMEM, "out of memory");
	*ret = plan;
	/* Zero, which only interprets, has no code to wait for. */
	if (counters || (walkable && (threads || code)))
		return err_set(err, EAGAIN, "the JVM is still starting");
	return 0;
}

int jvm_counter(const struct jvm_plan *plan, enum jvm_counter counter, const uint8_t *perf,
	size_t perf_bytes, uint64_t *ret)
{
	const struct jvm_counter_place *place;

	if (counter >= JVM_COUNTERS || counter == JVM_CAUSE || counter == JVM_LAST_CAUSE)
		return -ENOENT;
	place = &plan->counters[counter];
	if (place->bytes != 8 || (size_t)place->offset + 8 > perf_bytes)
		return -ENOENT;
	memcpy(ret, perf + place->offset, 8);
	return 0;
}

int jvm_counter_text(const struct jvm_plan *plan, enum jvm_counter counter, const uint8_t *perf,
	size_t perf_bytes, char *ret, size_t size)
{
	const struct jvm_counter_place *place;
	size_t len;

	if (!size || (counter != JVM_CAUSE && counter != JVM_LAST_CAUSE))
		return -ENOENT;
	place = &plan->counters[counter];
	if (!place->bytes || (size_t)place->offset + place->bytes > perf_bytes)
		return -ENOENT;
	len = strnlen((const char *)perf + place->offset, place->bytes);
	if (len > size - 1)
		len = size - 1;
	for (size_t i = 0; i < len; i++) {
		uint8_t c = perf[place->offset + i];

		ret[i] = c < ' ' || c > '~' ? '?' : (char)c;
	}
	ret[len] = '\0';
	return 0;
}

int jvm_counter_now(const struct jvm *jvm, const struct jvm_plan *plan, enum jvm_counter counter,
	uint64_t *ret)
{
	uint8_t perf[GC_PERF_BYTES] = {0};

	for (uint32_t i = 0; i < plan->wire.window_count; i++) {
		const struct gc_jvm_window *window = &plan->wire.windows[i];
		uint32_t at = plan->counters[counter].offset;

		if (at < window->offset || at - window->offset >= window->bytes)
			continue;
		if (jvm_read(jvm, window->address, perf + window->offset, window->bytes))
			return -EFAULT;
	}
	return jvm_counter(plan, counter, perf, sizeof(perf), ret);
}
