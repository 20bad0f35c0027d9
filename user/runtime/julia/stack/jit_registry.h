/*
 * What Julia 1.12 and later keep of the code that their JIT loaded: bytes of that process, hostile or not → where a
 * section lies and where the copy of its object is; that copy unpacked.
 *
 * src/debug-registry.h: a node of JITDebugInfoRegistry::objectmap, a std::map of libstdc++'s, holds the address of a
 * section's code and a SectionInfo, which leads to a LazyObjectInfo; that has a SmallVector<uint8_t, 0> (LLVM) with the
 * ELF file, packed until somebody asks Julia for a backtrace through it. The same from 1.12 to master of 2026.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One section with code. */
struct jit_entry {
	uint64_t start, size;
	uint64_t copy;	/* the address of what is known of its object's copy */
	uint32_t index; /* of the section in that object; never 0 */
};

#define JIT_ENTRY_BYTES 40

/* Reads the part of a node that begins with the address of the code. False: this is none. */
bool jit_entry_read(const void *bytes, struct jit_entry *ret);

/* The copy of an object. */
struct jit_copy {
	uint64_t address;
	size_t size;
	size_t unpacked; /* bytes; 0: it is not packed */
};

#define JIT_COPY_BYTES 32

/* Reads what lies at jit_entry.copy. False: there is no copy, or it is larger than JIT_OBJECT_MOST. */
bool jit_copy_read(const void *bytes, struct jit_copy *ret);

/*
 * Unpacks all of @packed, by zlib (1.12) or Zstandard (1.13 on, if its LLVM has that), into @unpacked bytes at @ret.
 * 0, or -EBADMSG if it is neither, is damaged, or has not exactly that many bytes in it.
 */
int jit_unpack(const void *packed, size_t size, void *ret, size_t unpacked);
