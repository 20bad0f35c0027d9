/*
 * Physical Java frames → methods. In: vmStructs for the layouts; an interpreted frame's Method, or
 * a compiled one's nmethod and pc. Out: struct java_frame, one for each method inlined there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "java_layout.h"

#define SECTION_MAX (64u << 20) /* bytes of a piece of one nmethod */
#define SCOPES_MAX  1024	/* methods inlined into each other */
#define FIELD_MAX   4096	/* a larger offset is a lie */
#define HEAD_MAX    160		/* of a ConstMethod and a ConstantPool */
#define NMETHOD_MAX 1024

enum owner { OBJECT, CONST_METHOD, POOL, NMETHOD, PC_DESC };

/*
 * Rows of the same place are tried in this order. CompiledMethod was nmethod's base from 9 to 22;
 * immutable_data is where debug information lies from 23 on.
 */
static const struct place {
	size_t place; /* in struct java_code */
	enum owner owner;
	bool needed;
	uint8_t bytes;
	const char *type, *field;
} places[] = {
#define PLACE(place) offsetof(struct java_code, place)
	{PLACE(method_const), OBJECT, true, 8, "Method", "_constMethod"},
	{PLACE(const_pool), CONST_METHOD, true, 8, "ConstMethod", "_constants"},
	{PLACE(const_size), CONST_METHOD, true, 4, "ConstMethod", "_constMethod_size"},
	{PLACE(const_flags), CONST_METHOD, true, 2, "ConstMethod", "_flags"},
	{PLACE(const_flags), CONST_METHOD, true, 2, "ConstMethod", "_flags._flags"},
	{PLACE(const_code_size), CONST_METHOD, true, 2, "ConstMethod", "_code_size"},
	{PLACE(const_name), CONST_METHOD, true, 2, "ConstMethod", "_name_index"},
	{PLACE(pool_holder), POOL, true, 8, "ConstantPool", "_pool_holder"},
	{PLACE(pool_length), POOL, true, 4, "ConstantPool", "_length"},
	{PLACE(pool_tags), POOL, true, 8, "ConstantPool", "_tags"},
	{PLACE(pool_source), POOL, false, 2, "ConstantPool", "_source_file_name_index"},
	{PLACE(klass_name), OBJECT, true, 8, "Klass", "_name"},
	{PLACE(klass_source), OBJECT, false, 2, "InstanceKlass", "_source_file_name_index"},
	{PLACE(symbol_length), OBJECT, true, 2, "Symbol", "_length"},
	{PLACE(symbol_body), OBJECT, true, 1, "Symbol", "_body"},
	{PLACE(array_u1), OBJECT, true, 1, "Array<u1>", "_data"},
	{PLACE(blob_size), NMETHOD, true, 4, "CodeBlob", "_size"},
	{PLACE(blob_code), NMETHOD, false, 8, "CodeBlob", "_code_begin"},
	{PLACE(blob_code_offset), NMETHOD, false, 4, "CodeBlob", "_code_offset"},
	{PLACE(nmethod_method), NMETHOD, true, 8, "nmethod", "_method"},
	{PLACE(nmethod_method), NMETHOD, true, 8, "CompiledMethod", "_method"},
	{PLACE(nmethod_compile_id), NMETHOD, true, 4, "nmethod", "_compile_id"},
	{PLACE(metadata_offset), NMETHOD, false, 4, "nmethod", "_metadata_offset"},
	{PLACE(mutable_data), NMETHOD, false, 8, "CodeBlob", "_mutable_data"},
	{PLACE(mutable_size), NMETHOD, false, 4, "CodeBlob", "_mutable_data_size"},
	{PLACE(relocation), NMETHOD, false, 4, "CodeBlob", "_relocation_size"},
	{PLACE(scopes_begin), NMETHOD, false, 8, "CompiledMethod", "_scopes_data_begin"},
	{PLACE(scopes_offset), NMETHOD, false, 4, "nmethod", "_scopes_data_offset"},
	{PLACE(pcs_offset), NMETHOD, true, 4, "nmethod", "_scopes_pcs_offset"},
	{PLACE(dependencies_offset), NMETHOD, false, 4, "nmethod", "_dependencies_offset"},
	{PLACE(immutable_data), NMETHOD, false, 8, "nmethod", "_immutable_data"},
	{PLACE(immutable_size), NMETHOD, false, 4, "nmethod", "_immutable_data_size"},
	{PLACE(pc_offset), PC_DESC, true, 4, "PcDesc", "_pc_offset"},
	{PLACE(pc_scope), PC_DESC, true, 4, "PcDesc", "_scope_decode_offset"},
};

static uint32_t *place_of(struct java_code *code, const struct place *place)
{
	return (uint32_t *)((char *)code + place->place);
}

