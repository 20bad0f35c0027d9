/* Symbol tables: scanned in place in one pass, without a copy and with little of them in memory. */
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

static bool is_function(const Elf64_Sym *entry)
{
	int type = ELF64_ST_TYPE(entry->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

#define CHUNKS 1024
#define CHUNK  ((size_t)1 << 17) /* bytes at least */
#define ROUNDS 4		 /* how often a table in odd order may be read as a whole */

/*
 * One pass over @bytes, roughly front to back. Of a large table only a few chunks stay in memory.
 */
struct pass {
	const uint8_t *bytes;
	size_t size, chunk;
	size_t most, count, left; /* chunks that may be in memory, that are, that may yet be read */
	uint8_t in_memory[CHUNKS];
};

/* Bytes that belong to the caller are never dropped. */
static void pass_init(struct pass *pass, const struct elf_file *file,
	const struct elf_section *section, size_t most)
{
	*pass = (struct pass){section->bytes, section->size, section->size / CHUNKS + 1, most};
	if (pass->chunk < CHUNK)
		pass->chunk = CHUNK;
	if (file->mapped)
		pass->left = ROUNDS * (pass->size / pass->chunk + 1);
}

/* Call before reading at offset @at. */
static void pass_to(struct pass *pass, size_t at)
{
	size_t chunk = at / pass->chunk;

	if (!pass->left || at >= pass->size || pass->in_memory[chunk])
		return;
	if (pass->count == pass->most) {
		elf_pages_drop(pass->bytes, pass->size);
		memset(pass->in_memory, 0, sizeof(pass->in_memory));
		pass->count = 0;
	}
	pass->in_memory[chunk] = 1;
	pass->count++;
	pass->left--;
}

static int visit_entries(struct pass *entries, struct pass *names, struct elf_symbol symbol,
	bool functions, elf_visit_fn visit, void *arg)
{
	/*
	 * Names may share their tails, but not eight times over: this ends the scan of a hostile
	 * table.
	 */
	size_t budget = 8 * names->size, left;
	Elf64_Sym entry;
	int result = 0;

	for (size_t at = 0; !result && entries->size - at >= sizeof(entry); at += sizeof(entry)) {
		pass_to(entries, at);
		memcpy(&entry, entries->bytes + at, sizeof(entry));
		symbol.function = is_function(&entry);
		if (!is_wanted(&entry) || (functions && !symbol.function))
			continue;
		pass_to(names, entry.st_name);
		left = entry.st_name < names->size ? names->size - entry.st_name : 0;
		symbol.name = (const char *)names->bytes + entry.st_name;
		symbol.length = strnlen(symbol.name, left);
		if (symbol.length == left)
			continue; /* not terminated inside */
		if (symbol.length >= budget)
			return 0;
		budget -= symbol.length + 1;
		symbol.vaddr = entry.st_value;
		symbol.size = entry.st_size;
		result = visit(&symbol, arg);
	}
	return result;
}

static int visit_table(const struct elf_file *file, const struct elf_section *table, bool functions,
	elf_visit_fn visit, void *arg)
{
	const struct elf_symbol symbol = {.dynamic = table->type == SHT_DYNSYM};
	struct elf_section strings;
	struct pass entries, names;

	if (table->entry_size != sizeof(Elf64_Sym) ||
		!elf_section_get(file, table->link, &strings) || strings.type != SHT_STRTAB)
		return 0;
	pass_init(&entries, file, table, 8);
	pass_init(&names, file, &strings, 64);
	return visit_entries(&entries, &names, symbol, functions, visit, arg);
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
		result = visit_table(file, &table, false, visit, arg);
	if (!result && all && find_table(file, SHT_SYMTAB, &table))
		result = visit_table(file, &table, false, visit, arg);
	return result;
}

int elf_file_functions(const struct elf_file *file, bool dynamic, elf_visit_fn visit, void *arg)
{
	struct elf_section table;

	if (!find_table(file, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &table))
		return 0;
	return visit_table(file, &table, true, visit, arg);
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

struct holder {
	uint64_t vaddr;
	struct elf_symbol *ret;
};

static int match_holder(const struct elf_symbol *symbol, void *arg)
{
	struct holder *search = arg;

	if (search->vaddr < symbol->vaddr || search->vaddr - symbol->vaddr >= symbol->size)
		return 0;
	*search->ret = *symbol;
	return 1;
}

int elf_file_function_at(const struct elf_file *file, uint64_t vaddr, struct elf_symbol *ret)
{
	struct holder search = {vaddr, ret};

	return elf_file_functions(file, false, match_holder, &search) ||
			       elf_file_functions(file, true, match_holder, &search)
		       ? 0
		       : -ENOENT;
}

bool elf_file_has_symtab(const struct elf_file *file)
{
	struct elf_section table;

	/* The first entry of every table is reserved. */
	return find_table(file, SHT_SYMTAB, &table) && table.size > sizeof(Elf64_Sym);
}
