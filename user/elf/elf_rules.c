/* .eh_frame → rules for unwinding. By libdw. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "elf_priv.h"
#include "elf_rules.h"

#define RETURN_ADDRESS 16 /* the column that stands for it */

struct elf_rules {
	Elf *elf;
	Dwarf_CFI *cfi;
};

int elf_rules_open(const void *bytes, size_t size, struct elf_rules **ret)
{
	struct elf_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	rules->elf = elf_memory((char *)bytes, size); /* only read */
	rules->cfi = rules->elf ? dwarf_getcfi_elf(rules->elf) : NULL;
	if (!rules->cfi) {
		elf_rules_free(rules);
		return -ENODATA;
	}
	*ret = rules;
	return 0;
}

int elf_rules_of_file(const struct elf_file *file, struct elf_rules **ret)
{
	return elf_rules_open(file->bytes, file->size, ret);
}

void elf_rules_free(struct elf_rules *rules)
{
	if (!rules)
		return;
	if (rules->cfi)
		dwarf_cfi_end(rules->cfi);
	elf_end(rules->elf);
	free(rules);
}

static bool fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

static int read_frame(Dwarf_Frame *frame, struct elf_rule *ret)
{
	Dwarf_Op *ops;
	size_t count;

	/* A register and an offset; anything else is an expression. */
	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1 || ops->atom != DW_OP_bregx ||
		ops->number >= ELF_REGISTERS || !fits((int64_t)ops->number2))
		return -ENOTSUP;
	ret->frame_register = (uint8_t)ops->number;
	ret->frame_offset = (int32_t)ops->number2;
	return 0;
}

/* Where the caller's value of @number lies. 0: there, by *ret; 1: it is what it is; or -errno. */
static int read_register(Dwarf_Frame *frame, int number, int32_t *ret)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count))
		return -ENOTSUP;
	if (!count)
		return ops ? -ENOENT : 1; /* undefined, or the same */
	if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 ||
		(count == 2 && (ops[1].atom != DW_OP_plus_uconst || !fits((int64_t)ops[1].number))))
		return -ENOTSUP;
	*ret = count == 2 ? (int32_t)ops[1].number : 0;
	return 0;
}

static int read_rule(Dwarf_Frame *frame, struct elf_rule *ret)
{
	int r = read_frame(frame, ret);
	int32_t at;

	if (r)
		return r;
	r = read_register(frame, RETURN_ADDRESS, &at);
	if (r)
		return r < 0 ? r : -ENOENT;
	if (at != -8)
		return -ENOTSUP;
	for (int i = 0; i < ELF_REGISTERS; i++) {
		if (i == ELF_RSP)
			continue; /* the frame address itself */
		r = read_register(frame, i, &ret->at[i]);
		ret->saved |= (uint16_t)(!r << i);
	}
	return 0;
}

int elf_rules_find(struct elf_rules *rules, uint64_t vaddr, struct elf_rule *ret)
{
	struct elf_rule rule = {};
	Dwarf_Frame *frame;
	int r;

	if (dwarf_cfi_addrframe(rules->cfi, vaddr, &frame))
		return -ENOENT;
	r = read_rule(frame, &rule);
	free(frame);
	if (!r)
		*ret = rule;
	return r;
}
