/*
 * Where a JVM's code lies: interpreter, stubs, compiled methods. In: its vmStructs, a few blobs of
 * its code cache. Out: what a stack walk must know to tell one kind of frame from another.
 */
#include <errno.h>
#include <string.h>

#include "plan_priv.h"

#define SCAN_MAX 16384 /* blobs looked at, at most, to find a compiled method */

struct code_heap {
	uint64_t address;	 /* of the CodeHeap */
	uint64_t low, high, end; /* used up to high, reserved up to end */
	uint64_t segmap;
	uint32_t shift;
};

static int read_heap(const struct jvm *jvm, uint64_t address, struct code_heap *ret)
{
	uint32_t memory, segmap, shift, low, high, boundary;
	struct code_heap heap = {.address = address};
	bool failed = false;

	if (jvm_field(jvm, "CodeHeap", "_memory", &memory) ||
		jvm_field(jvm, "CodeHeap", "_segmap", &segmap) ||
		jvm_field(jvm, "CodeHeap", "_log2_segment_size", &shift) ||
		jvm_field(jvm, "VirtualSpace", "_low", &low) ||
		jvm_field(jvm, "VirtualSpace", "_high", &high) ||
		jvm_field(jvm, "VirtualSpace", "_high_boundary", &boundary))
		return -ENOENT;
	heap.low = jvm_read_u64(jvm, address + memory + low, &failed);
	heap.high = jvm_read_u64(jvm, address + memory + high, &failed);
	heap.end = jvm_read_u64(jvm, address + memory + boundary, &failed);
	heap.segmap = jvm_read_u64(jvm, address + segmap + low, &failed);
	heap.shift = jvm_read_u32(jvm, address + shift, &failed);
	if (failed || !heap.low || !heap.segmap)
		return -EAGAIN;
	if (heap.low > heap.high || heap.high > heap.end || heap.shift < 3 || heap.shift > 20)
		return -EBADMSG;
	*ret = heap;
	return 0;
}

/* The addresses of the CodeHeaps: one up to 8, since then a GrowableArray<CodeHeap *>. Returns how
 * many. */
static int heap_addresses(const struct jvm *jvm, uint64_t ret[GC_CODE_HEAPS])
{
	uint64_t at, array, heaps[GC_CODE_HEAPS];
	uint32_t length_at, data_at, length;
	bool failed = false;

	if (!jvm_static(jvm, "CodeCache", "_heap", &at)) {
		ret[0] = jvm_read_u64(jvm, at, &failed);
		return failed || !ret[0] ? -EAGAIN : 1;
	}
	if (jvm_static(jvm, "CodeCache", "_heaps", &at) ||
		jvm_field(jvm, "GrowableArray<int>", "_data", &data_at) ||
		(jvm_field(jvm, "GrowableArrayBase", "_len", &length_at) &&
			jvm_field(jvm, "GenericGrowableArray", "_len", &length_at)))
		return -ENOENT;
	array = jvm_read_u64(jvm, at, &failed);
	length = jvm_read_u32(jvm, array + length_at, &failed);
	array = jvm_read_u64(jvm, array + data_at, &failed);
	if (failed || !length || !array)
		return -EAGAIN;
	if (length > GC_CODE_HEAPS)
		return -EBADMSG;
	if (jvm_read(jvm, array, heaps, length * 8))
		return -EAGAIN;
	memcpy(ret, heaps, length * 8);
	return (int)length;
}

/* Is @name the address of what compiled methods are called? The last one that is not is kept in
 * @other. */
static bool names_nmethod(const struct jvm *jvm, uint64_t name, uint64_t *other)
{
	char text[16];

	if (!name || name == *other || jvm_read_text(jvm, name, text, sizeof(text)))
		return false;
	if (!strcmp(text, "nmethod") || !strcmp(text, "native nmethod"))
		return true;
	*other = name;
	return false;
}

/*
 * The vtable of class nmethod, from two blobs of @heap that call themselves one; 0: none. Blocks
 * lie one behind the other, each with its length in segments and whether it is used
 * (memory/heap.hpp): in a free one a name may still stand, but the vtable has made room for a link.
 */
static uint64_t scan_heap(const struct jvm *jvm, const struct code_heap *heap,
	const struct gc_jvm *wire)
{
	uint64_t other = 0, at = heap->low, found = 0;

	for (int i = 0; i < SCAN_MAX && at < heap->high; i++) {
		struct {
			uint64_t length;
			uint8_t used;
		} header;
		uint64_t blob = at + wire->block_header, vtable;

		if (jvm_read(jvm, at, &header, 9) || !header.length ||
			header.length > (heap->high - at) >> heap->shift)
			return 0;
		at += header.length << heap->shift;
		if (!header.used ||
			!names_nmethod(jvm, jvm_read_u64(jvm, blob + wire->blob_name, NULL),
				&other))
			continue;
		vtable = jvm_read_u64(jvm, blob, NULL);
		if (vtable && vtable == found)
			return found;
		found = vtable;
	}
	return 0;
}

