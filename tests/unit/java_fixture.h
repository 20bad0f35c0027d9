/*
 * A JVM that has not been started: some memory with methods and compiled code laid out as HotSpot
 * does, and jvm.h's look-ups answered from the vmStructs of real JDKs. For the tests of java_*.c
 * and their fuzzer; whoever includes it links no jvm.c.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "java_code.h"
#include "java_layout.h"

#define MAYBE_UNUSED __attribute__((unused))
#define BASE	     0x7f0000100000ull
#define MEMORY_BYTES (1u << 15)
#define MUST(what)   ((what) ? (void)0 : abort())

struct field {
	const char *type, *name;
	uint32_t offset;
};

/* vmStructs of Debian's 8u504, 17.0.21, 25.0.5. */
static const struct field fields_8[] = {{"Method", "_constMethod", 8},
	{"ConstMethod", "_constants", 8}, {"ConstMethod", "_constMethod_size", 24},
	{"ConstMethod", "_flags", 28}, {"ConstMethod", "_code_size", 32},
	{"ConstMethod", "_name_index", 34}, {"ConstantPool", "_pool_holder", 24},
	{"ConstantPool", "_length", 60}, {"ConstantPool", "_tags", 8},
	{"InstanceKlass", "_source_file_name_index", 258}, {"Klass", "_name", 16},
	{"Symbol", "_length", 0}, {"Symbol", "_body", 8}, {"Array<u1>", "_data", 4},
	{"CodeBlob", "_size", 16}, {"CodeBlob", "_code_offset", 32}, {"nmethod", "_method", 64},
	{"nmethod", "_compile_id", 204}, {"nmethod", "_metadata_offset", 172},
	{"nmethod", "_scopes_data_offset", 176}, {"nmethod", "_scopes_pcs_offset", 180},
	{"nmethod", "_dependencies_offset", 184}, {"PcDesc", "_pc_offset", 0},
	{"PcDesc", "_scope_decode_offset", 4}, {}};
static const struct field fields_17[] = {{"Method", "_constMethod", 8},
	{"ConstMethod", "_constants", 8}, {"ConstMethod", "_constMethod_size", 24},
	{"ConstMethod", "_flags", 28}, {"ConstMethod", "_code_size", 32},
	{"ConstMethod", "_name_index", 34}, {"ConstantPool", "_pool_holder", 24},
	{"ConstantPool", "_length", 60}, {"ConstantPool", "_tags", 8},
	{"ConstantPool", "_source_file_name_index", 54}, {"Klass", "_name", 24},
	{"Symbol", "_length", 4}, {"Symbol", "_body", 6}, {"Array<u1>", "_data", 4},
	{"CodeBlob", "_size", 12}, {"CodeBlob", "_code_begin", 32},
	{"CompiledMethod", "_method", 112}, {"nmethod", "_compile_id", 304},
	{"nmethod", "_metadata_offset", 260}, {"CompiledMethod", "_scopes_data_begin", 120},
	{"nmethod", "_scopes_pcs_offset", 268}, {"nmethod", "_dependencies_offset", 272},
	{"PcDesc", "_pc_offset", 0}, {"PcDesc", "_scope_decode_offset", 4}, {}};
static const struct field fields_25[] = {{"Method", "_constMethod", 8},
	{"ConstMethod", "_constants", 8}, {"ConstMethod", "_constMethod_size", 24},
	{"ConstMethod", "_flags._flags", 28}, {"ConstMethod", "_code_size", 34},
	{"ConstMethod", "_name_index", 36}, {"ConstantPool", "_pool_holder", 24},
	{"ConstantPool", "_length", 68}, {"ConstantPool", "_tags", 8},
	{"ConstantPool", "_source_file_name_index", 62}, {"Klass", "_name", 24},
	{"Symbol", "_length", 4}, {"Symbol", "_body", 6}, {"Array<u1>", "_data", 4},
	{"CodeBlob", "_size", 24}, {"CodeBlob", "_code_offset", 36},
	{"CodeBlob", "_relocation_size", 28}, {"CodeBlob", "_mutable_data", 16},
	{"CodeBlob", "_mutable_data_size", 48}, {"nmethod", "_method", 80},
	{"nmethod", "_compile_id", 212}, {"nmethod", "_scopes_pcs_offset", 196},
	{"nmethod", "_scopes_data_offset", 200}, {"nmethod", "_immutable_data", 96},
	{"nmethod", "_immutable_data_size", 160}, {"PcDesc", "_pc_offset", 0},
	{"PcDesc", "_scope_decode_offset", 4}, {}};

