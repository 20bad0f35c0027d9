/*
 * libFuzzer target: any bytes → everything the elf room and the call-target finder can be asked.
 *
 * The bytes end at an inaccessible page, so that also libdw and capstone, which are not
 * instrumented, are caught reading past them. Seeds: any small ELF files, /bin/true for one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "cpython_target.h"
#include "elf_code.h"
#include "elf_ends.h"
#include "elf_file.h"
#include "elf_returns.h"
#include "elf_usdt.h"

#define ROOM 0x100000
#define PAGE 0x1000

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static void ask_returns(const struct elf_file *file, uint64_t vaddr)
{
	struct elf_return returns[8];
	struct err err;
	int count = elf_returns_find(file, vaddr, returns, 8, &err);

	for (int i = 0; i < count; i++)
		if (returns[i].call.target != vaddr || returns[i].call.jump ||
			returns[i].vaddr < returns[i].call.vaddr + 4)
			abort();
}

static void ask_code(const struct elf_file *file, uint64_t vaddr)
{
	struct elf_call calls[32];
	uint64_t start, end, site, ends[8];
	enum elf_step step;
	struct err err;
	char text[32];
	int count;

	sink += strlen(elf_code_mnemonic(file, vaddr, text, sizeof(text)));
	if (!elf_code_probe_site(file, vaddr, &site, &step) && (site < vaddr || site > vaddr + 120))
		abort();
	count = elf_ends_find(file, vaddr, ends, 8, &err);
	for (int i = 0; i < count; i++)
		if (elf_code_probe_site(file, ends[i], &site, &step) || site != ends[i] ||
			step != ELF_STEP_EMULATED)
			abort();
	ask_returns(file, vaddr);
	if (elf_code_bounds(file, vaddr, &start, &end))
		return;
	if (vaddr < start || vaddr >= end)
		abort();
	sink += (size_t)elf_code_calls(file, start, end, calls, 32);
	if (!elf_code_frame(file, vaddr, &start))
		sink += start;
	sink += elf_code_callers(file, vaddr, &end, 1) + elf_code_is_method(file, vaddr, "x");
}

struct budget {
	const struct elf_file *file;
	int left;
};

static int visit(const struct elf_symbol *symbol, void *arg)
{
	struct budget *budget = arg;

	sink += strlen(symbol->name);
	if (symbol->function)
		ask_code(budget->file, symbol->vaddr);
	return --budget->left == 0;
}

static void ask_usdt(const struct elf_file *file)
{
	struct elf_usdt probes[4];
	uint64_t offset;
	size_t count;

	count = elf_usdt_find(file, "python", "gc__start", probes, 4);
	for (size_t i = 0; i < count && i < 4; i++) {
		sink += strlen(probes[i].args);
		if (elf_file_offset(file, probes[i].vaddr, &offset))
			abort();
	}
}

static void ask(const struct elf_file *file)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *debug = NULL;
	struct budget budget = {file, 23};
	uint8_t id[64], bytes[64];
	struct elf_symbol symbol;
	uint64_t vaddr;
	struct err err;

	sink += elf_file_build_id(file, id, sizeof(id));
	sink += elf_file_has_symtab(file);
	elf_file_symbols(file, true, visit, &budget);
	sink += (size_t)elf_file_symbol(file, "no such symbol", true, &symbol);
	ask_usdt(file);
	for (uint64_t offset = 0; offset < 0x4000; offset += 0x3f1) {
		if (elf_file_vaddr(file, offset, &vaddr))
			continue;
		ask_code(file, vaddr);
		sink += (size_t)elf_file_read(file, vaddr, bytes, sizeof(bytes));
	}
	ask_code(file, UINT64_MAX);
	cpython_find_target(file, 11, &vaddr, &err);
	cpython_find_target(file, 13, &vaddr, &err);
	elf_file_open_debug(file, "/nonexistent", "/bin/program", &debug, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	static uint8_t *room;
	struct err err;

	if (size > ROOM)
		return 0;
	if (!room) {
		room = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
		if (room == MAP_FAILED || mprotect(room + ROOM, PAGE, PROT_NONE))
			abort();
	}
	memcpy(room + ROOM - size, data, size);
	if (!elf_file_open_memory(room + ROOM - size, size, "input", &file, &err))
		ask(file);
	return 0;
}
