/*
 * One object of Julia's JIT: the relocatable ELF file that LLVM made, of which Julia keeps a copy whose sections
 * have the addresses that they were loaded at (debuginfo.cpp, RuntimeDyld's getObjectForDebug), or are given them. In: its
 * bytes, hostile or not. Out: functions, places in the source.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_lines.h"
#include "elf_rules.h"

struct jit_object;

#define JIT_HEADER_BYTES 64
#define JIT_OBJECT_MOST                                                                            \
	(4u << 20) /* bytes; one holds what was compiled at once: functions, not programs */

#define JIT_SECTIONS_MOST 4096

/* How long the object is that begins with these JIT_HEADER_BYTES; 0: it is none. */
size_t jit_object_size(const void *header);

/* Where an object's section headers lie in it, and how many. Of a header with a jit_object_size(). */
void jit_object_table(const void *header, size_t *ret_offset, size_t *ret_count);

/* The next section with code among @count headers at @table, from *@index on, which moves behind it. False: no more. */
bool jit_object_code(const void *table, size_t count, size_t *index, uint64_t *ret_start,
	uint64_t *ret_end);

/*
 * Gives section @index of the object in @size bytes, whose code was loaded at @start, that address, if nothing has told
 * it, and the other sections made-up ones behind it. 0 or -EBADMSG: that is no object, or the section is no code of @code_size bytes, or it was loaded elsewhere.
 */
int jit_object_place(void *bytes, size_t size, uint32_t index, uint64_t start, uint64_t code_size);

/*
 * Takes over @bytes (from malloc), on success and failure alike, and relocates what is debug information. 0 or
 * -errno: -EBADMSG for what is no such object.
 */
int jit_object_open(void *bytes, size_t size, struct jit_object **ret);
void jit_object_free(struct jit_object *object);

/*
 * The functions at @address, which was loaded from this object: as elf_lines_find(), or by the symbol alone. The
 * outermost place has the symbol of what was compiled. Texts are valid until the next call.
 */
size_t jit_object_find(struct jit_object *object, uint64_t address, struct elf_place *ret,
	size_t max);

/*
 * Whether @code, the bytes that are at @start now, is this object's code of that address: all but what a linker wrote,
 * which is overwritten in @code.
 */
bool jit_object_is_code(const struct jit_object *object, uint64_t start, uint8_t *code,
	size_t size);

/* As elf_rules_find(). */
int jit_object_rule(struct jit_object *object, uint64_t address, struct elf_rule *ret);

/* Calls @visit for each function, stops when that returns non-zero, and returns that. */
typedef int (*jit_visit_fn)(const char *symbol, uint64_t address, uint64_t size, void *arg);
int jit_object_functions(const struct jit_object *object, jit_visit_fn visit, void *arg);