static int find_places(struct java_code *code, struct err *err)
{
	uint32_t offset;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		*place_of(code, &places[i]) = JAVA_NO_FIELD;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (*place_of(code, &places[i]) == JAVA_NO_FIELD &&
			!jvm_field(code->jvm, places[i].type, places[i].field, &offset))
			*place_of(code, &places[i]) = offset;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].needed && *place_of(code, &places[i]) == JAVA_NO_FIELD)
			return err_set(err, ENOENT,
				"this JVM does not say where %s::%s is: Java frames get no names",
				places[i].type, places[i].field);
	return 0;
}

static int check_places(struct java_code *code, struct err *err)
{
	const uint32_t limits[] = {
		[OBJECT] = FIELD_MAX,
		[CONST_METHOD] = code->const_bytes,
		[POOL] = code->pool_bytes,
		[NMETHOD] = NMETHOD_MAX,
		[PC_DESC] = 16,
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const struct place *place = &places[i];
		uint32_t offset = *place_of(code, place);

		if (offset == JAVA_NO_FIELD)
			continue;
		if (offset > FIELD_MAX || offset + place->bytes > limits[place->owner])
			return err_set(err, EBADMSG,
				"this JVM's %s::%s cannot be at %u: Java frames get no names",
				place->type, place->field, offset);
		if (place->owner == NMETHOD && offset + 8 > code->header_bytes)
			code->header_bytes = offset + 8;
	}
	return 0;
}

/* Compiled code is laid out in one of three ways; see find_sections(). */
static bool knows_sections(const struct java_code *code)
{
	const uint32_t offsets[] = {code->scopes_offset, code->dependencies_offset,
		code->metadata_offset, code->blob_code_offset}; /* 8 */
	const uint32_t addresses[] = {code->scopes_begin, code->dependencies_offset,
		code->metadata_offset, code->blob_code}; /* 9 to 22 */
	const uint32_t apart[] = {code->scopes_offset, code->immutable_size, code->mutable_data,
		code->mutable_size, code->relocation, code->blob_code_offset}; /* 25 */
	const uint32_t *need = offsets;
	size_t count = ARRAY_SIZE(offsets);

	if (code->immutable_data != JAVA_NO_FIELD) {
		need = apart;
		count = ARRAY_SIZE(apart);
	} else if (code->scopes_begin != JAVA_NO_FIELD) {
		need = addresses;
		count = ARRAY_SIZE(addresses);
	}
	for (size_t i = 0; i < count; i++)
		if (need[i] == JAVA_NO_FIELD)
			return false;
	return true;
}

static int find_sizes(struct java_code *code, struct err *err)
{
	uint64_t const_bytes, pool_bytes;
	int64_t flag = 1;

	if (jvm_type_size(code->jvm, "ConstMethod", &const_bytes) ||
		jvm_type_size(code->jvm, "ConstantPool", &pool_bytes))
		return err_set(err, ENOENT,
			"this JVM does not give a ConstMethod's size: Java frames get no names");
	if (const_bytes > HEAD_MAX || pool_bytes > HEAD_MAX)
		return err_set(err, EBADMSG,
			"this JVM's ConstMethod cannot have %llu bytes: Java frames get no names",
			(unsigned long long)const_bytes);
	code->const_bytes = (uint32_t)const_bytes;
	code->pool_bytes = (uint32_t)pool_bytes;
	if (jvm_constant(code->jvm, "ConstMethodFlags::_misc_has_linenumber_table", &flag))
		jvm_constant(code->jvm, "ConstMethod::_has_linenumber_table", &flag);
	code->line_flag = (uint16_t)flag;
	return 0;
}

int java_code_new(const struct jvm *jvm, struct java_code **ret, struct err *err)
{
	_cleanup_free_ struct java_code *code = calloc(1, sizeof(*code));
	int release = jvm_release_number(jvm), r;

	if (!code)
		return err_set(err, ENOMEM, "no memory for a JVM's layouts");
	if (!release)
		return err_set(err, EAGAIN, "the JVM's version is not known yet");
	code->jvm = jvm;
	code->excluded = release >= 20;
	r = find_sizes(code, err);
	if (!r)
		r = find_places(code, err);
	if (!r)
		r = check_places(code, err);
	if (!r)
		*ret = steal_ptr(code);
	return r;
}

void java_code_free(struct java_code *code)
{
	free(code);
}

int java_interpreted(const struct java_code *code, uint64_t method, uint64_t const_method,
	int32_t bci, struct java_frame *ret)
{
	struct java_frame frame;
	uint64_t now;
	int r;

	if (!const_method)
		return -ESTALE;
	r = java_method_frame(code, method, const_method, bci, &frame);
	if (!r) /* it may go while it is read */
		r = jvm_read(code->jvm, method + code->method_const, &now, sizeof(now));
	if (!r && now != const_method)
		r = -ESTALE;
	if (!r)
		*ret = frame;
	return r;
}

static uint64_t head_u64(const uint8_t *head, uint32_t offset)
{
	return java_get(head, offset, 8);
}

/* An int; a negative one becomes so large that it lies outside of everything. */
static uint64_t head_int(const uint8_t *head, uint32_t offset)
{
	return java_get(head, offset, 4);
}

