/* An object as Julia's JIT keeps one: jit_fixture.c's, compiled by the build, at addresses of the test's choice. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE_MOST (1u << 20)

enum { LINE_INLINED = 12, LINE_CALL = 17 }; /* of jit_fixture.c */

/* "B" → "!" in what would be symbols of Julia's. */
static inline void name_as_julia(char *bytes, size_t size)
{
	static const char written[] = "train_stepB_";

	for (size_t at = 0; at + sizeof(written) <= size; at++)
		if (!memcmp(bytes + at, written, sizeof(written) - 1))
			bytes[at + strlen("train_step")] = '!';
}

/* The bytes of the object, from malloc, loaded from @address on, its code first; *ret_end is where that ends. */
static inline void *load_fixture(uint64_t address, size_t *ret_size, uint64_t *ret_end)
{
	const char *path = getenv("GCTRACE_JIT_FIXTURE");
	FILE *file = path ? fopen(path, "re") : NULL;
	char *bytes = malloc(FIXTURE_MOST);
	Elf64_Shdr *sections;
	Elf64_Ehdr *header;

	if (!file || !bytes)
		abort();
	*ret_size = fread(bytes, 1, FIXTURE_MOST, file);
	fclose(file);
	name_as_julia(bytes, *ret_size);
	header = (Elf64_Ehdr *)bytes;
	sections = (Elf64_Shdr *)(bytes + header->e_shoff);
	for (size_t i = 0; i < header->e_shnum; i++) {
		if (!(sections[i].sh_flags & SHF_ALLOC) || !sections[i].sh_size)
			continue;
		address = (address + 15) & ~15ull;
		sections[i].sh_addr = address;
		address += sections[i].sh_size;
	}
	*ret_end = address;
	return bytes;
}
