/* Instructions → calls with the constants they are given, and places where a probe is cheap. */
#include <errno.h>
#include <stdio.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"
#include "elf_machine.h"

#define RANGE_MAX (1u << 20)

/* How far past the entry a probe may sit, in instructions. */
#define SITE_MAX 8

static void line_forget(struct machine_line *line)
{
	*line = (struct machine_line){.framed = line->framed};
}

/* Fills @ret if the current instruction is a call or a tail call. */
static bool read_call(const struct decode *decode, uint64_t start, uint64_t end,
	const struct machine_line *line, struct elf_call *ret)
{
	bool jump = decode_jumps(decode) && decode_ends_block(decode);
	uint64_t target;

	if (jump) {
		if (!decode_jump_target(decode, &target) || (target >= start && target < end))
			return false;
	} else if (!decode_call_target(decode, &target)) {
		return false;
	}
	*ret = (struct elf_call){.vaddr = decode->at, .target = target, .jump = jump};
	for (size_t i = 0; i < ARRAY_SIZE(ret->arguments); i++)
		ret->arguments[i] = line->registers[i];
	return true;
}

int elf_code_calls(const struct elf_file *file, uint64_t start, uint64_t end, struct elf_call *ret,
	size_t max)
{
	_cleanup_(decode_targets_release) struct decode_targets targets = {};
	_cleanup_(decode_release) struct decode decode = {};
	struct machine_line line = {};
	uint8_t last;
	size_t count = 0;
	int result;

	if (end <= start || elf_file_read(file, end - 1, &last, 1))
		return -EFAULT;
	if (end - start > RANGE_MAX)
		return -E2BIG;
	result = decode_targets_init(&targets, file, start, end - start);
	if (!result)
		result = decode_init(&decode, file, start, end - start);
	if (result)
		return result;
	while (count < max && decode_next(&decode)) {
		/* Another path may join here with other values. */
		if (decode_targets_has(&targets, decode.at))
			line_forget(&line);
		if (read_call(&decode, start, end, &line, &ret[count]))
			count++;
		if (decode_ends_block(&decode) || decode_calls(&decode))
			line_forget(&line);
		else
			decode.machine->step(&line, &decode);
	}
	return (int)count;
}

/* False when a probe must not be any later than the current instruction. */
static bool may_pass(const struct decode *decode)
{
	return !decode_ends_block(decode) && !decode_jumps(decode) && !decode_calls(decode) &&
	       !decode_writes(decode);
}

/*
 * True if the function that contains @vaddr contains @site too and has no jump into (vaddr, site].
 */
static bool is_straight(const struct elf_file *file, uint64_t vaddr, uint64_t site)
{
	_cleanup_(decode_targets_release) struct decode_targets targets = {};
	uint64_t start, end;

	if (elf_code_bounds(file, vaddr, &start, &end) || end - start > RANGE_MAX || site >= end ||
		decode_targets_init(&targets, file, start, end - start))
		return false;
	for (uint64_t at = vaddr + 1; at <= site; at++)
		if (decode_targets_has(&targets, at))
			return false;
	return true;
}

int elf_code_probe_site(const struct elf_file *file, uint64_t vaddr, uint64_t *ret,
	enum elf_step *ret_step)
{
	_cleanup_(decode_release) struct decode decode = {};
	enum elf_step step = ELF_STEP_SINGLE;
	uint64_t site = vaddr;
	int result;

	result = decode_init(&decode, file, vaddr, SITE_MAX * elf_machine_of(file)->insn_most);
	if (result)
		return result;
	for (int i = 0; i < SITE_MAX && decode_next(&decode); i++) {
		if (decode_is_emulated(&decode)) {
			if (!i || is_straight(file, vaddr, decode.at)) {
				site = decode.at;
				step = ELF_STEP_EMULATED;
			}
			break;
		}
		if (!may_pass(&decode))
			break;
	}
	*ret = site;
	*ret_step = step;
	return 0;
}

int elf_code_function_site(const struct elf_file *file, const char *name, uint64_t *ret,
	enum elf_step *ret_step)
{
	struct elf_symbol symbol;
	uint64_t place;

	if (elf_file_symbol(file, name, false, &symbol))
		return -ENOENT;
	return elf_code_probe_site(file, symbol.vaddr, &place, ret_step) ||
			       elf_file_offset(file, place, ret)
		       ? -EFAULT
		       : 0;
}

bool elf_code_is_emulated(const struct elf_file *file, uint64_t vaddr)
{
	_cleanup_(decode_release) struct decode decode = {};

	return !decode_init(&decode, file, vaddr, elf_machine_of(file)->insn_most) &&
	       decode_next(&decode) && decode_is_emulated(&decode);
}

bool elf_code_links(const struct elf_file *file)
{
	return elf_machine_of(file)->dwarf_link;
}

const char *elf_code_mnemonic(const struct elf_file *file, uint64_t vaddr, char *buffer,
	size_t size)
{
	_cleanup_(decode_release) struct decode decode = {};

	if (decode_init(&decode, file, vaddr, 16) || !decode_next(&decode))
		snprintf(buffer, size, "?");
	else
		decode.machine->mnemonic(&decode, buffer, size);
	return buffer;
}
