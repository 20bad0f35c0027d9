/*
 * What code was compiled from, as debug information says: function, file and line of an address, and what was
 * inlined there. In: the bytes of an ELF image, hostile or not. Out: places, innermost first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

struct elf_lines;

/*
 * Of @size bytes of an image, called executable, library or object, that the caller keeps as long as they are
 * used; an object's relocations have been applied. 0 or -errno: -ENODATA without debug information, or where it
 * is compressed.
 */
int elf_lines_open(const void *bytes, size_t size, struct elf_lines **ret);

/* The same of an open file, which outlives them. */
int elf_lines_of_file(const struct elf_file *file, struct elf_lines **ret);
void elf_lines_free(struct elf_lines *lines);

struct elf_place {
	const char *function; /* DW_AT_name; "" if not known */
	const char *symbol;   /* DW_AT_linkage_name; "" if it has none */
	const char *file;     /* "" if not known */
	uint32_t line;	      /* 0: not known */
};

/*
 * The functions that the code at @vaddr belongs to: the one inlined last first, the one that was compiled last.
 * Texts are valid until the next call. Returns how many, at most @max; 0: nothing is known.
 */
size_t elf_lines_find(struct elf_lines *lines, uint64_t vaddr, struct elf_place *ret, size_t max);
