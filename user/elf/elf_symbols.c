/* Symbol tables: scanned where they lie in the file, one pass, nothing copied. */
#include <errno.h>
#include <string.h>

#include "elf_priv.h"

static bool is_wanted(const Elf64_Sym *entry)
{
	int type = ELF64_ST_TYPE(entry->st_info);

	return entry->st_name && entry->st_value && entry->st_shndx != SHN_UNDEF &&
	       entry->st_shndx != SHN_ABS && entry->st_shndx != SHN_COMMON && type != STT_SECTION &&
	       type != STT_FILE && type != STT_TLS;
}

static int visit_table(
	const struct elf_file *file, const struct elf_section *table, elf_visit_fn visit, void *arg)
{
	struct elf_symbol symbol = {.dynamic = table->type == SHT_DYNSYM};
	struct elf_section strings;
	Elf64_Sym entry;
	int type, result;
	size_t budget, len;

	if (table->entry_size != sizeof(entry) || !elf_section_get(file, table->link, &strings) ||
		strings.type != SHT_STRTAB)
		return 0;
	/* Names share tails, but not eight times over: a hostile table ends here, not never. */
	budget = 8 * strings.size;
	for (size_t at = 0; table->size - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, table->bytes + at, sizeof(entry));
		if (!is_wanted(&entry))
			continue;
		symbol.name = elf_string(strings.bytes, strings.size, entry.st_name);
		if (!symbol.name)
			continue;
		len = strlen(symbol.name) + 1;
		if (len > budget)
			return 0;
		budget -= len;
		type = ELF64_ST_TYPE(entry.st_info);
		symbol.function = type == STT_FUNC || type == STT_GNU_IFUNC;
		symbol.vaddr = entry.st_value;
		symbol.size = entry.st_size;
		result = visit(&symbol, arg);
		if (result)
			return result;
	}
	return 0;
}

/* A file has one table of each kind (gABI, "Sections"); more are a hostile file's. */
static bool find_table(const struct elf_file *file, uint32_t type, struct elf_section *ret)
{
	struct elf_section section;

	for (size_t i = 0; elf_section_get(file, i, &section); i++) {
		if (section.type != type)
			continue;
		*ret = section;
		return true;
	}
	return false;
}

int elf_file_symbols(const struct elf_file *file, bool all, elf_visit_fn visit, void *arg)
{
	struct elf_section table;
	int result = 0;

	if (find_table(file, SHT_DYNSYM, &table))
		result = visit_table(file, &table, visit, arg);
	if (!result && all && find_table(file, SHT_SYMTAB, &table))
		result = visit_table(file, &table, visit, arg);
	return result;
}

struct search {
	const char *name;
	struct elf_symbol found;
};

static int match_name(const struct elf_symbol *symbol, void *arg)
{
	struct search *search = arg;

	if (strcmp(symbol->name, search->name))
		return 0;
	search->found = *symbol;
	return 1;
}

int elf_file_symbol(const struct elf_file *file, const char *name, bool all, struct elf_symbol *ret)
{
	struct search search = {.name = name};

	if (!elf_file_symbols(file, all, match_name, &search))
		return -ENOENT;
	*ret = search.found;
	return 0;
}

bool elf_file_has_symtab(const struct elf_file *file)
{
	struct elf_section table;

	/* The first entry of every table is reserved. */
	return find_table(file, SHT_SYMTAB, &table) && table.size > sizeof(Elf64_Sym);
}
