/* The bytes of a JIT's object → functions, places in the source. Relocates its debug information for libdw. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jit_object.h"

struct jit_object {
	uint8_t *bytes;
	size_t size;
	const Elf64_Shdr *sections;
	size_t section_count;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *names; /* of symbols; ends with a NUL */
	size_t names_size;
	struct elf_lines *lines; /* NULL: there are none */
	struct elf_rules *rules; /* likewise */
};

_Static_assert(JIT_HEADER_BYTES == sizeof(Elf64_Ehdr), "what is read first");

size_t jit_object_size(const void *header)
{
	Elf64_Ehdr elf;
	uint64_t size;

	memcpy(&elf, header, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
		elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_type != ET_REL ||
		elf.e_machine != EM_X86_64 || elf.e_shentsize != sizeof(Elf64_Shdr) ||
		!elf.e_shnum || elf.e_shnum > JIT_SECTIONS_MOST || elf.e_shoff < sizeof(elf) ||
		elf.e_shoff % 8 || elf.e_shoff > JIT_OBJECT_MOST)
		return 0;
	size = elf.e_shoff + (uint64_t)elf.e_shnum * sizeof(Elf64_Shdr); /* the headers are last */
	return size <= JIT_OBJECT_MOST ? (size_t)size : 0;
}

void jit_object_table(const void *header, size_t *ret_offset, size_t *ret_count)
{
	Elf64_Ehdr elf;

	memcpy(&elf, header, sizeof(elf));
	*ret_offset = (size_t)elf.e_shoff;
	*ret_count = elf.e_shnum;
}

bool jit_object_code(const void *table, size_t count, size_t *index, uint64_t *ret_start,
	uint64_t *ret_end)
{
	const Elf64_Shdr *sections = table;

	while (*index < count) {
		const Elf64_Shdr *section = &sections[(*index)++];

		if (!(section->sh_flags & SHF_EXECINSTR) || !section->sh_addr ||
			!section->sh_size || section->sh_size > JIT_OBJECT_MOST ||
			section->sh_addr > UINT64_MAX - section->sh_size)
			continue;
		*ret_start = section->sh_addr;
		*ret_end = section->sh_addr + section->sh_size;
		return true;
	}
	return false;
}

int jit_object_place(void *bytes, size_t size, uint32_t index, uint64_t start, uint64_t code_size)
{
	size_t offset, count;
	Elf64_Shdr *sections, *code;

	if (size < JIT_HEADER_BYTES || !jit_object_size(bytes) || jit_object_size(bytes) > size)
		return -EBADMSG;
	jit_object_table(bytes, &offset, &count);
	sections = (Elf64_Shdr *)((uint8_t *)bytes + offset);
	code = index < count ? &sections[index] : NULL;
	if (!code || !(code->sh_flags & SHF_EXECINSTR) || code->sh_size != code_size ||
		(code->sh_addr && code->sh_addr != start))
		return -EBADMSG;
	code->sh_addr = start;
	/*
	 * Where the others were loaded is not known, and does not matter: of this object only the code at @start is asked
	 * for. Each needs a place of its own, for lists of ranges; and one nearby, as .eh_frame may refer to code in 32 bits.
	 */
	start += code_size;
	for (size_t i = 0; i < count; i++) {
		if (!(sections[i].sh_flags & SHF_ALLOC) || sections[i].sh_addr)
			continue;
		start = (start + 15) & ~15ull;
		sections[i].sh_addr = start;
		start += sections[i].sh_size;
	}
	return 0;
}

/* The bytes of section @index; NULL if it has none here. */
static uint8_t *contents(const struct jit_object *object, size_t index, size_t *ret_size)
{
	const Elf64_Shdr *section;

	if (index >= object->section_count)
		return NULL;
	section = &object->sections[index];
	if (section->sh_type == SHT_NOBITS || section->sh_offset > object->size ||
		section->sh_size > object->size - section->sh_offset)
		return NULL;
	*ret_size = (size_t)section->sh_size;
	return object->bytes + section->sh_offset;
}

