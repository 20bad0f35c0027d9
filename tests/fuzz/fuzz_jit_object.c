/*
 * The bytes of a JIT's object → functions, places in the source: whatever they are, no read outside, no crash, no
 * frame without a name that can be shown.
 */
#include <stdlib.h>
#include <string.h>

#include "jit_object.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asking asking = {};
	uint64_t start, end;
	size_t offset, count, index = 0;
	uint8_t *bytes;

	if (size < JIT_HEADER_BYTES || !jit_object_size(data) || jit_object_size(data) > size)
		return 0;
	size = jit_object_size(data);
	bytes = malloc(size);
	memcpy(bytes, data, size);
	jit_object_table(bytes, &offset, &count);
	while (jit_object_code(bytes + offset, count, &index, &start, &end))
		MUST(start < end && index <= count);
	if (jit_object_open(bytes, size, &asking.object))
		return 0;
	jit_object_functions(asking.object, visit, &asking);
	jit_object_free(asking.object);
	return 0;
}
