/*
 * Call frame instructions → where a function keeps its return address, as seen by what it calls.
 */
#include <errno.h>

#include <dwarf.h>

#include "elf_code.h"
#include "elf_machine.h"
#include "elf_priv.h"

#define DEPTH	  8 /* of remembered states */
#define FRAME_MAX 65536

struct rule {
	uint64_t reg, offset;
	int64_t link; /* from there to the link register's value for the caller; 0: it is not on the stack */
};

struct cfa {
	struct rule now, remembered[DEPTH];
	size_t depth;
	uint64_t at, wanted, factor; /* the code address that the rules hold from */
	int64_t data_factor;
	uint64_t link_register; /* 0: the return address is just below the frame's end */
};

static bool read_fixed(const uint8_t **at, const uint8_t *end, size_t bytes, uint64_t *ret)
{
	*ret = 0;
	if ((size_t)(end - *at) < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		*ret |= (uint64_t) * (*at)++ << 8 * i;
	return true;
}

static bool skip_ulebs(const uint8_t **at, const uint8_t *end, int count)
{
	uint64_t ignored;

	while (count--)
		if (!elf_read_uleb(at, end, &ignored))
			return false;
	return true;
}

/* A block: its length, then that many bytes. */
static bool skip_block(const uint8_t **at, const uint8_t *end)
{
	uint64_t len;

	if (!elf_read_uleb(at, end, &len) || len > (uint64_t)(end - *at))
		return false;
	*at += len;
	return true;
}

static bool remember(struct cfa *cfa, uint8_t op)
{
	if (op == DW_CFA_remember_state) {
		if (cfa->depth == DEPTH)
			return false;
		cfa->remembered[cfa->depth++] = cfa->now;
		return true;
	}
	if (!cfa->depth)
		return false;
	cfa->now = cfa->remembered[--cfa->depth];
	return true;
}

/*
 * Instructions that neither advance the address nor change the rule of the frame. False: not
 * understood.
 */
static bool skip_other(const uint8_t **at, const uint8_t *end, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* of AArch64: the return address is signed from here on, or no longer */
		return true;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		return skip_ulebs(at, end, 1);
	case DW_CFA_offset_extended_sf:
	case DW_CFA_register:
	case DW_CFA_val_offset:
		return skip_ulebs(at, end, 2);
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return skip_ulebs(at, end, 1) && skip_block(at, end);
	}
	return false;
}

/* Register @reg of the caller lies at so much, times the factor, from the frame's end. */
static bool save(struct cfa *cfa, uint64_t reg, const uint8_t **at, const uint8_t *end)
{
	uint64_t offset;

	if (!elf_read_uleb(at, end, &offset))
		return false;
	if (reg != cfa->link_register)
		return true;
	cfa->now.link = (int64_t)(offset * (uint64_t)cfa->data_factor);
	return true;
}

static bool step(struct cfa *cfa, const uint8_t **at, const uint8_t *end)
{
	uint8_t op = *(*at)++;
	uint64_t delta = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		cfa->at += delta * cfa->factor;
		return true;
	case DW_CFA_offset:
		return save(cfa, delta, at, end);
	case DW_CFA_restore:
		if (delta == cfa->link_register)
			cfa->now.link = 0;
		return true;
	}
	switch (op) {
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		if (!read_fixed(at, end, 1u << (op - DW_CFA_advance_loc1), &delta))
			return false;
		cfa->at += delta * cfa->factor;
		return true;
	case DW_CFA_def_cfa:
		return elf_read_uleb(at, end, &cfa->now.reg) &&
		       elf_read_uleb(at, end, &cfa->now.offset);
	case DW_CFA_def_cfa_register:
		return elf_read_uleb(at, end, &cfa->now.reg);
	case DW_CFA_def_cfa_offset:
		return elf_read_uleb(at, end, &cfa->now.offset);
	case DW_CFA_offset_extended:
		return elf_read_uleb(at, end, &delta) && save(cfa, delta, at, end);
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return remember(cfa, op);
	}
	return skip_other(at, end, op);
}

/* Runs up to the first instruction for code beyond the wanted address. */
static bool run(struct cfa *cfa, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		struct rule before = cfa->now;

		if (!step(cfa, &at, end))
			return false;
		if (cfa->at > cfa->wanted) {
			cfa->now = before;
			return true;
		}
	}
	return true;
}

int elf_code_frame(const struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_machine *machine = elf_machine_of(file);
	struct cfa cfa = {.wanted = vaddr, .link_register = machine->dwarf_link};
	struct elf_fde fde;

	if (elf_frame_find(file, vaddr, &fde))
		return -ENOENT;
	cfa.at = fde.start;
	cfa.factor = fde.code_factor;
	cfa.data_factor = fde.data_factor;
	if (!run(&cfa, fde.initial, fde.initial_end) || !run(&cfa, fde.code, fde.code_end) ||
		cfa.now.reg != machine->dwarf_sp || cfa.now.offset < 8 ||
		cfa.now.offset > FRAME_MAX)
		return -ENOENT;
	/* A call that pushes moves the stack pointer by as much as the return address lies below the frame's end. */
	if (!machine->dwarf_link) {
		*ret = cfa.now.offset;
		return 0;
	}
	if (cfa.now.link >= 0 || cfa.now.link < -FRAME_MAX ||
		(uint64_t)-cfa.now.link > cfa.now.offset)
		return -ENOENT;
	*ret = cfa.now.offset - (uint64_t)-cfa.now.link;
	return 0;
}
