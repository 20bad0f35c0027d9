/* What gctrace asks of x86-64's instructions, as Capstone decodes them. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>

#include "elf_machine.h"

static int open_capstone(struct decode *decode)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &decode->handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(decode->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decode->insn = cs_malloc(decode->handle);
	if (decode->insn)
		return 0;
	cs_close(&decode->handle);
	return -ENOMEM;
}

static void close_capstone(struct decode *decode)
{
	if (!decode->insn)
		return;
	cs_free(decode->insn, 1);
	cs_close(&decode->handle);
}

static bool next(struct decode *decode)
{
	const uint8_t *bytes = decode->next;

	if (!cs_disasm_iter(decode->handle, &decode->next, &decode->left, &decode->vaddr,
		    decode->insn))
		return false;
	decode->at = decode->insn->address;
	decode->size = (uint8_t)decode->insn->size;
	decode->bytes = bytes;
	return true;
}

static bool in_group(const struct decode *decode, unsigned int group)
{
	return cs_insn_group(decode->handle, decode->insn, group);
}

/* The number of the argument register that @reg is or is a part of; 6: %rsp; -1: any other. */
static int number_of(unsigned int reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return 0;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return 1;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return 2;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return 3;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return 4;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return 5;
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return 6;
	}
	return -1;
}

static unsigned int writes(const struct decode *decode)
{
	uint8_t read_count, write_count;
	unsigned int written = 0;
	cs_regs read, write;

	if (cs_regs_access(decode->handle, decode->insn, read, &read_count, write, &write_count))
		return ~0u;
	for (uint8_t i = 0; i < write_count; i++) {
		int number = number_of(write[i]);

		if (number >= 0)
			written |= number == 6 ? DECODE_SP : DECODE_ARGUMENT(number);
	}
	return written;
}

static bool calls(const struct decode *decode)
{
	return in_group(decode, CS_GRP_CALL) || in_group(decode, CS_GRP_INT);
}

static bool jumps(const struct decode *decode)
{
	return in_group(decode, CS_GRP_JUMP);
}

static bool returns(const struct decode *decode)
{
	return in_group(decode, CS_GRP_RET) || in_group(decode, CS_GRP_IRET);
}

static bool direct(const struct decode *decode, cs_group_type group, uint64_t *ret)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;

	if (!in_group(decode, group) || x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*ret = (uint64_t)x86->operands[0].imm;
	return true;
}

static bool jump_target(const struct decode *decode, uint64_t *ret)
{
	return direct(decode, CS_GRP_JUMP, ret);
}

static bool call_target(const struct decode *decode, uint64_t *ret)
{
	return direct(decode, CS_GRP_CALL, ret);
}

static bool ends_block(const struct decode *decode)
{
	switch (decode->insn->id) {
	case X86_INS_JMP:
	case X86_INS_LJMP:
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_HLT:
	case X86_INS_UD2:
		return true;
	}
	return false;
}

/*
 * The kernel's own rules, arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and
 * push_setup_xol_ops(); nothing that only newer kernels emulate.
 */
static bool is_emulated(const struct decode *decode)
{
	const uint8_t *code = decode->insn->bytes;

	switch (decode->insn->size) {
	case 1:
		return code[0] == 0x90 || (code[0] >= 0x50 && code[0] <= 0x57);
	case 2:
		return (code[0] == 0x66 && code[1] == 0x90) || code[0] == 0xeb ||
		       (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) ||
		       (code[0] >= 0x70 && code[0] <= 0x7f);
	case 5:
		return code[0] == 0xe8 || code[0] == 0xe9;
	case 6:
		return code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f;
	}
	return false;
}

static const char *mnemonic(const struct decode *decode, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", decode->insn->mnemonic);
	return buffer;
}

static bool is_stack(const struct machine_line *line, unsigned int base)
{
	return base == X86_REG_RSP || (base == X86_REG_RBP && line->framed);
}

/* The argument that the current instruction computes, if its form is known. */
static struct elf_argument evaluate(const struct machine_line *line, const struct decode *decode)
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

static void step(struct machine_line *line, const struct decode *decode)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];
	unsigned int written = writes(decode);
	struct elf_argument value;
	int whole;

	for (int i = 0; i < 6; i++)
		if (written & DECODE_ARGUMENT(i))
			line->registers[i] = (struct elf_argument){};
	if (x86->op_count != 2 || to->type != X86_OP_REG)
		return;
	value = evaluate(line, decode);
	whole = to->size >= 4 ? number_of(to->reg) : -1;
	if (whole >= 0 && whole < 6)
		line->registers[whole] = value;
	if (to->reg == X86_REG_RBP && value.kind == ELF_VALUE_STACK)
		line->framed = true;
}

