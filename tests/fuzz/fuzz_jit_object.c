/*
 * The bytes of a JIT's object, packed or not → functions, places in the source: whatever they are, no read outside, no
 * crash, no frame without a name that can be shown.
 */
#include <stdlib.h>
#include <string.h>

#include "jit_object.h"
#include "jit_registry.h"
#include "julia_name.h"

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define ADDRESSES 16 /* of each function */

struct asking {
	struct jit_object *object;
	size_t functions;
};

static void check(const struct elf_place *places, size_t count)
{
	char name[JULIA_NAME_BYTES];

	MUST(*places[count - 1].symbol);
	for (size_t i = 0; i < count; i++) {
		julia_name_plain(*places[i].function ? places[i].function : places[i].symbol, name,
			sizeof(name));
		MUST(strnlen(name, sizeof(name)) < sizeof(name) &&
			strlen(places[i].file) < SIZE_MAX);
	}
}

static int visit(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	struct asking *asking = arg;
	struct elf_place places[4];
	struct elf_rule rule;
	char name[JULIA_NAME_BYTES];

	julia_name(symbol, name, sizeof(name), NULL);
	for (uint64_t i = 0; i < ADDRESSES && i < size; i++) {
		size_t count = jit_object_find(asking->object, address + i * (size / ADDRESSES + 1),
			places, 4);

		MUST(count <= 4);
		if (!jit_object_rule(asking->object, address + i, &rule))
			MUST(rule.frame_register < ELF_REGISTERS);
		if (count)
			check(places, count);
	}
	return ++asking->functions == 64;
}

/* Takes over @bytes. */
static void open_object(uint8_t *bytes, size_t size, const struct jit_entry *entry)
{
	struct asking asking = {};
	uint64_t start, end;
	size_t offset, count, index = 0;
	uint8_t *code;

	jit_object_table(bytes, &offset, &count);
	while (jit_object_code(bytes + offset, count, &index, &start, &end))
		MUST(start < end && index <= count);
	if (jit_object_open(bytes, size, &asking.object))
		return;
	jit_object_functions(asking.object, visit, &asking);
	if (entry) {
		code = calloc(1, entry->size);
		jit_object_is_code(asking.object, entry->start, code, entry->size);
		free(code);
	}
	jit_object_free(asking.object);
}

/* A node of Julia's, what it refers to, and the object that is packed there. */
static void open_packed(const uint8_t *data, size_t size)
{
	const uint8_t *packed = data + JIT_ENTRY_BYTES + JIT_COPY_BYTES;
	struct jit_entry entry;
	struct jit_copy copy;
	uint8_t *bytes;
	size_t room;

	if (size < JIT_ENTRY_BYTES + JIT_COPY_BYTES || !jit_entry_read(data, &entry) ||
		!jit_copy_read(data + JIT_ENTRY_BYTES, &copy))
		return;
	size -= JIT_ENTRY_BYTES + JIT_COPY_BYTES;
	size = size < copy.size ? size : copy.size;
	room = copy.unpacked ? copy.unpacked : size;
	bytes = malloc(room + !room);
	if (!copy.unpacked)
		memcpy(bytes, packed, size);
	if ((copy.unpacked && jit_unpack(packed, size, bytes, room)) ||
		jit_object_place(bytes, room, entry.index, entry.start, entry.size)) {
		free(bytes);
		return;
	}
	MUST(jit_object_size(bytes) <= room);
	open_object(bytes, jit_object_size(bytes), &entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size < JIT_HEADER_BYTES || !jit_object_size(data) || jit_object_size(data) > size) {
		open_packed(data, size);
		return 0;
	}
	size = jit_object_size(data);
	bytes = malloc(size);
	memcpy(bytes, data, size);
	open_object(bytes, size, NULL);
	return 0;
}
