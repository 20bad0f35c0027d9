/* What gctrace asks of AArch64's instructions. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "elf_aarch64.h"
#include "elf_machine.h"
#include "elf_priv.h"

#define HELPER_MOST 128 /* bytes of a function that exchanges a word: libgcc's have 48 */

static bool next(struct decode *decode)
{
	uint32_t word;

	if (decode->left < sizeof(word) || decode->vaddr % sizeof(word))
		return false;
	memcpy(&word, decode->next, sizeof(word));
	if (!a64_is_valid(word))
		return false;
	decode->at = decode->vaddr;
	decode->size = sizeof(word);
	decode->bytes = decode->next;
	decode->word = word;
	decode->next += sizeof(word);
	decode->left -= sizeof(word);
	decode->vaddr += sizeof(word);
	return true;
}

/* Saving the return address is told as well: a probe behind that would come too late to change it. */
static unsigned int writes(const struct decode *decode)
{
	uint32_t set = a64_writes(decode->word);
	struct a64_access access;

	if (a64_access(decode->word, &access) && access.store)
		set |= access.values & 1u << A64_LINK;
	return (set & DECODE_ARGUMENTS) | (set >> A64_SP & 1 ? DECODE_SP : 0) |
	       (set >> A64_LINK & 1 ? DECODE_LINK : 0);
}

static enum a64_branch branch(const struct decode *decode)
{
	uint64_t target;

	return a64_branch(decode->word, decode->at, &target);
}

static bool calls(const struct decode *decode)
{
	return branch(decode) == A64_CALL || branch(decode) == A64_EXCEPTION;
}

static bool jumps(const struct decode *decode)
{
	return branch(decode) == A64_JUMP || branch(decode) == A64_JUMP_IF;
}

static bool returns(const struct decode *decode)
{
	return branch(decode) == A64_RETURN;
}

static bool ends_block(const struct decode *decode)
{
	return branch(decode) == A64_JUMP || branch(decode) == A64_RETURN ||
	       branch(decode) == A64_TRAP;
}

static bool jump_target(const struct decode *decode, uint64_t *ret)
{
	uint64_t target;
	enum a64_branch kind = a64_branch(decode->word, decode->at, &target);

	if ((kind != A64_JUMP && kind != A64_JUMP_IF) || target == UINT64_MAX)
		return false;
	*ret = target;
	return true;
}

static bool call_target(const struct decode *decode, uint64_t *ret)
{
	uint64_t target;

	if (a64_branch(decode->word, decode->at, &target) != A64_CALL || target == UINT64_MAX)
		return false;
	*ret = target;
	return true;
}

/*
 * The kernel's own rules, arch/arm64/kernel/probes/decode-insn.c, arm_probe_decode_insn(). A nop, which younger kernels
 * may emulate, counts as stepped over. Branches that authenticate their target are refused: no probe can be there.
 */
static bool is_emulated(const struct decode *decode)
{
	const uint32_t word = decode->word;
	uint64_t address;

	switch (branch(decode)) {
	case A64_JUMP:
	case A64_CALL:
	case A64_RETURN:
		return (word & 0x7c000000) == 0x14000000 || (word & 0xff9ffc1f) == 0xd61f0000;
	case A64_JUMP_IF:
		return (word & 0xff000010) != 0x54000010;
	default:
		return a64_address(word, decode->at, &address);
	}
}

static const char *mnemonic(const struct decode *decode, char *buffer, size_t size)
{
	cs_insn *insn = NULL;
	csh handle;

	if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK)
		return "?";
	if (cs_disasm(handle, decode->bytes, decode->size, decode->at, 1, &insn))
		snprintf(buffer, size, "%s", insn->mnemonic);
	else
		snprintf(buffer, size, "?");
	if (insn)
		cs_free(insn, 1);
	cs_close(&handle);
	return buffer;
}

static unsigned int number_at(uint32_t word, unsigned int low)
{
	return word >> low & 31;
}

static const struct elf_argument unknown, stack = {.kind = ELF_VALUE_STACK};

static struct elf_argument constant(uint32_t word, uint64_t value)
{
	return (struct elf_argument){
		.kind = ELF_VALUE_CONSTANT, .value = word >> 31 ? value : (uint32_t)value};
}