static void find_symbols(struct jit_object *object)
{
	for (size_t i = 0; i < object->section_count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		size_t size, names_size;
		const uint8_t *symbols =
			section->sh_type == SHT_SYMTAB ? contents(object, i, &size) : NULL;
		const uint8_t *names =
			symbols ? contents(object, section->sh_link, &names_size) : NULL;

		if (!names || section->sh_offset % _Alignof(Elf64_Sym) || !names_size ||
			names[names_size - 1])
			continue;
		object->symbols = (const Elf64_Sym *)symbols;
		object->symbol_count = size / sizeof(Elf64_Sym);
		object->names = (const char *)names;
		object->names_size = names_size;
		return;
	}
}

/* Where symbol @index lies in memory; in the file, for what is not loaded. */
static bool address_of(const struct jit_object *object, uint64_t index, uint64_t *ret)
{
	const Elf64_Sym *symbol;

	if (index >= object->symbol_count)
		return false;
	symbol = &object->symbols[index];
	if (symbol->st_shndx >= object->section_count)
		return false;
	*ret = symbol->st_value + object->sections[symbol->st_shndx].sh_addr;
	return true;
}

/* By the System V ABI for x86-64, "Relocation": how many bytes; whether relative to where they lie. */
static size_t width_of(uint64_t type, bool *ret_relative)
{
	*ret_relative = type == R_X86_64_PC32 || type == R_X86_64_PC64;
	switch (type) {
	case R_X86_64_64:
	case R_X86_64_PC64:
		return 8;
	case R_X86_64_32:
	case R_X86_64_PC32:
		return 4;
	}
	return 0;
}

/* @section: whose bytes are at @target. */
static void relocate(const struct jit_object *object, const Elf64_Rela *rela, uint64_t section,
	uint8_t *target, size_t size)
{
	bool relative;
	size_t width = width_of(ELF64_R_TYPE(rela->r_info), &relative);
	uint64_t value;

	if (!width || rela->r_offset > size || size - rela->r_offset < width ||
		!address_of(object, ELF64_R_SYM(rela->r_info), &value))
		return;
	value += (uint64_t)rela->r_addend;
	if (relative)
		value -= section + rela->r_offset;
	memcpy(target + rela->r_offset, &value, width);
}

static bool is_data(const Elf64_Shdr *section)
{
	return (section->sh_type == SHT_PROGBITS || section->sh_type == SHT_X86_64_UNWIND) &&
	       !(section->sh_flags & SHF_EXECINSTR);
}

/*
 * Code has been relocated where it runs; the copy's debug information and .eh_frame have not. In a hostile object a
 * section may be anything, its headers and names too: whoever reads those later looks at their bounds again.
 */
static void relocate_sections(struct jit_object *object)
{
	for (size_t i = 0; i < object->section_count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		size_t size, target_size;
		const uint8_t *relas =
			section->sh_type == SHT_RELA ? contents(object, i, &size) : NULL;
		const uint32_t info = section->sh_info;
		uint8_t *target = relas ? contents(object, info, &target_size) : NULL;
		const uint64_t address = target ? object->sections[info].sh_addr : 0;
		Elf64_Rela rela;

		if (!target || !is_data(&object->sections[info]))
			continue;
		for (size_t at = 0; size - at >= sizeof(rela); at += sizeof(rela)) {
			memcpy(&rela, relas + at, sizeof(rela));
			relocate(object, &rela, address, target, target_size);
		}
	}
}

int jit_object_open(void *bytes, size_t size, struct jit_object **ret)
{
	_cleanup_free_ void *owned = bytes;
	struct jit_object *object;
	size_t table, count;

	if (size < JIT_HEADER_BYTES || jit_object_size(bytes) != size)
		return -EBADMSG;
	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	jit_object_table(bytes, &table, &count);
	object->bytes = steal_ptr(owned);
	object->size = size;
	object->sections = (const Elf64_Shdr *)(object->bytes + table);
	object->section_count = count;
	find_symbols(object);
	relocate_sections(object);
	if (object->names_size && object->names[object->names_size - 1])
		object->symbol_count = 0;
	if (elf_lines_open(object->bytes, size, &object->lines))
		object->lines = NULL;
	if (elf_rules_open(object->bytes, size, &object->rules))
		object->rules = NULL;
	*ret = object;
	return 0;
}

