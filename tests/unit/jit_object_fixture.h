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

/* The bytes of the object that environment variable @name leads to, from malloc: not loaded. */
static inline char *read_fixture(const char *name, size_t *ret_size)
{
	const char *path = getenv(name);
	FILE *file = path ? fopen(path, "re") : NULL;
	char *bytes = malloc(FIXTURE_MOST);

	if (!file || !bytes)
		abort();
	*ret_size = fread(bytes, 1, FIXTURE_MOST, file);
	fclose(file);
	name_as_julia(bytes, *ret_size);
	return bytes;
}

/* Gives what an object would be loaded of addresses from @address on, its code first; returns where that ends. */
static inline uint64_t place_fixture(char *bytes, uint64_t address)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		if (!(sections[i].sh_flags & SHF_ALLOC) || !sections[i].sh_size)
			continue;
		address = (address + 15) & ~15ull;
		sections[i].sh_addr = address;
		address += sections[i].sh_size;
	}
	return address;
}

/* Both, of jit_fixture.o. */
static inline void *load_fixture(uint64_t address, size_t *ret_size, uint64_t *ret_end)
{
	char *bytes = read_fixture("GCTRACE_JIT_FIXTURE", ret_size);

	*ret_end = place_fixture(bytes, address);
	return bytes;
}

/* Writes the code of such an object where its header says, other bytes where it is relocated, as a linker does. */
static inline void link_fixture(const char *bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_flags & SHF_EXECINSTR && sections[i].sh_size)
			memcpy((void *)(uintptr_t)sections[i].sh_addr,
				bytes + sections[i].sh_offset, sections[i].sh_size);
	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Rela *relas = (const Elf64_Rela *)(bytes + sections[i].sh_offset);
		const Elf64_Shdr *target = &sections[sections[i].sh_info];

		if (sections[i].sh_type != SHT_RELA || !(target->sh_flags & SHF_EXECINSTR))
			continue;
		for (size_t n = 0; n < sections[i].sh_size / sizeof(*relas); n++)
			memset((void *)(uintptr_t)(target->sh_addr + relas[n].r_offset), 0xa5, 4);
	}
}
