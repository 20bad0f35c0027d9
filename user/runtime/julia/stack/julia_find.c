/* Symbols of files and of the JIT's objects → functions of one name. */
#include <string.h>

#include "elf_code.h"
#include "jit_code.h"
#include "julia_find.h"
#include "julia_name.h"
#include "julia_stack_priv.h"
#include "mem.h"

struct search {
	const struct julia_finding *finding;
	const struct elf_file *elf;
	const struct proc_map *map;
};

static bool is_wanted(const struct julia_finding *finding, const char *symbol, bool tell)
{
	char name[JULIA_NAME_BYTES];

	if (julia_name_is_adapter(symbol) || !julia_name(symbol, name, sizeof(name), NULL))
		return false;
	if (!strcmp(name, finding->name))
		return true;
	if (tell && finding->other)
		finding->other(name, finding->arg);
	return false;
}

static int visit_file(const struct elf_symbol *symbol, void *arg)
{
	const struct search *search = arg;
	struct julia_function function = {.symbol = symbol->name, .map = search->map};
	enum elf_step step;
	uint64_t place;

	if (is_wanted(search->finding, symbol->name, false) &&
		!elf_code_probe_site(search->elf, symbol->vaddr, &place, &step) &&
		!elf_file_offset(search->elf, place, &function.offset))
		search->finding->found(&function, search->finding->arg);
	return 0;
}

static int visit_jit(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	const struct julia_finding *finding = arg;
	const struct julia_function function = {.symbol = symbol, .address = address};

	if (is_wanted(finding, symbol, true))
		finding->found(&function, finding->arg);
	return 0;
}

static void search_file(struct code_files *files, const struct proc_map *map,
	const struct julia_finding *finding)
{
	struct code_file *file = map->exec ? code_files_open(files, map) : NULL;
	struct search search = {.finding = finding, .map = map};

	if (!file || !file->elf || file->searched)
		return;
	file->searched = true;
	search.elf = file->elf;
	elf_file_functions(file->elf, false, visit_file, &search);
}

void julia_find(struct julia_stacks *stacks, const struct julia_finding *finding)
{
	code_files_refresh(&stacks->files);
	for (size_t i = 0; i < stacks->files.maps.maps.count; i++)
		search_file(&stacks->files, &stacks->files.maps.maps.items[i], finding);
	jit_code_look(stacks->jit, now_ns());
	jit_code_functions(stacks->jit, visit_jit, (void *)finding);
}
