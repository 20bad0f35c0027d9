/* Bytes of a file → instructions with what gctrace asks of each: writes, targets, ends. */
#include <errno.h>
#include <stdlib.h>

#include "elf_decode.h"
#include "elf_priv.h"

int decode_init(struct decode *decode, const struct elf_file *file, uint64_t vaddr, uint64_t len)
{
	struct decode made = {.vaddr = vaddr};

	made.next = elf_bytes_at(file, vaddr, &made.left);
	if (!made.next)
		return -EFAULT;
	if (made.left > len)
		made.left = (size_t)len;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &made.handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(made.handle, CS_OPT_DETAIL, CS_OPT_ON);
	made.insn = cs_malloc(made.handle);
	if (!made.insn) {
		cs_close(&made.handle);
		return -ENOMEM;
	}
	*decode = made;
	return 0;
}

void decode_release(struct decode *decode)
{
	if (!decode->insn)
		return;
	cs_free(decode->insn, 1);
	cs_close(&decode->handle);
	*decode = (struct decode){};
}

bool decode_next(struct decode *decode)
{
	return cs_disasm_iter(decode->handle, &decode->next, &decode->left, &decode->vaddr,
		decode->insn);
}

unsigned int decode_register(unsigned int reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return DECODE_RDI;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return DECODE_RSI;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return DECODE_RDX;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return DECODE_RCX;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return DECODE_R8;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return DECODE_R9;
	case X86_REG_RSP:
	case X86_REG_ESP:
	case X86_REG_SP:
	case X86_REG_SPL:
		return DECODE_RSP;
	}
	return 0;
}

unsigned int decode_writes(const struct decode *decode)
{
	uint8_t read_count, write_count;
	unsigned int written = 0;
	cs_regs read, write;

	if (cs_regs_access(decode->handle, decode->insn, read, &read_count, write, &write_count))
		return ~0u;
	for (uint8_t i = 0; i < write_count; i++)
		written |= decode_register(write[i]);
	return written;
}

static bool direct(const struct decode *decode, cs_group_type group, uint64_t *ret)
{
	const cs_x86 *x86 = &decode->insn->detail->x86;

	if (!cs_insn_group(decode->handle, decode->insn, group) || x86->op_count != 1 ||
		x86->operands[0].type != X86_OP_IMM)
		return false;
	*ret = (uint64_t)x86->operands[0].imm;
	return true;
}

bool decode_jump_target(const struct decode *decode, uint64_t *ret)
{
	return direct(decode, CS_GRP_JUMP, ret);
}

bool decode_call_target(const struct decode *decode, uint64_t *ret)
{
	return direct(decode, CS_GRP_CALL, ret);
}

bool decode_ends_block(const struct decode *decode)
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
bool decode_is_emulated(const struct decode *decode)
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

int decode_targets_init(struct decode_targets *targets, const struct elf_file *file, uint64_t start,
	uint64_t len)
{
	struct decode decode = {};
	uint64_t target;
	uint8_t *bits;
	int result;

	result = decode_init(&decode, file, start, len);
	if (result)
		return result;
	bits = calloc(1, (size_t)(len / 8 + 1));
	if (!bits) {
		decode_release(&decode);
		return -ENOMEM;
	}
	while (decode_next(&decode))
		if (decode_jump_target(&decode, &target) && target - start < len)
			bits[(target - start) / 8] |= (uint8_t)(1u << (target - start) % 8);
	decode_release(&decode);
	*targets = (struct decode_targets){start, len, bits};
	return 0;
}

void decode_targets_release(struct decode_targets *targets)
{
	free(targets->bits);
	*targets = (struct decode_targets){};
}

bool decode_targets_has(const struct decode_targets *targets, uint64_t vaddr)
{
	uint64_t at = vaddr - targets->start;

	return at < targets->len && targets->bits[at / 8] >> at % 8 & 1;
}