/* movz, movn, movk */
static struct elf_argument move_wide(const struct machine_line *line, uint32_t word)
{
	const struct elf_argument *before = &line->registers[number_at(word, 0)];
	unsigned int shift = (word >> 21 & 3) * 16;
	uint64_t part = (uint64_t)(word >> 5 & 0xffff) << shift;

	switch (word >> 29 & 3) {
	case 0:
		return constant(word, ~part);
	case 2:
		return constant(word, part);
	case 3:
		if (before->kind == ELF_VALUE_CONSTANT)
			return constant(word, (before->value & ~(0xffffull << shift)) | part);
	}
	return unknown;
}

static bool is_stack(const struct machine_line *line, unsigned int base)
{
	return base == A64_SP || (base == A64_FRAME && line->framed);
}

/* What the current instruction puts into its register, if its form is known. */
static struct elf_argument evaluate(const struct machine_line *line, const struct decode *decode)
{
	const uint32_t word = decode->word;
	const unsigned int from = number_at(word, 5), other = number_at(word, 16);
	uint64_t address;
	int64_t number;

	if ((word & 0x1f800000) == 0x12800000)
		return move_wide(line, word);
	if (a64_address(word, decode->at, &address))
		return (struct elf_argument){ELF_VALUE_CONSTANT, address};
	if ((word & 0x7fe0ffe0) == 0x2a0003e0) { /* mov: orr with the zero register */
		if (other == A64_ZERO)
			return constant(word, 0);
		return line->registers[other].kind == ELF_VALUE_CONSTANT
			       ? constant(word, line->registers[other].value)
			       : line->registers[other];
	}
	if (!a64_add(word, &number))
		return unknown;
	if (is_stack(line, from))
		return stack;
	return line->registers[from].kind == ELF_VALUE_CONSTANT
		       ? constant(word, line->registers[from].value + (uint64_t)number)
		       : line->registers[from];
}

/* mov x29, sp; add x29, sp, #… */
static bool makes_frame(uint32_t word)
{
	int64_t number;

	return a64_add(word, &number) && word >> 31 && number_at(word, 0) == A64_FRAME &&
	       number_at(word, 5) == A64_SP && !(word >> 29 & 1);
}

static void step(struct machine_line *line, const struct decode *decode)
{
	const struct elf_argument value = evaluate(line, decode);
	const uint32_t set = a64_writes(decode->word);
	const unsigned int to = number_at(decode->word, 0);

	for (unsigned int i = 0; i < A64_SP; i++)
		if (set >> i & 1)
			line->registers[i] = i == to ? value : unknown;
	line->framed |= makes_frame(decode->word);
}

/* A load from the stack gives the caller's frame pointer back. */
static enum machine_frame frame(const struct decode *decode)
{
	struct a64_access access;

	if (!(a64_writes(decode->word) >> A64_FRAME & 1) || branch(decode) != A64_NONE)
		return MACHINE_KEEPS; /* also across calls */
	if (makes_frame(decode->word))
		return MACHINE_FRAMES;
	return a64_access(decode->word, &access) && access.load && !access.store &&
			       access.base == A64_SP
		       ? MACHINE_KEEPS
		       : MACHINE_USES;
}

/*
 * Additions are done in registers: whatever is stored may be a sum, except the zero register. Of SVE's instructions those
 * that store have 111 in front.
 */
static enum machine_write write_to(const struct decode *decode)
{
	struct a64_access access;

	if ((decode->word & 0xfe000000) == 0xe4000000)
		return MACHINE_ADDS;
	if (!a64_access(decode->word, &access) || !access.store || access.exchange ||
		access.base == A64_SP)
		return MACHINE_LEAVES;
	if (!access.vector && !access.load && !access.values)
		return MACHINE_LEAVES;
	return access.base == A64_FRAME ? MACHINE_BY_FRAME : MACHINE_ADDS;
}

/* ldr x0, […]; str x0, […] */
static bool copies(const struct decode *decode)
{
	struct a64_access from, to;
	uint32_t before;

	memcpy(&before, decode->bytes - sizeof(before), sizeof(before));
	return a64_access(before, &from) && from.load && !from.store && !from.vector &&
	       !from.exclusive && a64_access(decode->word, &to) && !to.load && !to.vector &&
	       !to.exclusive && from.values && to.values == from.values;
}

