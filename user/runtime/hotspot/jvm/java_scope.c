/*
 * Debug information of compiled code. In: the sections of one nmethod, a pc. Out: the scope at the
 * pc, scope by scope outwards: method and bytecode index. Layout: HotSpot's code/pcDesc.hpp,
 * code/scopeDesc.cpp, code/debugInfo.hpp, the same from 8 to 27 but for UNSIGNED5's excluded byte.
 */
#include <errno.h>
#include <string.h>

#include "java_layout.h"

#define PC_DESC_BYTES 16 /* PcDesc: four ints, sorted by the first */
#define U5_LOW	      64 /* bytes below 256 − 64 end a number; the rest carry six bits each */
#define U5_BYTES      5

uint64_t java_get(const uint8_t *copy, uint32_t offset, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, copy + offset, bytes); /* little-endian, as the JVMs that are walked */
	return value;
}

bool java_pointer(uint64_t address)
{
	return address >= 4096 && address < 1ull << 47 && !(address & 7);
}

void java_stream_init(struct java_stream *stream, const struct jvm *jvm, uint64_t at, uint64_t end)
{
	stream->jvm = jvm;
	stream->at = at;
	stream->end = end;
	stream->count = stream->next = 0;
}

int java_stream_byte(struct java_stream *stream)
{
	uint64_t left = stream->end > stream->at ? stream->end - stream->at : 0;
	int r;

	if (stream->next < stream->count)
		return stream->bytes[stream->next++];
	if (!left)
		return -EBADMSG;
	if (left > sizeof(stream->bytes))
		left = sizeof(stream->bytes);
	r = jvm_read(stream->jvm, stream->at, stream->bytes, left);
	if (r)
		return r;
	stream->at += left;
	stream->count = (uint32_t)left;
	stream->next = 1;
	return stream->bytes[0];
}

int java_stream_u5(struct java_stream *stream, uint32_t excluded, uint32_t *ret)
{
	uint32_t sum = 0;

	for (int i = 0; i < U5_BYTES; i++) {
		int byte = java_stream_byte(stream);

		if (byte < 0)
			return byte;
		if ((uint32_t)byte < excluded)
			return -EBADMSG;
		sum += ((uint32_t)byte - excluded) << 6 * i;
		if (byte < 256 - U5_LOW)
			break;
	}
	*ret = sum;
	return 0;
}

/*
 * PcDescs are sorted by an offset that counts from the code's begin; the first (−1) and the last
 * are sentinels. Only an exact match is the pc of a call: HotSpot itself looks it up like that.
 */
int java_scope_find(const struct java_code *code, const struct java_sections *sections, uint64_t pc,
	uint32_t *ret)
{
	uint64_t low = 0, high = (sections->pcs.end - sections->pcs.begin) / PC_DESC_BYTES;
	int64_t wanted = (int64_t)(pc - sections->code);
	uint8_t desc[PC_DESC_BYTES];

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int64_t at;
		int r = jvm_read(code->jvm, sections->pcs.begin + middle * PC_DESC_BYTES, desc,
			sizeof(desc));

		if (r)
			return r;
		at = (int32_t)java_get(desc, code->pc_offset, 4);
		if (at == wanted) {
			*ret = (uint32_t)java_get(desc, code->pc_scope, 4);
			return 0;
		}
		if (at < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}

/* The methods a compiled method knows are numbered from 1. */
static int scope_method(const struct java_code *code, const struct java_section *metadata,
	uint32_t index, uint64_t *ret)
{
	uint64_t method;
	int r;

	if (!index || index > (metadata->end - metadata->begin) / 8)
		return -EBADMSG;
	r = jvm_read(code->jvm, metadata->begin + 8ull * (index - 1), &method, sizeof(method));
	if (r)
		return r;
	if (!java_pointer(method))
		return -EBADMSG;
	*ret = method;
	return 0;
}

int java_scope_read(const struct java_code *code, const struct java_sections *sections,
	uint32_t offset, struct java_scope *ret)
{
	struct java_stream stream;
	uint32_t sender, method, bci;
	struct java_scope scope;
	int r;

	if (offset >= sections->scopes.end - sections->scopes.begin)
		return -EBADMSG;
	java_stream_init(&stream, code->jvm, sections->scopes.begin + offset, sections->scopes.end);
	r = java_stream_u5(&stream, code->excluded, &sender);
	if (!r)
		r = java_stream_u5(&stream, code->excluded, &method);
	if (!r)
		r = java_stream_u5(&stream, code->excluded, &bci);
	if (r)
		return r;
	/* A caller is written before whom it calls; that also ends a chain that lies. */
	if (sender >= offset || bci > UINT16_MAX + 1u)
		return -EBADMSG;
	scope.sender = sender;
	scope.bci = (int32_t)bci - 1; /* InvocationEntryBci is written as 0 */
	r = scope_method(code, &sections->metadata, method, &scope.method);
	if (!r)
		*ret = scope;
	return r;
}