struct jvm {
	int release;
	const struct field *fields;
	uint32_t const_bytes, pool_bytes;
	uint8_t memory[MEMORY_BYTES];
	uint64_t top;	    /* where the next object goes */
	unsigned reads;	    /* so far */
	unsigned change_at; /* at this read, *change becomes 0; 0: never */
	uint64_t change;
	const char *lacks; /* a field that vmStructs leave out; NULL: none */
	const char *lies;  /* a field whose offset they give wrongly, … */
	uint32_t lie;
};

int jvm_read(const struct jvm *jvm, uint64_t address, void *ret, size_t len)
{
	struct jvm *own = (struct jvm *)jvm; /* the fixture is not const */

	if (++own->reads == own->change_at)
		memset(own->memory + (own->change - BASE), 0, 8);
	if (address < BASE || address - BASE > MEMORY_BYTES ||
		len > MEMORY_BYTES - (address - BASE))
		return -EFAULT;
	memcpy(ret, jvm->memory + (address - BASE), len);
	return 0;
}

int jvm_field(const struct jvm *jvm, const char *type, const char *name, uint32_t *ret)
{
	for (const struct field *f = jvm->fields; f->type; f++) {
		if (strcmp(f->type, type) || strcmp(f->name, name))
			continue;
		if (jvm->lacks && !strcmp(name, jvm->lacks))
			return -ENOENT;
		*ret = jvm->lies && !strcmp(name, jvm->lies) ? jvm->lie : f->offset;
		return 0;
	}
	return -ENOENT;
}

int jvm_type_size(const struct jvm *jvm, const char *type, uint64_t *ret)
{
	*ret = !strcmp(type, "ConstMethod") ? jvm->const_bytes : jvm->pool_bytes;
	return 0;
}

int jvm_constant(const struct jvm *jvm, const char *name, int64_t *ret)
{
	const char *own = jvm->release >= 21 ? "ConstMethodFlags::_misc_has_linenumber_table"
					     : "ConstMethod::_has_linenumber_table";

	if (strcmp(name, own))
		return -ENOENT;
	*ret = 1;
	return 0;
}

int jvm_release_number(const struct jvm *jvm)
{
	return jvm->release;
}

static struct jvm *jvm_of(int release)
{
	struct jvm *jvm = calloc(1, sizeof(*jvm));

	jvm->release = release;
	jvm->fields = release == 8 ? fields_8 : release == 17 ? fields_17 : fields_25;
	jvm->const_bytes = release == 25 ? 56 : 48;
	jvm->pool_bytes = release == 17 ? 72 : 80;
	jvm->top = BASE + 64;
	return jvm;
}

static void put(struct jvm *jvm, uint64_t address, uint64_t value, size_t bytes)
{
	MUST(address >= BASE && address + bytes <= BASE + MEMORY_BYTES);
	memcpy(jvm->memory + (address - BASE), &value, bytes);
}

static void put_field(struct jvm *jvm, uint64_t object, const char *type, const char *name,
	uint64_t value, size_t bytes)
{
	uint32_t offset;

	MUST(!jvm_field(jvm, type, name, &offset));
	put(jvm, object + offset, value, bytes);
}

static uint64_t allocate(struct jvm *jvm, size_t bytes)
{
	uint64_t at = jvm->top;

	jvm->top += (bytes + 15) & ~7ull;
	MUST(jvm->top <= BASE + MEMORY_BYTES);
	return at;
}

static uint64_t make_bytes(struct jvm *jvm, const void *bytes, size_t size)
{
	uint64_t at = allocate(jvm, size);

	memcpy(jvm->memory + (at - BASE), bytes, size);
	return at;
}

static uint64_t make_symbol(struct jvm *jvm, const char *text)
{
	uint64_t at = allocate(jvm, 16 + strlen(text));
	uint32_t body;

	jvm_field(jvm, "Symbol", "_body", &body);
	put_field(jvm, at, "Symbol", "_length", strlen(text), 2);
	memcpy(jvm->memory + (at + body - BASE), text, strlen(text));
	return at;
}

struct fake_method {
	const char *class, *name, *file; /* file NULL: the class does not say */
	size_t code_bytes;		 /* 0: native */
	const uint8_t *lines;		 /* NULL: no line table */
	size_t line_bytes;
	uint64_t method, const_method, pool, holder; /* where it came to lie */
};

