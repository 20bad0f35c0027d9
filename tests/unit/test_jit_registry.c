/* What Julia 1.12 and later keep of their JIT's code: read, unpacked, placed, compared with code; sound and damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "jit_object.h"
#include "jit_object_fixture.h"
#include "jit_registry.h"
#include "jit_registry_fixture.h"

#define PLACE 0x7f0000001000ull /* of code, where none runs */

static const struct node valid_node = {
	.start = PLACE, .copy = 0x5500000010, .size = 113, .slide = -PLACE, .index = 1};

static bool reads_node(struct node node, struct jit_entry *ret)
{
	return jit_entry_read(&node.start, ret);
}

static void test_entry(void **state)
{
	struct jit_entry entry;
	struct node node = valid_node;

	assert_true(reads_node(node, &entry));
	assert_int_equal(entry.start, PLACE);
	assert_int_equal(entry.size, 113);
	assert_int_equal(entry.copy, 0x5500000010);
	assert_int_equal(entry.index, 1);
	node.slide = 0;
	assert_true(reads_node(node, &entry));
	node.slide = 16;
	assert_false(reads_node(node, &entry));
	node = (struct node){.start = -8ull, .copy = 8, .size = 16, .index = 1};
	assert_false(reads_node(node, &entry));
	node = valid_node, node.size = 0;
	assert_false(reads_node(node, &entry));
	node.size = JIT_OBJECT_MOST + 1;
	assert_false(reads_node(node, &entry));
	node = valid_node, node.copy = 0;
	assert_false(reads_node(node, &entry));
	node.copy = 0x5500000011;
	assert_false(reads_node(node, &entry));
	node = valid_node, node.index = 0;
	assert_false(reads_node(node, &entry));
	node.index = JIT_SECTIONS_MOST;
	assert_false(reads_node(node, &entry));
}

static bool reads_copy(uint64_t size, uint64_t capacity, uint64_t unpacked)
{
	const struct lazy lazy = {4096, size, capacity, unpacked};
	struct jit_copy copy;

	return jit_copy_read(&lazy, &copy) && copy.address == 4096 && copy.size == size &&
	       copy.unpacked == unpacked;
}

static void test_copy(void **state)
{
	const struct lazy none = {.size = 17, .capacity = 17};
	struct jit_copy copy;

	assert_true(reads_copy(17, 17, 0));
	assert_true(reads_copy(17, 23, JIT_OBJECT_MOST));
	assert_false(reads_copy(17, 16, 0));
	assert_false(reads_copy(0, 16, 0)); /* Julia could not make an object of it */
	assert_false(reads_copy(17, 17, JIT_OBJECT_MOST + 1));
	assert_false(reads_copy(JIT_OBJECT_MOST + 1, JIT_OBJECT_MOST + 1, 23));
	assert_false(jit_copy_read(&none, &copy));
}

static void test_unpack(void **state)
{
	size_t size, packed_size;
	uint64_t end;
	_cleanup_free_ char *bytes = load_fixture(PLACE, &size, &end), *unpacked = malloc(size);

	for (enum packing packing = ZLIB; packing <= ZSTD; packing++) {
		char *packed = pack(packing, bytes, size, &packed_size);

		assert_true(packed_size < size);
		memset(unpacked, 0, size);
		assert_int_equal(jit_unpack(packed, packed_size, unpacked, size), 0);
		assert_memory_equal(unpacked, bytes, size);
		/* Less or more in it than was said, or behind it. */
		assert_int_equal(jit_unpack(packed, packed_size, unpacked, size - 1), -EBADMSG);
		bytes = realloc(bytes, size + 1);
		assert_int_equal(jit_unpack(packed, packed_size, bytes, size + 1), -EBADMSG);
		packed = realloc(packed, packed_size + 1);
		packed[packed_size] = 0;
		assert_int_equal(jit_unpack(packed, packed_size + 1, unpacked, size), -EBADMSG);
		for (size_t cut = 0; cut < packed_size; cut++) {
			char *exact = malloc(cut + !cut);

			memcpy(exact, packed, cut);
			assert_int_equal(jit_unpack(exact, cut, unpacked, size), -EBADMSG);
			free(exact);
		}
		free(packed);
	}
	assert_int_equal(jit_unpack(bytes, size, unpacked, size), -EBADMSG); /* neither */
}

