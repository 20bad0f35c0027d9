/* What the files of this room share: the open file, its sections, segments and notes, all bounded.
 */
#pragma once

#include <elf.h>

#include "elf_file.h"

/*
 * A PT_LOAD, clipped at open: [offset, offset + size) is in the file, vaddr + size does not wrap.
 */
struct elf_segment {
	uint64_t vaddr, offset, size;
	bool exec;
};

struct elf_file {
	char *name;
	const uint8_t *bytes;
	size_t size;
	bool mapped; /* by elf_map(); otherwise the bytes are the caller's */
	Elf64_Ehdr header;
	struct elf_segment *segments;
	size_t segment_count;
	size_t section_count; /* 0 when the section table is absent or leaves the file */
	uint32_t section_names;
};

struct elf_section {
	const char *name; /* "" when it has none */
	uint32_t type, link;
	uint64_t vaddr, entry_size;
	const uint8_t *bytes; /* size is 0 for SHT_NOBITS, compressed, and what leaves the file */
	size_t size;
};

/*
 * Maps @size bytes of @fd read-only. A file that shrinks later reads as zeros instead of raising
 * SIGBUS, and a zero page follows it, so that a string cannot run out of the mapping. 0 or -errno.
 */
int elf_map(int fd, size_t size, const uint8_t **ret);
void elf_unmap(const uint8_t *bytes, size_t size);

/* Drops the pages inside a range that elf_map() mapped; they are read again on access. */
void elf_pages_drop(const uint8_t *bytes, size_t size);

/* Fills @ret; false past the last section. */
bool elf_section_get(const struct elf_file *file, size_t index, struct elf_section *ret);
bool elf_section_find(const struct elf_file *file, const char *name, struct elf_section *ret);

/* False past the last program header. */
bool elf_program_header(const struct elf_file *file, size_t index, Elf64_Phdr *ret);

/* The bytes that the file holds from @vaddr to the end of its segment; NULL when it holds none. */
const uint8_t *elf_bytes_at(const struct elf_file *file, uint64_t vaddr, size_t *ret_len);

/* The string at @offset of a table of @size bytes, or NULL when it is not terminated inside. */
const char *elf_string(const uint8_t *table, size_t size, uint64_t offset);

/*
 * What .eh_frame says of one function: instructions in bytes of the file, those of its CIE first.
 */
struct elf_fde {
	uint64_t start, end;
	const uint8_t *initial, *initial_end, *code, *code_end;
	uint64_t code_factor;
	int64_t data_factor;
};

/* The one that holds @vaddr. 0 or -ENOENT. */
int elf_frame_find(const struct elf_file *file, uint64_t vaddr, struct elf_fde *ret);

/* Steps *@at over a ULEB128 number. False if it leaves @end or 64 bits. */
bool elf_read_uleb(const uint8_t **at, const uint8_t *end, uint64_t *ret);

struct elf_note {
	uint32_t type;
	const uint8_t *name, *desc;
	size_t name_size, desc_size;
};

/* Steps through notes padded to @align (4 or 8); false at the end or at one that runs out. */
bool elf_note_next(const uint8_t *bytes, size_t size, size_t align, size_t *offset,
	struct elf_note *ret);
