/* Instructions → calls with the constants they are given, and places where a probe is cheap. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"

#define RANGE_MAX (1u << 20)

/* How far past the entry a probe may sit, in instructions. */
#define SITE_MAX 8

/* What the argument registers hold at one point of a straight line. */
struct line {
	struct elf_argument arguments[6];
	bool framed; /* %rbp was pointed into the stack: true to the end of the function */
};

static bool is_stack(const struct line *line, unsigned int base)
{
	return base == X86_REG_RSP || (base == X86_REG_RBP && line->framed);
}

/* The argument that the current instruction computes, if its form is known. */
static struct elf_argument evaluate(const struct line *line, const struct decode *decode)
{
	const struct elf_argument stack = {.kind = ELF_VALUE_STACK};
	const cs_x86 *x86 = &decode->insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	struct elf_argument constant = {.kind = ELF_VALUE_CONSTANT};

	if (decode->insn->id == X86_INS_MOV && from->type == X86_OP_IMM) {
		constant.value = to->size == 4 ? (uint32_t)from->imm : (uint64_t)from->imm;
		return constant;
	}
	if (decode->insn->id == X86_INS_XOR && from->type == X86_OP_REG && from->reg == to->reg)
		return constant;
	if (decode->insn->id == X86_INS_MOV && from->type == X86_OP_REG &&
		is_stack(line, from->reg))
		return stack;
	if (decode->insn->id == X86_INS_LEA && to->size == 8) {
		constant.value = decode->vaddr + (uint64_t)from->mem.disp;
		if (from->mem.base == X86_REG_RIP && from->mem.index == X86_REG_INVALID)
			return constant;
		if (is_stack(line, from->mem.base) && from->mem.index == X86_REG_INVALID)
			return stack;
	}
	return (struct elf_argument){};
}

static void line_step(struct line *line, const struct decode *decode)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];
	unsigned int written = decode_writes(decode), whole;

	for (size_t i = 0; i < ARRAY_SIZE(line->arguments); i++)
		if (written & 1u << i)
			line->arguments[i] = (struct elf_argument){};
	if (x86->op_count != 2 || to->type != X86_OP_REG)
		return;
	whole = to->size >= 4 ? decode_register(to->reg) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(line->arguments); i++)
		if (whole == 1u << i)
			line->arguments[i] = evaluate(line, decode);
	if (to->reg == X86_REG_RBP && evaluate(line, decode).kind == ELF_VALUE_STACK)
		line->framed = true;
}

static void line_forget(struct line *line)
{
	*line = (struct line){.framed = line->framed};
}

/* Fills @ret if the current instruction is a call or a tail call. */
static bool read_call(const struct decode *decode, uint64_t start, uint64_t end,
	const struct line *line, struct elf_call *ret)
{
	bool jump = decode->insn->id == X86_INS_JMP;
	uint64_t target;

	if (jump) {
		if (!decode_jump_target(decode, &target) || (target >= start && target < end))
			return false;
	} else if (!decode_call_target(decode, &target)) {
		return false;
	}
	*ret = (struct elf_call){.vaddr = decode->insn->address, .target = target, .jump = jump};
	memcpy(ret->arguments, line->arguments, sizeof(ret->arguments));
	return true;
}

int elf_code_calls(const struct elf_file *file, uint64_t start, uint64_t end, struct elf_call *ret,
	size_t max)
{
	_cleanup_(decode_targets_release) struct decode_targets targets = {};
	_cleanup_(decode_release) struct decode decode = {};
	struct line line = {};
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
		if (decode_targets_has(&targets, decode.insn->address))
			line_forget(&line);
		if (read_call(&decode, start, end, &line, &ret[count]))
			count++;
		if (decode_ends_block(&decode) ||
			cs_insn_group(decode.handle, decode.insn, CS_GRP_CALL))
			line_forget(&line);
		else
			line_step(&line, &decode);
	}
	return (int)count;
}

/* False when a probe must not be any later than the current instruction. */
static bool may_pass(const struct decode *decode)
{
	uint64_t target;

	return !decode_ends_block(decode) && !decode_jump_target(decode, &target) &&
	       !cs_insn_group(decode->handle, decode->insn, CS_GRP_CALL) &&
	       !cs_insn_group(decode->handle, decode->insn, CS_GRP_JUMP) &&
	       !cs_insn_group(decode->handle, decode->insn, CS_GRP_INT) && !decode_writes(decode);
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

	result = decode_init(&decode, file, vaddr, SITE_MAX * 15);
	if (result)
		return result;
	for (int i = 0; i < SITE_MAX && decode_next(&decode); i++) {
		if (decode_is_emulated(&decode)) {
			if (!i || is_straight(file, vaddr, decode.insn->address)) {
				site = decode.insn->address;
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

const char *elf_code_mnemonic(const struct elf_file *file, uint64_t vaddr, char *buffer,
	size_t size)
{
	_cleanup_(decode_release) struct decode decode = {};

	if (decode_init(&decode, file, vaddr, 16) || !decode_next(&decode))
		snprintf(buffer, size, "?");
	else
		snprintf(buffer, size, "%s", decode.insn->mnemonic);
	return buffer;
}