/* How a compiled method is told from other blobs. -EAGAIN: none has been compiled yet. */
static int plan_nmethod(const struct jvm *jvm, const struct code_heap *heaps, int count,
	struct gc_jvm *wire)
{
	bool compiles = true;
	int64_t kind;

	if (wire->blob_kind != GC_NO_FIELD && !jvm_constant(jvm, "CodeBlobKind::Nmethod", &kind) &&
		kind >= 0 && kind < 256) {
		wire->nmethod_kind = (uint16_t)kind;
		if (!jvm_constant(jvm, "CodeBlobKind::Safepoint", &kind) && kind >= 0 && kind < 256)
			wire->safepoint_kind = (uint16_t)kind;
		return 0;
	}
	wire->blob_kind = GC_NO_FIELD;
	wire->nmethod_vtable = jvm_symbol(jvm, "_ZTV7nmethod");
	if (wire->nmethod_vtable) {
		wire->nmethod_vtable += 16;
		return 0;
	}
	if (wire->blob_name == GC_NO_FIELD || wire->block_header != 16)
		return 0; /* a release between 22 and 25 whose blocks have another header */
	while (count-- && !wire->nmethod_vtable)
		wire->nmethod_vtable = scan_heap(jvm, &heaps[count], wire);
	(void)jvm_flag(jvm, "UseCompiler", &compiles);
	return wire->nmethod_vtable || !compiles ? 0 : -EAGAIN;
}

static int plan_heaps(const struct jvm *jvm, struct jvm_plan *plan)
{
	struct code_heap heaps[GC_CODE_HEAPS];
	uint64_t addresses[GC_CODE_HEAPS];
	int count = heap_addresses(jvm, addresses);

	for (int i = 0; i < count; i++) {
		int r = read_heap(jvm, addresses[i], &heaps[i]);

		if (!r && heaps[i].shift != heaps[0].shift)
			r = -EBADMSG;
		if (r)
			count = r;
	}
	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		plan->wire.heaps[i] =
			(struct gc_code_heap){heaps[i].low, heaps[i].end, heaps[i].segmap};
	plan->wire.segment_shift = heaps[0].shift;
	return plan_nmethod(jvm, heaps, count, &plan->wire);
}

static int plan_interpreter(const struct jvm *jvm, struct jvm_plan *plan)
{
	uint32_t buffer_at, limit_at;
	uint64_t code, call_stub;
	bool failed = false;

	if (jvm_static(jvm, "AbstractInterpreter", "_code", &code) ||
		jvm_static(jvm, "StubRoutines", "_call_stub_return_address", &call_stub) ||
		jvm_field(jvm, "StubQueue", "_stub_buffer", &buffer_at) ||
		jvm_field(jvm, "StubQueue", "_buffer_limit", &limit_at))
		return -ENOENT;
	code = jvm_read_u64(jvm, code, &failed);
	call_stub = jvm_read_u64(jvm, call_stub, &failed);
	if (!code || !call_stub)
		return -EAGAIN;
	plan->wire.interpreter_start = jvm_read_u64(jvm, code + buffer_at, &failed);
	plan->wire.interpreter_end =
		plan->wire.interpreter_start + jvm_read_u32(jvm, code + limit_at, &failed);
	plan->wire.call_stub_return = call_stub;
	return failed ? -EAGAIN : 0;
}

static void plan_return_barrier(const struct jvm *jvm, struct gc_jvm *wire)
{
	uint64_t at = jvm_symbol(jvm, "_ZN12StubRoutines19_cont_returnBarrierE");

	if (at || !jvm_static(jvm, "StubRoutines", "_cont_returnBarrier", &at))
		wire->return_barrier = jvm_read_u64(jvm, at, NULL);
}

int plan_code(const struct jvm *jvm, struct jvm_plan *plan)
{
	int interpreter = plan_interpreter(jvm, plan), heaps = plan_heaps(jvm, plan);

	plan_return_barrier(jvm, &plan->wire);
	if (interpreter == -EAGAIN || heaps == -EAGAIN)
		return -EAGAIN;
	if (interpreter || heaps)
		plan_lacks(plan, "Java stacks (its code cache is not laid out as expected)");
	return 0;
}
