/* What Julia 1.12 and later keep of their JIT's code, by its source: none that has a compiler could be had. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum packing { STORED, ZLIB, ZSTD };

/* A node of std::map<size_t, SectionInfo>, by libstdc++'s stl_tree.h. */
struct node {
	uint64_t color, parent, left, right;
	uint64_t start, copy, size, slide, index;
};

/* LazyObjectInfo. */
struct lazy {
	uint64_t data, size, capacity;
	uint64_t unpacked;
	uint64_t object, context;
};

/* @size bytes as Julia would keep them, from malloc. */
static inline char *pack(enum packing packing, const char *bytes, size_t size, size_t *ret_size)
{
	size_t room = packing == ZSTD ? ZSTD_compressBound(size) : compressBound(size);
	char *packed = malloc(room);
	uLongf used = room;

	if (packing == ZLIB && compress((Bytef *)packed, &used, (const Bytef *)bytes, size) == Z_OK)
		*ret_size = used;
	else if (packing == ZSTD)
		*ret_size = ZSTD_compress(packed, room, bytes, size, 5);
	else
		abort();
	return packed;
}

/* What a test looks for among an object's functions. */
struct wanted {
	const char *symbol;
	uint64_t address;
	unsigned int count, all;
};

static inline int want(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	struct wanted *wanted = arg;

	wanted->all++;
	if (strcmp(symbol, wanted->symbol))
		return 0;
	wanted->count++;
	wanted->address = address;
	return 0;
}

static inline const Elf64_Shdr *section_of(const char *bytes, size_t index)
{
	return (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff) + index;
}

/* The first section with code, from @index on; 0: there is none. */
static inline size_t code_from(const char *bytes, size_t index)
{
	for (; index < ((const Elf64_Ehdr *)bytes)->e_shnum; index++)
		if (section_of(bytes, index)->sh_flags & SHF_EXECINSTR &&
			section_of(bytes, index)->sh_size)
			return index;
	return 0;
}