static enum machine_reference refers(const struct decode *decode, uint64_t vaddr)
{
	uint64_t address;
	int64_t number;

	a64_branch(decode->word, decode->at, &address);
	if (address == vaddr)
		return MACHINE_REFERS;
	if (a64_address(decode->word, decode->at, &address)) {
		if (address == vaddr)
			return MACHINE_REFERS;
		return decode->word >> 31 && address == (vaddr & ~0xfffull) ? MACHINE_PAGE
									    : MACHINE_UNRELATED;
	}
	return (decode->word & 0xffc00000) == 0x91000000 && a64_add(decode->word, &number) &&
			       (uint64_t)number == (vaddr & 0xfff)
		       ? MACHINE_REST
		       : MACHINE_UNRELATED;
}

/* What may stand in a function that only exchanges; *ret_exchanges: it is what does so. */
static bool may_exchange(uint32_t word, uint64_t at, uint64_t start, uint64_t end,
	bool *ret_exchanges)
{
	const uint32_t moves[] = {
		0x7fe0ffe0, 0x2a0003e0, /* mov */
		0x7f800000, 0x53000000, /* ubfm: uxtb, uxth */
		0x7f20001f, 0x6b00001f, /* cmp of a register */
		0xfffff01f, 0xd503201f, /* hints */
		0xfffff01f, 0xd503301f, /* barriers */
	};
	struct a64_access access;
	uint64_t target;

	*ret_exchanges = false;
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i += 2)
		if ((word & moves[i]) == moves[i + 1])
			return true;
	switch (a64_branch(word, at, &target)) {
	case A64_NONE:
		break;
	case A64_RETURN:
		return true;
	case A64_JUMP:
	case A64_JUMP_IF:
		return target >= start && target < end;
	default:
		return false;
	}
	if (a64_address(word, at, &target))
		return true;
	if (!a64_access(word, &access) || access.vector || access.writeback)
		return false;
	*ret_exchanges = access.exchange;
	return access.exchange || access.exclusive || !access.store;
}

/*
 * libgcc's __aarch64_cas4_acq_rel() and its kin, which compilers call where they do not know whether the processor has such
 * an instruction: nothing in them computes what they store.
 */
static bool exchanges(const struct elf_file *file, uint64_t vaddr)
{
	uint64_t start, end, at;
	bool found = false, here;
	uint32_t word;

	if (elf_code_bounds(file, vaddr, &start, &end) || start != vaddr ||
		end - start > HELPER_MOST)
		return false;
	for (at = start; at + sizeof(word) <= end; at += sizeof(word)) {
		if (elf_file_read(file, at, &word, sizeof(word)) ||
			!may_exchange(word, at, start, end, &here))
			return false;
		found |= here;
	}
	return found;
}

#define REGISTER(n) {"x" #n, NULL, 8 * n}

/* struct user_pt_regs: arch/arm64/include/uapi/asm/ptrace.h. */
static const struct machine_register registers[] = {REGISTER(0), REGISTER(1), REGISTER(2),
	REGISTER(3), REGISTER(4), REGISTER(5), REGISTER(6), REGISTER(7), REGISTER(8), REGISTER(9),
	REGISTER(10), REGISTER(11), REGISTER(12), REGISTER(13), REGISTER(14), REGISTER(15),
	REGISTER(16), REGISTER(17), REGISTER(18), REGISTER(19), REGISTER(20), REGISTER(21),
	REGISTER(22), REGISTER(23), REGISTER(24), REGISTER(25), REGISTER(26), REGISTER(27),
	REGISTER(28), REGISTER(29), REGISTER(30), {}};

const struct elf_machine elf_aarch64 = {
	.number = EM_AARCH64,
	.name = "AArch64",
	.insn_most = 4,
	.call_bytes = 4,
	.insn_bytes = 4,
	.dwarf_sp = 31,
	.dwarf_link = A64_LINK,
	.registers = registers,
	.next = next,
	.writes = writes,
	.calls = calls,
	.jumps = jumps,
	.returns = returns,
	.ends_block = ends_block,
	.is_emulated = is_emulated,
	.jump_target = jump_target,
	.call_target = call_target,
	.mnemonic = mnemonic,
	.step = step,
	.write = write_to,
	.copies = copies,
	.frame = frame,
	.refers = refers,
	.exchanges = exchanges,
};