/* zlib has a checksum: nothing else comes out. Zstandard has none here: then the object may be damaged, not more. */
static void test_unpack_damaged(void **state)
{
	size_t size, packed_size;
	uint64_t end;
	_cleanup_free_ char *bytes = load_fixture(PLACE, &size, &end);

	for (enum packing packing = ZLIB; packing <= ZSTD; packing++) {
		char *packed = pack(packing, bytes, size, &packed_size);

		for (size_t at = 0; at < packed_size; at++) {
			char *unpacked = malloc(size);
			struct jit_object *object;
			int r;

			packed[at] ^= 0x40;
			r = jit_unpack(packed, packed_size, unpacked, size);
			packed[at] ^= 0x40;
			if (packing == ZLIB && !r) /* bits behind the end */
				assert_memory_equal(unpacked, bytes, size);
			if (r || jit_object_place(unpacked, size, 1, PLACE, 113))
				free(unpacked);
			else if (!jit_object_open(unpacked, size, &object))
				jit_object_free(object);
		}
		free(packed);
	}
}

/* An object whose headers have no addresses: names, lines and rules are those of where it was placed. */
static void test_place(void **state)
{
	size_t size, index;
	char *bytes = read_fixture("GCTRACE_JIT_FIXTURE", &size);
	struct wanted function = {.symbol = "japi1_train_step!_52"};
	struct elf_place places[4];
	struct jit_object *object;
	struct elf_rule rule;
	uint64_t code_size;

	index = code_from(bytes, 1);
	code_size = section_of(bytes, index)->sh_size;
	assert_int_equal(jit_object_place(bytes, size, 0, PLACE, code_size), -EBADMSG);
	assert_int_equal(jit_object_place(bytes, size, 4095, PLACE, code_size), -EBADMSG);
	assert_int_equal(jit_object_place(bytes, size, (uint32_t)index + 1, PLACE,
				 section_of(bytes, index + 1)->sh_size),
		-EBADMSG); /* no code */
	assert_int_equal(jit_object_place(bytes, size, (uint32_t)index, PLACE, code_size - 1),
		-EBADMSG);
	assert_int_equal(jit_object_place(bytes, size - 1, (uint32_t)index, PLACE, code_size),
		-EBADMSG);
	assert_int_equal(jit_object_place(bytes, size, (uint32_t)index, PLACE, code_size), 0);
	assert_int_equal(jit_object_place(bytes, size, (uint32_t)index, PLACE, code_size), 0);
	assert_int_equal(jit_object_place(bytes, size, (uint32_t)index, PLACE + 16, code_size),
		-EBADMSG);

	assert_int_equal(jit_object_open(bytes, size, &object), 0);
	jit_object_functions(object, want, &function);
	assert_int_equal(function.all, 3);
	assert_true(function.address > PLACE && function.address < PLACE + code_size);
	assert_int_equal(jit_object_find(object, function.address + 1, places, 4), 1);
	assert_true(places[0].line > 0);
	assert_int_equal(jit_object_rule(object, function.address, &rule), 0);
	assert_int_equal(rule.frame_register, ELF_RSP);
	assert_int_equal(rule.frame_offset, 8);
	jit_object_free(object);
}

static size_t relocations_of(const char *bytes, size_t index)
{
	size_t count = 0;

	for (size_t i = 1; i < ((const Elf64_Ehdr *)bytes)->e_shnum; i++)
		if (section_of(bytes, i)->sh_type == SHT_RELA &&
			section_of(bytes, i)->sh_info == index)
			count += section_of(bytes, i)->sh_size / sizeof(Elf64_Rela);
	return count;
}

/* A linker writes where code is relocated, here in 32 bits, and nowhere else. */
static void test_is_code(void **state)
{
	size_t size;
	uint64_t end, code_size;
	char *bytes = load_fixture(PLACE, &size, &end);
	const Elf64_Shdr *section = section_of(bytes, code_from(bytes, 1));
	const size_t relocated = 4 * relocations_of(bytes, code_from(bytes, 1));
	uint8_t original[256], code[256];
	struct jit_object *object;
	size_t ignored = 0;

	code_size = section->sh_size;
	assert_true(code_size <= sizeof(original));
	memcpy(original, bytes + section->sh_offset, code_size);
	assert_int_equal(jit_object_open(bytes, size, &object), 0);
	for (size_t at = 0; at < code_size; at++) {
		memcpy(code, original, code_size);
		code[at] ^= 0x10;
		ignored += jit_object_is_code(object, PLACE, code, code_size);
	}
	assert_true(relocated > 0 && relocated < code_size);
	assert_int_equal(ignored, relocated);
	memcpy(code, original, code_size);
	assert_true(jit_object_is_code(object, PLACE, code, code_size));
	assert_false(jit_object_is_code(object, PLACE + 1, code, code_size));
	assert_false(jit_object_is_code(object, PLACE, code, code_size - 1));
	jit_object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_unpack_damaged),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_is_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