void jit_object_free(struct jit_object *object)
{
	if (!object)
		return;
	elf_lines_free(object->lines);
	elf_rules_free(object->rules);
	free(object->bytes);
	free(object);
}

int jit_object_functions(const struct jit_object *object, jit_visit_fn visit, void *arg)
{
	int r = 0;

	for (size_t i = 0; !r && i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		uint64_t address;

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
			symbol->st_name >= object->names_size || !object->names[symbol->st_name] ||
			!symbol->st_shndx || !address_of(object, i, &address))
			continue;
		r = visit(object->names + symbol->st_name, address, symbol->st_size, arg);
	}
	return r;
}

/* What a linker may write for a relocation: the value and, where it may do without a table of addresses, the opcode. */
static void written_by(uint64_t type, size_t *ret_before, size_t *ret_width)
{
	*ret_before = type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX ? 3 : 0;
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_GOT32:
	case R_X86_64_PLT32:
	case R_X86_64_GOTPCREL:
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_GOTPC32:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		*ret_width = 4;
		return;
	}
	*ret_width = 8; /* of all others */
}

static void copy_relocated(uint8_t *code, const uint8_t *bytes, size_t size, const Elf64_Rela *rela)
{
	size_t before, width, at;

	if (rela->r_offset >= size)
		return;
	written_by(ELF64_R_TYPE(rela->r_info), &before, &width);
	at = (size_t)rela->r_offset;
	before = before < at ? before : at;
	width = width < size - at ? width : size - at;
	memcpy(code + at - before, bytes + at - before, before + width);
}

static size_t find_code(const struct jit_object *object, uint64_t start, size_t size)
{
	for (size_t i = 0; i < object->section_count; i++) {
		const Elf64_Shdr *section = &object->sections[i];

		if (section->sh_flags & SHF_EXECINSTR && section->sh_addr == start &&
			section->sh_size == size)
			return i;
	}
	return 0;
}

bool jit_object_is_code(const struct jit_object *object, uint64_t start, uint8_t *code, size_t size)
{
	size_t index = find_code(object, start, size), bytes_size, relas_size;
	const uint8_t *bytes = index ? contents(object, index, &bytes_size) : NULL;

	if (!bytes)
		return false;
	for (size_t i = 0; i < object->section_count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		const uint8_t *relas = section->sh_type == SHT_RELA && section->sh_info == index
					       ? contents(object, i, &relas_size)
					       : NULL;
		Elf64_Rela rela;

		if (!relas)
			continue;
		for (size_t at = 0; relas_size - at >= sizeof(rela); at += sizeof(rela)) {
			memcpy(&rela, relas + at, sizeof(rela));
			copy_relocated(code, bytes, size, &rela);
		}
	}
	return !memcmp(code, bytes, size);
}

struct at {
	uint64_t address;
	const char *symbol;
};

static int visit_at(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	struct at *at = arg;

	if (at->address < address || at->address - address >= size)
		return 0;
	at->symbol = symbol;
	return 1;
}

size_t jit_object_find(struct jit_object *object, uint64_t address, struct elf_place *ret,
	size_t max)
{
	struct at at = {.address = address};
	size_t count;

	if (!max || !jit_object_functions(object, visit_at, &at))
		return 0;
	count = object->lines ? elf_lines_find(object->lines, address, ret, max) : 0;
	if (!count)
		ret[count++] = (struct elf_place){.function = "", .file = ""};
	ret[count - 1].symbol =
		at.symbol; /* where too many are inlined, the outermost is not there */
	return count;
}

int jit_object_rule(struct jit_object *object, uint64_t address, struct elf_rule *ret)
{
	return object->rules ? elf_rules_find(object->rules, address, ret) : -ENOENT;
}
