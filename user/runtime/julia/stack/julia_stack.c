/* Return addresses → stack nodes, each address named once. In: a process's maps and files, its JIT's objects. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "elf_lines.h"
#include "jit_code.h"
#include "julia_name.h"
#include "julia_stack_priv.h"
#include "mem.h"
#include "utf8.h"

#define CACHED_MOST (1u << 20) /* frames that are remembered */

struct julia_stacks *julia_stacks_new(pid_t pid, bool numbered)
{
	struct julia_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->files.pid = pid;
	stacks->numbered = numbered;
	stacks->jit = jit_code_new(pid);
	if (stacks->jit)
		return stacks;
	free(stacks);
	return NULL;
}

void julia_stacks_free(struct julia_stacks *stacks)
{
	if (!stacks)
		return;
	vec_free(&stacks->runs);
	u64map_release(&stacks->known);
	vec_free(&stacks->rules);
	u64map_release(&stacks->ruled);
	code_files_release(&stacks->files);
	jit_code_free(stacks->jit);
	free(stacks);
}

struct jit_code *julia_stacks_jit(struct julia_stacks *stacks)
{
	return stacks->jit;
}

static void forget(struct julia_stacks *stacks)
{
	u64map_release(&stacks->known);
	stacks->known = (struct u64map){};
	stacks->runs.count = 0;
}

static uint32_t intern(struct stack_table *table, uint32_t lang, const char *function,
	const char *path, uint32_t line)
{
	char clean[3 * JULIA_NAME_BYTES + 1], file[PATH_MAX];
	struct frame frame = {.lang = lang, .line = line};
	size_t length = utf8_clean(clean, sizeof(clean), function, strlen(function));

	frame.function = strtab_add(table->strings, clean, length);
	length = utf8_clean(file, sizeof(file), path, strlen(path));
	frame.file = strtab_add(table->strings, file, length);
	if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
		return 0;
	return stack_table_frame(table, &frame);
}

static void add_frame(struct julia_stacks *stacks, uint32_t frame)
{
	if (frame && stacks->found[0] < INLINED_MOST)
		stacks->found[++stacks->found[0]] = frame;
}

/* What was compiled as one function, and what is inlined in it here. Base's files are named by paths like "./array.jl". */
static void add_places(struct julia_stacks *stacks, const struct elf_place *places, size_t count,
	struct stack_table *table)
{
	for (size_t i = 0; i < count; i++) {
		const char *file = places[i].file;
		char name[JULIA_NAME_BYTES];
		unsigned int number = 0;
		size_t used;

		if (i + 1 < count || !julia_name(places[i].symbol, name, sizeof(name), &number))
			julia_name_plain(*places[i].function ? places[i].function
							     : places[i].symbol,
				name, sizeof(name));
		if (!*name)
			continue;
		used = strlen(name);
		if (stacks->numbered && number)
			snprintf(name + used, sizeof(name) - used, "#%u", number);
		while (!strncmp(file, "./", 2))
			file += 2;
		add_frame(stacks, intern(table, LANG_JULIA, name, file, places[i].line));
	}
}

/* The file's symbol may be one of several copies, for several processors, and has other characters escaped. */
static bool is_of(const struct elf_place *outermost, const char *symbol)
{
	char name[JULIA_NAME_BYTES], other[JULIA_NAME_BYTES];
	unsigned int number, other_number;

	return julia_name(outermost->symbol, name, sizeof(name), &number) &&
	       julia_name(symbol, other, sizeof(other), &other_number) && number == other_number &&
	       !strcmp(name, other);
}

/* Fills stacks->found for code of a file. A library's function without a name stands for its file. */
static void name_in_file(struct julia_stacks *stacks, const struct proc_map *map, uint64_t address,
	struct stack_table *table)
{
	struct code_file *file = code_files_open(&stacks->files, map);
	struct elf_place places[INLINED_MOST];
	char name[JULIA_NAME_BYTES];
	struct elf_symbol symbol;
	uint64_t vaddr = 0;
	const char *base = strrchr(map->path, '/');
	size_t count;