/* Entries 3 and 5 of its pool are the name and the file. */
static MAYBE_UNUSED uint64_t make_method(struct jvm *jvm, struct fake_method *fake)
{
	const uint8_t tags[4 + 7] = {7, 0, 0, 0, 0, 7, 9, 1, 8, 1, 10};
	size_t size = (jvm->const_bytes + fake->code_bytes + fake->line_bytes + 7) / 8;
	uint64_t code;

	fake->method = allocate(jvm, 88);
	fake->const_method = allocate(jvm, size * 8);
	fake->pool = allocate(jvm, jvm->pool_bytes + 7 * 8);
	fake->holder = allocate(jvm, 480);
	put_field(jvm, fake->method, "Method", "_constMethod", fake->const_method, 8);
	put_field(jvm, fake->const_method, "ConstMethod", "_constants", fake->pool, 8);
	put_field(jvm, fake->const_method, "ConstMethod", "_constMethod_size", size, 4);
	put_field(jvm, fake->const_method, "ConstMethod",
		jvm->release >= 21 ? "_flags._flags" : "_flags", fake->lines ? 1 : 0, 2);
	put_field(jvm, fake->const_method, "ConstMethod", "_code_size", fake->code_bytes, 2);
	put_field(jvm, fake->const_method, "ConstMethod", "_name_index", 3, 2);
	put_field(jvm, fake->pool, "ConstantPool", "_pool_holder", fake->holder, 8);
	put_field(jvm, fake->pool, "ConstantPool", "_length", 7, 4);
	put_field(jvm, fake->pool, "ConstantPool", "_tags", make_bytes(jvm, tags, sizeof(tags)), 8);
	put(jvm, fake->pool + jvm->pool_bytes + 3 * 8, make_symbol(jvm, fake->name), 8);
	if (fake->file) {
		put(jvm, fake->pool + jvm->pool_bytes + 5 * 8, make_symbol(jvm, fake->file), 8);
		if (jvm->release == 8)
			put_field(jvm, fake->holder, "InstanceKlass", "_source_file_name_index", 5,
				2);
		else
			put_field(jvm, fake->pool, "ConstantPool", "_source_file_name_index", 5, 2);
	}
	put_field(jvm, fake->holder, "Klass", "_name", make_symbol(jvm, fake->class), 8);
	code = fake->const_method + jvm->const_bytes;
	if (fake->lines)
		memcpy(jvm->memory + (code + fake->code_bytes - BASE), fake->lines,
			fake->line_bytes);
	return fake->method;
}

/* 40 bytecodes of Some.java: line 100 from 0, 102 from 10, 105 from 20. */
static MAYBE_UNUSED struct fake_method a_method(struct jvm *jvm, const char *class,
	const char *name)
{
	struct fake_method fake = {class, name, "Some.java", 40, NULL, 0, 0, 0, 0, 0};
	uint8_t lines[8] = {0xff, 0, 192 + 8, 0, 10 << 3 | 2, 10 << 3 | 3, 0}; /* zigzag 200 */

	if (jvm->release >= 20) {
		lines[1] = 1;
		lines[2] = 1 + 191 + 9;
		lines[3] = 1;
	}
	fake.lines = lines;
	fake.line_bytes = 7;
	make_method(jvm, &fake);
	fake.lines = NULL;
	return fake;
}

#define CODE_BYTES 512 /* of each nmethod; they begin CODE_BEGIN after it */
#define CODE_BEGIN 384

/* One scope as it is written: values below 191 only. */
struct fake_scope {
	uint8_t sender, method, bci; /* sender: byte offset of another; bci: one more than it is */
};

struct fake_nmethod {
	uint32_t compile_id;
	uint64_t method;
	const uint64_t *methods;
	size_t method_count;
	const struct fake_scope *scopes; /* the first lies at offset 1, each has three bytes */
	size_t scope_count;
	const uint32_t (*pcs)[2]; /* offset in the code, scope; sorted; sentinels are added */
	size_t pc_count;
	uint64_t nmethod, metadata, scope_data, pc_data; /* where it came to lie */
};

static MAYBE_UNUSED void fill_sections(struct jvm *jvm, struct fake_nmethod *fake)
{
	uint8_t excluded = jvm->release >= 20;
	uint64_t at = fake->scope_data + 1;

	for (size_t i = 0; i < fake->method_count; i++)
		put(jvm, fake->metadata + 8 * i, fake->methods[i], 8);
	for (size_t i = 0; i < fake->scope_count; i++, at += 3) {
		put(jvm, at, fake->scopes[i].sender + excluded, 1);
		put(jvm, at + 1, fake->scopes[i].method + excluded, 1);
		put(jvm, at + 2, fake->scopes[i].bci + excluded, 1);
	}
	put(jvm, fake->pc_data, UINT32_MAX, 4);
	for (size_t i = 0; i < fake->pc_count; i++) {
		put(jvm, fake->pc_data + 16 * (i + 1), fake->pcs[i][0], 4);
		put(jvm, fake->pc_data + 16 * (i + 1) + 4, fake->pcs[i][1], 4);
	}
	put(jvm, fake->pc_data + 16 * (fake->pc_count + 1), INT32_MAX, 4);
}

