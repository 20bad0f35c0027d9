/*
 * Private to java_*.c: where the parts of methods and compiled code lie in one JVM, and the steps
 * from an address to a name. Offsets are those of the JVM's own vmStructs; sizes in bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "java_code.h"

#define JAVA_NO_FIELD UINT32_MAX

struct java_code {
	const struct jvm *jvm;
	uint32_t excluded;     /* byte values that UNSIGNED5 leaves out: 1 from JDK 20 on, else 0 */
	uint32_t line_flag;    /* of ConstMethod's flags: a line table follows the bytecodes */
	uint32_t const_bytes;  /* sizeof(ConstMethod): the bytecodes follow */
	uint32_t pool_bytes;   /* sizeof(ConstantPool): 8 bytes for each entry follow */
	uint32_t header_bytes; /* of an nmethod, as far as fields below lie in it */

	uint32_t method_const;
	uint32_t const_pool, const_size, const_flags, const_code_size, const_name;
	uint32_t pool_holder, pool_length, pool_tags, pool_source; /* pool_source: 17+ */
	uint32_t klass_name, klass_source;			   /* klass_source: 8, 11 */
	uint32_t symbol_length, symbol_body, array_u1;

	uint32_t blob_size;
	uint32_t blob_code_offset, blob_code; /* an offset (8, 23+) or an address */
	uint32_t nmethod_method, nmethod_compile_id;
	uint32_t metadata_offset;			 /* from the nmethod: 8 to 22 */
	uint32_t mutable_data, mutable_size, relocation; /* 25+: metadata follow the relocations */
	uint32_t scopes_begin;				 /* an address: 11 to 22 */
	uint32_t scopes_offset, pcs_offset;	 /* from the nmethod, or from immutable_data */
	uint32_t dependencies_offset;		 /* 8 to 22: where the PcDescs end */
	uint32_t immutable_data, immutable_size; /* 23+ */
	uint32_t pc_offset, pc_scope;		 /* in PcDesc */
};

/* Bytes of the target, read in pieces from @at to @end. */
struct java_stream {
	const struct jvm *jvm;
	uint64_t at, end; /* of what has not been read */
	uint32_t count, next;
	uint8_t bytes[128];
};

void java_stream_init(struct java_stream *stream, const struct jvm *jvm, uint64_t at, uint64_t end);
/* The next byte, or -EBADMSG at the end, or -errno of the read. */
int java_stream_byte(struct java_stream *stream);
/* HotSpot's UNSIGNED5 (utilities/unsigned5.hpp; compressedStream.cpp before 20). 0 or -errno. */
int java_stream_u5(struct java_stream *stream, uint32_t excluded, uint32_t *ret);

/* A piece of a compiled method: [begin, end). */
struct java_section {
	uint64_t begin, end;
};

/* Where the debug information of one nmethod lies. */
struct java_sections {
	uint64_t code; /* what PcDesc::_pc_offset counts from */
	struct java_section pcs, scopes, metadata;
};

struct java_scope {
	uint32_t sender; /* decode offset of the caller's scope, smaller than one's own; 0: none */
	uint64_t method;
	int32_t bci; /* -1: before the first bytecode */
};

/* The decode offset of the scope at @pc, 0: it has none; -ENOENT: @pc has no debug information. */
int java_scope_find(const struct java_code *code, const struct java_sections *sections, uint64_t pc,
	uint32_t *ret);
int java_scope_read(const struct java_code *code, const struct java_sections *sections,
	uint32_t offset, struct java_scope *ret);

/*
 * Names of @method and the line of @bci: -1 is the line of its first bytecode. @const_method,
 * unless 0, is what the method must have (-ESTALE).
 */
int java_method_frame(const struct java_code *code, uint64_t method, uint64_t const_method,
	int32_t bci, struct java_frame *ret);

/* A field of @bytes (2, 4 or 8) in what was copied out of a little-endian target. */
uint64_t java_get(const uint8_t *copy, uint32_t offset, size_t bytes);
/* Whether @address can be that of an object in the target's user space. */
bool java_pointer(uint64_t address);
