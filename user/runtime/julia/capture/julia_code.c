/*
 * Julia's collector in machine code → the places where a collection begins and ends, found without the names that only
 * .symtab has: the collector is exported, and what collects is the largest of the functions that it calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "julia_code.h"

#define CALLS_MAX    512  /* of one function */
#define LEAST_BYTES  64	  /* of the collector: the trampoline of the same name has 16 */
#define LARGE_BYTES  2048 /* of what collects: 4.5 KB in 1.5, 9.5 KB in 1.13 */
#define ENABLE_BYTES 512  /* at most, of jl_gc_enable(): 128 */
#define MARK_LOOPS   3	  /* calls of it in a collection of 1.5 to 1.8 */

/* 1.8 renamed all that is exported; up to 1.7 the old name is the collector's (JuliaLang/julia#42151). */
static int find_exported(const struct elf_file *file, const char *name, struct elf_symbol *ret)
{
	char renamed[64];

	snprintf(renamed, sizeof(renamed), "i%s", name);
	return elf_file_symbol(file, renamed, false, ret) ? elf_file_symbol(file, name, false, ret)
							  : 0;
}

bool julia_code_holds(const struct elf_file *file)
{
	struct elf_symbol symbol;
	uint64_t start, end;

	if (julia_code_is_mmtk(file))
		return true;
	if (find_exported(file, "jl_gc_collect", &symbol))
		return false;
	return symbol.size >= LEAST_BYTES || (!elf_code_bounds(file, symbol.vaddr, &start, &end) &&
						     end - symbol.vaddr >= LEAST_BYTES);
}

bool julia_code_is_mmtk(const struct elf_file *file)
{
	struct elf_symbol symbol;

	return !find_exported(file, "jl_gc_prepare_to_collect", &symbol);
}

bool julia_code_entry(const struct elf_file *file, struct julia_code *ret)
{
	struct elf_symbol symbol;
	uint64_t start, end;

	if (find_exported(file, "jl_gc_collect", &symbol) ||
		elf_code_bounds(file, symbol.vaddr, &start, &end) || start != symbol.vaddr ||
		end - start < LEAST_BYTES)
		return false;
	ret->name = *symbol.name == 'i' ? "ijl_gc_collect" : "jl_gc_collect";
	ret->entry = start;
	return true;
}

/* Calls of @target among @calls. */
static size_t count_calls(const struct elf_call *calls, size_t count, uint64_t target)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += calls[i].target == target && !calls[i].jump;
	return found;
}

static uint64_t size_of(const struct elf_file *file, uint64_t function)
{
	uint64_t start, end;

	return elf_code_bounds(file, function, &start, &end) || start != function ? 0 : end - start;
}

static size_t list_calls(const struct elf_file *file, uint64_t function, struct elf_call *ret)
{
	uint64_t start, end;
	int count;

	if (elf_code_bounds(file, function, &start, &end) || start != function)
		return 0;
	count = elf_code_calls(file, start, end, ret, CALLS_MAX);
	return count < 0 ? 0 : (size_t)count;
}

/* The largest function that is called, of those called exactly @times if that is not 0; 0: none. */
static uint64_t largest(const struct elf_file *file, const struct elf_call *calls, size_t count,
	size_t times)
{
	uint64_t best = 0, best_size = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t size = size_of(file, calls[i].target);

		if (calls[i].jump || size <= best_size ||
			(times && count_calls(calls, count, calls[i].target) != times))
			continue;
		best = calls[i].target;
		best_size = size;
	}
	return best;
}

/* It asks the time as it begins and as it ends; where it does so through a PLT only its size says what it is. */
static bool may_collect(const struct elf_file *file, uint64_t function)
{
	struct elf_call calls[CALLS_MAX];
	struct elf_symbol clock;
	size_t asks = 0;

	if (!find_exported(file, "jl_hrtime", &clock))
		asks = count_calls(calls, list_calls(file, function, calls), clock.vaddr);
	return asks ? asks > 1 : size_of(file, function) >= LARGE_BYTES;
}