	base = base ? base + 1 : map->path;
	if (!file || !file->elf ||
		elf_file_vaddr(file->elf, address - map->start + map->offset, &vaddr) ||
		elf_file_function_at(file->elf, vaddr, &symbol)) {
		snprintf(name, sizeof(name), "[%s]", base);
		add_frame(stacks, intern(table, LANG_NATIVE, name, "", 0));
	} else if (!julia_name(symbol.name, name, sizeof(name), NULL)) {
		add_frame(stacks, intern(table, LANG_NATIVE, symbol.name, base, 0));
	} else if (!julia_name_is_adapter(symbol.name)) {
		count = code_file_lines(file)
				? elf_lines_find(file->lines, vaddr, places, INLINED_MOST)
				: 0;
		if (!count || !is_of(&places[count - 1], symbol.name)) {
			places[0] = (struct elf_place){"", symbol.name, "", 0};
			count = 1;
		}
		add_places(stacks, places, count, table);
	}
}

/* The same for code of the JIT. False: it has no name yet. */
static bool name_in_jit(struct julia_stacks *stacks, uint64_t address, struct stack_table *table)
{
	struct elf_place places[INLINED_MOST];
	size_t count = jit_code_find(stacks->jit, address, places, INLINED_MOST);

	if (!count && jit_code_look(stacks->jit, now_ns()))
		count = jit_code_find(stacks->jit, address, places, INLINED_MOST);
	if (!count)
		return false;
	if (count > 1 || !julia_name_is_adapter(places[0].symbol))
		add_places(stacks, places, count, table);
	return true;
}

static void remember(struct julia_stacks *stacks, uint64_t address)
{
	size_t start = stacks->runs.count;

	for (size_t i = 0; i <= stacks->found[0]; i++) {
		uint32_t *slot = vec_add(&stacks->runs);

		if (!slot) {
			stacks->runs.count = start;
			return;
		}
		*slot = stacks->found[i];
	}
	u64map_put(&stacks->known, address, start);
}

/* The frames of @address, in stacks->found; false: no code is there. */
static bool name_address(struct julia_stacks *stacks, uint64_t address, struct stack_table *table)
{
	const uint64_t *known = u64map_get(&stacks->known, address);
	const struct proc_map *map;
	char name[64];

	if (known) {
		const uint32_t *run = &stacks->runs.items[*known];

		memcpy(stacks->found, run, (run[0] + 1) * sizeof(*run));
		return true;
	}
	stacks->found[0] = 0;
	map = code_files_map(&stacks->files, address);
	if (!map && !name_in_jit(stacks, address, table)) {
		code_files_refresh(&stacks->files);
		map = code_files_map(&stacks->files, address);
		if (!map && !jit_code_holds(stacks->jit, address))
			return false;
		if (!map) {
			snprintf(name, sizeof(name), "[julia jit] %#" PRIx64, address);
			add_frame(stacks, intern(table, LANG_MARK, name, "", 0));
			return true; /* another time it may have a name */
		}
	}
	if (map)
		name_in_file(stacks, map, address, table);
	remember(stacks, address);
	return true;
}

static void prepare(struct julia_stacks *stacks, const struct stack_table *table)
{
	if (stacks->table != table || stacks->generation != table->generation ||
		stacks->runs.count > CACHED_MOST)
		forget(stacks);
	stacks->table = table;
	stacks->generation = table->generation;
}

static uint32_t put_mark(struct stack_table *table, uint32_t node, const char *text)
{
	return stack_table_node(table, node, intern(table, LANG_MARK, text, "", 0));
}

static bool names_function(const struct stack_table *table, uint32_t frame)
{
	return *strtab_get(table->strings, table->frames[frame].function) != '[';
}

uint32_t julia_stack(struct julia_stacks *stacks, const uint64_t *addresses, size_t count, bool cut,
	struct stack_table *table)
{
	VEC(uint32_t) frames = {};
	uint32_t node = STACK_NONE;
	bool code = true;

	prepare(stacks, table);
	for (size_t i = 0; i < count && code; i++) {
		/* All but the first are return addresses: the calls are before them. */
		code = name_address(stacks, addresses[i] - (i > 0), table);
		for (size_t n = 1; code && n <= stacks->found[0]; n++) {
			uint32_t frame = stacks->found[n], *slot;

			/* An interpreter's frames say no more than the first of them. */
			if (frames.count && frame == frames.items[frames.count - 1] &&
				!names_function(table, frame))
				continue;
			slot = vec_add(&frames);
			if (slot)
				*slot = frame;
		}
	}
	if (frames.count && !code)
		node = put_mark(table, node, "[unreadable]");
	else if (frames.count && cut)
		node = put_mark(table, node, "[truncated]");
	for (size_t i = frames.count; i--;)
		node = stack_table_node(table, node, frames.items[i]);
	vec_free(&frames);
	return node;
}