static enum machine_frame frame(const struct decode *decode)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;
	uint8_t read_count, write_count;
	cs_regs read, write;

	if (decode->insn->id == X86_INS_POP || decode->insn->id == X86_INS_LEAVE)
		return MACHINE_KEEPS;
	if (decode->insn->id == X86_INS_MOV && x86->operands[0].type == X86_OP_REG &&
		x86->operands[0].reg == X86_REG_RBP && x86->operands[1].type == X86_OP_REG &&
		x86->operands[1].reg == X86_REG_RSP)
		return MACHINE_FRAMES;
	if (cs_regs_access(decode->handle, decode->insn, read, &read_count, write, &write_count))
		return MACHINE_USES;
	for (uint8_t i = 0; i < write_count; i++)
		if (write[i] == X86_REG_RBP || write[i] == X86_REG_EBP || write[i] == X86_REG_BP ||
			write[i] == X86_REG_BPL)
			return MACHINE_USES;
	return MACHINE_KEEPS;
}

/*
 * Whether the instruction, whose first operand is memory, leaves that memory alone or replaces it.
 */
static bool replaces(const struct decode *decode)
{
	switch (decode->insn->id) {
	case X86_INS_MOV:
		return decode->insn->detail->x86.operands[0].size == 8;
	case X86_INS_XCHG:
	case X86_INS_CMPXCHG:
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_BT:
	case X86_INS_NOP:
	case X86_INS_PUSH:
	case X86_INS_CALL:
	case X86_INS_JMP:
		return true;
	}
	return false;
}

static enum machine_write write_to(const struct decode *decode)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;
	enum machine_write result = MACHINE_LEAVES;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];

		/*
		 * Capstone does not report the access of every instruction; the first operand is
		 * the one written to.
		 */
		if (operand->type != X86_OP_MEM ||
			!(operand->access & CS_AC_WRITE || (!i && !operand->access)) ||
			(!i && replaces(decode)))
			continue;
		if (operand->mem.segment == X86_REG_INVALID && operand->mem.base == X86_REG_RSP)
			continue;
		if (operand->mem.segment != X86_REG_INVALID || operand->mem.base != X86_REG_RBP)
			return MACHINE_ADDS;
		result = MACHINE_BY_FRAME;
	}
	return result;
}

static enum machine_reference refers(const struct decode *decode, uint64_t vaddr)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;

	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];

		if (operand->type == X86_OP_IMM && (uint64_t)operand->imm == vaddr)
			return MACHINE_REFERS;
		if (operand->type == X86_OP_MEM &&
			(uint64_t)operand->mem.disp +
					(operand->mem.base == X86_REG_RIP ? decode->vaddr : 0) ==
				vaddr)
			return MACHINE_REFERS;
	}
	return MACHINE_UNRELATED;
}

static bool is_syscall(const struct decode *decode)
{
	return decode->insn->id == X86_INS_SYSCALL;
}

static bool compares_result(const struct decode *decode)
{
	const cs_x86_op *left = &decode->insn->detail->x86.operands[0];

	return decode->insn->id == X86_INS_CMP && left->type == X86_OP_REG &&
	       left->reg == X86_REG_RAX;
}

/* struct pt_regs: arch/x86/include/uapi/asm/ptrace.h. */
static const struct machine_register registers[] = {
	{"%rax", "%eax", 80},
	{"%rbx", "%ebx", 40},
	{"%rcx", "%ecx", 88},
	{"%rdx", "%edx", 96},
	{"%rsi", "%esi", 104},
	{"%rdi", "%edi", 112},
	{"%rbp", "%ebp", 32},
	{"%r8", "%r8d", 72},
	{"%r9", "%r9d", 64},
	{"%r10", "%r10d", 56},
	{"%r11", "%r11d", 48},
	{"%r12", "%r12d", 24},
	{"%r13", "%r13d", 16},
	{"%r14", "%r14d", 8},
	{"%r15", "%r15d", 0},
	{},
};

const struct elf_machine elf_x86_64 = {
	.number = EM_X86_64,
	.name = "x86-64",
	.insn_most = 15,
	.call_bytes = 5,
	.dwarf_sp = 7,
	.registers = registers,
	.open = open_capstone,
	.close = close_capstone,
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
	.frame = frame,
	.refers = refers,
	.is_syscall = is_syscall,
	.compares_result = compares_result,
};