static MAYBE_UNUSED uint64_t make_nmethod(struct jvm *jvm, struct fake_nmethod *fake)
{
	size_t metadata = 8 * fake->method_count, scopes = (1 + 3 * fake->scope_count + 7) & ~7ull;
	size_t pcs = 16 * (fake->pc_count + 2), begin = CODE_BEGIN + CODE_BYTES;
	uint64_t at;

	fake->nmethod = at = allocate(jvm, begin + metadata + scopes + pcs);
	put_field(jvm, at, "CodeBlob", "_size", begin + metadata + scopes + pcs, 4);
	put_field(jvm, at, "nmethod", "_compile_id", fake->compile_id, 4);
	put_field(jvm, at, jvm->release == 17 ? "CompiledMethod" : "nmethod", "_method",
		fake->method, 8);
	fake->metadata = at + begin;
	fake->scope_data = fake->metadata + metadata;
	fake->pc_data = fake->scope_data + scopes;
	if (jvm->release == 17) {
		put_field(jvm, at, "CodeBlob", "_code_begin", at + CODE_BEGIN, 8);
		put_field(jvm, at, "CompiledMethod", "_scopes_data_begin", fake->scope_data, 8);
	} else {
		put_field(jvm, at, "CodeBlob", "_code_offset", CODE_BEGIN, 4);
	}
	if (jvm->release == 8)
		put_field(jvm, at, "nmethod", "_scopes_data_offset", fake->scope_data - at, 4);
	if (jvm->release < 23) {
		put_field(jvm, at, "nmethod", "_metadata_offset", begin, 4);
		put_field(jvm, at, "nmethod", "_scopes_pcs_offset", fake->pc_data - at, 4);
		put_field(jvm, at, "nmethod", "_dependencies_offset", fake->pc_data + pcs - at, 4);
	} else { /* 24 bytes of dependencies, PcDescs, scopes; 16 of relocations, metadata */
		fake->pc_data = allocate(jvm, 24 + pcs + scopes) + 24;
		fake->scope_data = fake->pc_data + pcs;
		fake->metadata = allocate(jvm, 16 + metadata) + 16;
		put_field(jvm, at, "nmethod", "_immutable_data", fake->pc_data - 24, 8);
		put_field(jvm, at, "nmethod", "_immutable_data_size", 24 + pcs + scopes, 4);
		put_field(jvm, at, "nmethod", "_scopes_pcs_offset", 24, 4);
		put_field(jvm, at, "nmethod", "_scopes_data_offset", 24 + pcs, 4);
		put_field(jvm, at, "CodeBlob", "_mutable_data", fake->metadata - 16, 8);
		put_field(jvm, at, "CodeBlob", "_mutable_data_size", 16 + metadata, 4);
		put_field(jvm, at, "CodeBlob", "_relocation_size", 16, 4);
	}
	fill_sections(jvm, fake);
	return at;
}

/*
 * Outer.run (bci 10) inlines Middle.go (bci 0), which inlines Inner.leaf (bci 25), at code offset
 * 100; at 200 Outer.run alone, before its first bytecode; 300 has an entry without a scope.
 */
struct nest {
	struct fake_method outer, middle, inner;
	uint64_t methods[3];
	struct fake_nmethod code;
};

static MAYBE_UNUSED void make_nest(struct jvm *jvm, struct nest *nest)
{
	static const struct fake_scope scopes[] = {{0, 1, 11}, {1, 3, 1}, {4, 2, 26}, {0, 1, 0}};
	static const uint32_t pcs[][2] = {{40, 1}, {100, 7}, {200, 10}, {300, 0}, {399, 1}};

	nest->outer = a_method(jvm, "org/example/Outer", "run");
	nest->middle = a_method(jvm, "org/example/Middle", "go");
	nest->inner = a_method(jvm, "Inner", "leaf");
	nest->methods[0] = nest->outer.method;
	nest->methods[1] = nest->inner.method;
	nest->methods[2] = nest->middle.method;
	nest->code = (struct fake_nmethod){.compile_id = 41,
		.method = nest->outer.method,
		.methods = nest->methods,
		.method_count = 3,
		.scopes = scopes,
		.scope_count = 4,
		.pcs = pcs,
		.pc_count = 5};
	make_nmethod(jvm, &nest->code);
}