int julia_code_runs(const struct elf_file *file, struct julia_code *code, struct err *err)
{
	static const char whose[] = "the function that collects";
	struct elf_call calls[CALLS_MAX];
	size_t count = list_calls(file, code->entry, calls);

	code->run_count = 0;
	code->collector = largest(file, calls, count, 0);
	if (!code->collector)
		return err_set(err, ENOENT, "%s is not found in %s", whose, code->name);
	if (!may_collect(file, code->collector))
		return err_set(err, ENOENT, "%s is not what %s calls", whose, code->name);
	for (size_t i = 0; i < count; i++) {
		if (calls[i].target != code->collector)
			continue;
		if (calls[i].jump || code->run_count == JULIA_RUNS ||
			julia_flow_behind(file, calls[i].vaddr, &code->collected[code->run_count]))
			return err_set(err, ENOENT, "%s is not called as expected", whose);
		code->runs[code->run_count++] = calls[i].vaddr;
	}
	return 0;
}

int julia_code_ends(const struct elf_file *file, uint64_t from, struct julia_code *code,
	struct err *err)
{
	int r = julia_flow_ends(file, from, code->ends, JULIA_ENDS, err);

	if (r < 0) {
		err_prefix(err, "%s", code->name);
		return -ENOENT;
	}
	code->end_count = (size_t)r;
	/* Callbacks are called by their addresses, and before them finalizers as the last by name. */
	if (julia_flow_last_call(file, from, &code->finalize))
		code->finalize = 0;
	return 0;
}

int julia_code_marked(const struct elf_file *file, uint64_t collector, uint64_t *ret)
{
	struct elf_call calls[CALLS_MAX];
	size_t count = list_calls(file, collector, calls);
	uint64_t loop = largest(file, calls, count, MARK_LOOPS);

	for (size_t i = count; loop && i--;)
		if (calls[i].target == loop)
			return julia_flow_behind(file, calls[i].vaddr, ret) ? -ENOENT : 0;
	return -ENOENT;
}

int julia_code_variable(const struct elf_file *file, const char *name, bool address, uint64_t *ret)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct elf_symbol symbol;
	uint8_t code[8];
	uint64_t at;
	int32_t disp;

	if (find_exported(file, name, &symbol))
		return -ENOENT;
	at = symbol.vaddr;
	if (!elf_file_read(file, at, code, sizeof(endbr64)) &&
		!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	/* rex.w mov or lea disp32(%rip), %rax; ret */
	if (elf_file_read(file, at, code, sizeof(code)) || code[0] != 0x48 ||
		code[1] != (address ? 0x8d : 0x8b) || code[2] != 0x05 || code[7] != 0xc3)
		return -ENOENT;
	memcpy(&disp, code + 3, sizeof(disp));
	*ret = at + 7 + (uint64_t)(int64_t)disp;
	return 0;
}

/* The variable from which the "lock OP $1, disp(%rip)" with @modrm takes or adds; 0: there is not just one in @code. */
static uint64_t counted(const uint8_t *code, size_t size, uint64_t vaddr, uint8_t modrm)
{
	uint64_t found = 0, at;
	int32_t disp;

	for (size_t i = 0; i + 8 <= size; i++) {
		if (code[i] != 0xf0 || code[i + 1] != 0x83 || code[i + 2] != modrm ||
			code[i + 7] != 1)
			continue;
		memcpy(&disp, code + i + 3, sizeof(disp));
		at = vaddr + i + 8 + (uint64_t)(int64_t)disp;
		if (found && found != at)
			return 0;
		found = at;
	}
	return found;
}

int julia_code_disabled(const struct elf_file *file, uint64_t *ret)
{
	uint8_t code[ENABLE_BYTES];
	struct elf_symbol symbol;
	uint64_t start, end, up, down;

	if (find_exported(file, "jl_gc_enable", &symbol) ||
		elf_code_bounds(file, symbol.vaddr, &start, &end) || start != symbol.vaddr ||
		end - start > sizeof(code) || elf_file_read(file, start, code, end - start))
		return -ENOENT;
	up = counted(code, end - start, start, 0x05);
	down = counted(code, end - start, start, 0x2d);
	if (!up || up != down)
		return -ENOENT;
	*ret = up;
	return 0;
}

int julia_code_version(const struct elf_file *file, struct julia_version *ret)
{
	struct julia_version version = {};
	char text[24] = "";
	uint64_t at;

	if (julia_code_variable(file, "jl_ver_string", true, &at))
		return -ENOENT;
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		if (elf_file_read(file, at + i, &text[i], 1) || !text[i])
			break;
	if (sscanf(text, "%d.%d.%d", &version.major, &version.minor, &version.patch) != 3 ||
		version.major < 0 || version.minor < 0 || version.patch < 0)
		return -ENOENT;
	*ret = version;
	return 0;
}