static bool section_ok(const struct java_section *section)
{
	return section->begin <= section->end && section->end - section->begin <= SECTION_MAX;
}

/*
 * 8: everything lies in the nmethod, by offsets: code, metadata, scopes, PcDescs, dependencies.
 * 9 to 22: the same, but code and scopes are addresses. 23+: scopes and PcDescs moved to a block of
 * their own, dependencies first, PcDescs before scopes; 25+: metadata to another, after
 * relocations. (code/nmethod.hpp, code/compiledMethod.hpp, code/codeBlob.hpp of each.)
 */
static int find_sections(const struct java_code *code, uint64_t nmethod, const uint8_t *head,
	struct java_sections *ret)
{
	struct java_sections s;
	uint64_t base = nmethod;

	if (!knows_sections(code))
		return -EBADMSG;
	if (code->immutable_data != JAVA_NO_FIELD) {
		base = head_u64(head, code->immutable_data);
		s.pcs.begin = base + head_int(head, code->pcs_offset);
		s.pcs.end = s.scopes.begin = base + head_int(head, code->scopes_offset);
		s.scopes.end = base + head_int(head, code->immutable_size);
		base = head_u64(head, code->mutable_data);
		s.metadata.begin = base + head_int(head, code->relocation);
		s.metadata.end = base + head_int(head, code->mutable_size);
	} else {
		s.pcs.begin = s.scopes.end = base + head_int(head, code->pcs_offset);
		s.pcs.end = base + head_int(head, code->dependencies_offset);
		if (code->scopes_begin != JAVA_NO_FIELD)
			s.scopes.begin = head_u64(head, code->scopes_begin);
		else
			s.scopes.begin = base + head_int(head, code->scopes_offset);
		s.metadata.begin = base + head_int(head, code->metadata_offset);
		s.metadata.end = s.scopes.begin;
	}
	if (code->blob_code != JAVA_NO_FIELD)
		s.code = head_u64(head, code->blob_code);
	else
		s.code = nmethod + head_int(head, code->blob_code_offset);
	if (!section_ok(&s.pcs) || !section_ok(&s.scopes) || !section_ok(&s.metadata))
		return -EBADMSG;
	if (s.code < nmethod || s.code - nmethod > head_int(head, code->blob_size))
		return -EBADMSG;
	*ret = s;
	return 0;
}

/* From the scope at @offset outwards. The outermost must be the compiled method itself. */
static int walk_scopes(const struct java_code *code, const struct java_sections *sections,
	uint64_t method, uint32_t offset, struct java_frame *ret, size_t max)
{
	struct java_scope scope = {0};
	size_t count = 0;
	int r;

	for (size_t depth = 0; offset; depth++) {
		if (depth == SCOPES_MAX)
			return -EBADMSG;
		r = java_scope_read(code, sections, offset, &scope);
		if (!r && count < max)
			r = java_method_frame(code, scope.method, 0, scope.bci, &ret[count++]);
		if (r)
			return r;
		offset = scope.sender;
	}
	return scope.method == method ? (int)count : -EBADMSG;
}

static int compiled(const struct java_code *code, uint64_t nmethod, uint64_t method,
	const uint8_t *head, int32_t at, struct java_frame *ret, size_t max)
{
	uint64_t size = head_int(head, code->blob_size);
	struct java_sections sections;
	uint32_t offset = 0;
	int r;

	if (size > SECTION_MAX || at < 0 || (uint64_t)at > size)
		return -EBADMSG;
	r = find_sections(code, nmethod, head, &sections);
	if (!r)
		r = java_scope_find(code, &sections, nmethod + (uint32_t)at, &offset);
	if (r && r != -ENOENT)
		return r;
	if (!r && offset)
		return walk_scopes(code, &sections, method, offset, ret, max);
	r = java_method_frame(code, method, 0, -1, ret);
	if (r)
		return r;
	ret->line = 0;
	return 1;
}

/* 0 while the nmethod is what it was when the frame was taken, -ESTALE, or -errno. */
static int check_same(const struct java_code *code, uint64_t nmethod, uint32_t compile_id,
	uint64_t method, uint8_t head[NMETHOD_MAX])
{
	int r = jvm_read(code->jvm, nmethod, head, code->header_bytes);

	if (r)
		return r;
	if (head_int(head, code->nmethod_compile_id) != compile_id ||
		head_u64(head, code->nmethod_method) != method)
		return -ESTALE;
	return 0;
}

int java_compiled(const struct java_code *code, uint64_t nmethod, uint32_t compile_id,
	uint64_t method, int32_t at, struct java_frame *ret, size_t max)
{
	uint8_t head[NMETHOD_MAX];
	int count, r;

	if (!max || !java_pointer(nmethod))
		return -EBADMSG;
	r = check_same(code, nmethod, compile_id, method, head);
	if (r)
		return r;
	count = compiled(code, nmethod, method, head, at, ret, max);
	r = check_same(code, nmethod, compile_id, method, head); /* it may go while it is read */
	return r ? r : count;
}
