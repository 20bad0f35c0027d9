/* Words of A64 machine code → what they read, write and branch to. */
#include "elf_aarch64.h"

#define NOWHERE UINT64_MAX

static uint32_t field(uint32_t word, unsigned int low, unsigned int bits)
{
	return word >> low & ((1u << bits) - 1);
}

static int64_t signed_field(uint32_t word, unsigned int low, unsigned int bits)
{
	uint32_t value = field(word, low, bits), sign = 1u << (bits - 1);

	return (int64_t)(value ^ sign) - (int64_t)sign;
}

/* Register number at bit @low, as a set; 31 is none. */
static uint32_t reg(uint32_t word, unsigned int low)
{
	uint32_t number = field(word, low, 5);

	return number == A64_ZERO ? 0 : 1u << number;
}

bool a64_is_valid(uint32_t word)
{
	switch (field(word, 25, 4)) {
	case 0: /* udf; with the upper bit SME */
		return word >> 31;
	case 1:
	case 3:
		return false;
	}
	return true;
}

/* Of unconditional branches to a register: plain, or with authentication (op3). */
static enum a64_branch register_branch(uint32_t word)
{
	switch (field(word, 21, 4) & 7) {
	case 0:
		return A64_JUMP;
	case 1:
		return A64_CALL;
	}
	return A64_RETURN; /* ret, eret, drps */
}

enum a64_branch a64_branch(uint32_t word, uint64_t vaddr, uint64_t *ret_target)
{
	*ret_target = NOWHERE;
	if ((word & 0x7c000000) == 0x14000000) {
		*ret_target = vaddr + (uint64_t)(signed_field(word, 0, 26) * 4);
		return word >> 31 ? A64_CALL : A64_JUMP;
	}
	if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		*ret_target = vaddr + (uint64_t)(signed_field(word, 5, 19) * 4);
		return A64_JUMP_IF;
	}
	if ((word & 0x7e000000) == 0x36000000) {
		*ret_target = vaddr + (uint64_t)(signed_field(word, 5, 14) * 4);
		return A64_JUMP_IF;
	}
	if ((word & 0xfe000000) == 0xd6000000)
		return register_branch(word);
	if ((word & 0xff000000) == 0xd4000000)
		return (word & 0x00e00000) ? A64_TRAP : A64_EXCEPTION;
	return A64_NONE;
}

/* Exclusive, ordered, compare and swap: bits 29 to 24 are 001000. */
static void exclusive_access(uint32_t word, struct a64_access *ret)
{
	bool ordered = field(word, 23, 1), other = field(word, 21, 1), pair = !ordered && other;

	ret->load = field(word, 22, 1);
	ret->store = !ret->load;
	ret->values = reg(word, 0);
	if (ordered && !other)
		return; /* ldar, stlr */
	if (ordered ||
		(pair && !(word >> 31))) { /* cas; casp, of even registers and their neighbours */
		ret->exchange = ret->load = ret->store = true;
		ret->status = reg(word, 16);
		if (!ordered)
			ret->status |= ret->status << 1 & ~(1u << 31);
		return;
	}
	ret->exclusive = true;
	if (pair)
		ret->values |= reg(word, 10);
	if (ret->store)
		ret->status = reg(word, 16);
}

/* Those of Armv8.1 that change memory at one go, ldapr; loads that authenticate: bits 21 set, 11 to 10 not 10. */
static void atomic_access(uint32_t word, struct a64_access *ret)
{
	ret->values = reg(word, 0);
	ret->load = true;
	if (field(word, 10, 2)) {
		ret->writeback = field(word, 11, 1); /* ldraa, ldrab */
		return;
	}
	ret->store = field(word, 12, 4) != 12;	 /* ldapr */
	ret->exchange = field(word, 12, 4) == 8; /* swp */
}

/* One register: bits 29 to 27 are 111, 25 is 0. */
static void single_access(uint32_t word, struct a64_access *ret)
{
	uint32_t opc = field(word, 22, 2), size = field(word, 30, 2);

	ret->vector = field(word, 26, 1);
	if (!field(word, 24, 1) && field(word, 21, 1) && field(word, 10, 2) != 2) {
		atomic_access(word, ret);
		return;
	}
	if (!field(word, 24, 1) && !field(word, 21, 1))
		ret->writeback = field(word, 10, 1); /* post- and pre-indexed */
	if (!ret->vector && size == 3 && opc == 2)
		return; /* prfm */
	ret->store = ret->vector ? !(opc & 1) : !opc;
	ret->load = !ret->store;
	ret->values = ret->vector ? 0 : reg(word, 0);
}

/* Two registers: bits 29 to 27 are 101, 25 is 0. */
static void pair_access(uint32_t word, struct a64_access *ret)
{
	ret->vector = field(word, 26, 1);
	ret->load = field(word, 22, 1);
	ret->store = !ret->load;
	ret->writeback = field(word, 23, 1);
	ret->values = ret->vector ? 0 : reg(word, 0) | reg(word, 10);
}

/* Vectors of structures: bits 29 to 25 are 00110. */
static void structure_access(uint32_t word, struct a64_access *ret)
{
	ret->vector = true;
	ret->load = field(word, 22, 1);
	ret->store = !ret->load;
	ret->writeback = field(word, 23, 1);
}

/* Bits 29 to 27 are 011: from near the code; at a distance, in order; copies of memory and its tags. */
static void other_access(uint32_t word, struct a64_access *ret)
{
	ret->vector = field(word, 26, 1);
	if (!field(word, 24, 1)) { /* ldr of a literal, prfm */
		ret->load = true;
		ret->values = ret->vector ? 0 : reg(word, 0);
		ret->base = 0;
		return;
	}
	ret->values = reg(word, 0);
	ret->store = !field(word, 22, 2);
	ret->load = !ret->store;
	if (!field(word, 21, 1) && !field(word, 10, 2))
		return; /* ldapur, stlur */
	ret->store = ret->load = ret->writeback = true;
	ret->status = reg(word, 16) | reg(word, 10);
}

bool a64_access(uint32_t word, struct a64_access *ret)
{
	struct a64_access access = {.base = (uint8_t)field(word, 5, 5)};

	if ((word & 0x0a000000) != 0x08000000)
		return false;
	switch (field(word, 27, 3)) {
	case 1:
		if (field(word, 26, 1))
			structure_access(word, &access);
		else
			exclusive_access(word, &access);
		break;
	case 3:
		other_access(word, &access);
		break;
	case 5:
		pair_access(word, &access);
		break;
	case 7:
		single_access(word, &access);
		break;
	}
	*ret = access;
	return true;
}

static uint32_t access_writes(uint32_t word)
{
	struct a64_access access;

	if (!a64_access(word, &access))
		return ~0u;
	return access.status | (access.load ? access.values : 0) |
	       (access.writeback ? 1u << access.base : 0);
}

/* What authenticates or strips the return address, among the hints; and pacia1716 and its kin. */
static uint32_t hint_writes(uint32_t word)
{
	uint32_t hint = field(word, 5, 7);

	if (hint == 7 || (hint >= 24 && hint <= 31))
		return 1u << A64_LINK;
	return hint >= 8 && hint <= 14 ? 1u << 17 : 0;
}

static uint32_t system_writes(uint32_t word)
{
	uint64_t target;

	if ((word & 0xfffff01f) == 0xd503201f)
		return hint_writes(word);
	if ((word & 0xffc00000) == 0xd5000000) /* mrs and sysl write what msr and sys read */
		return field(word, 21, 1) ? reg(word, 0) : 0;
	switch (a64_branch(word, 0, &target)) {
	case A64_JUMP:
	case A64_JUMP_IF:
	case A64_RETURN:
	case A64_TRAP:
		return 0;
	default:
		return ~0u; /* whatever a call leaves */
	}
}

/* Computations with a number in them: their register 31 is the stack pointer, except where they set flags. */
static uint32_t number_writes(uint32_t word)
{
	uint32_t group = field(word, 23, 3);
	bool to_sp = (group == 2 && !field(word, 29, 1)) || group == 3 ||
		     (group == 4 && field(word, 29, 2) != 3);

	return to_sp ? 1u << field(word, 0, 5) : reg(word, 0);
}

static uint32_t register_writes(uint32_t word)
{
	if ((word & 0x1fe00000) == 0x1a400000)
		return 0; /* ccmp, ccmn */
	if ((word & 0x3fe00000) == 0x0b200000)
		return 1u << field(word, 0,
			       5); /* add, sub of an extended register: 31 is the stack pointer */
	return reg(word, 0);
}

/* Conversions to an integer, moves out of a vector. */
static uint32_t vector_writes(uint32_t word)
{
	bool leaves = ((word & 0x5f200000) == 0x1e200000 && !field(word, 10, 6)) ||
		      (word & 0x5f200000) == 0x1e000000 || (word & 0xbfe08400) == 0x0e000400;

	return leaves ? reg(word, 0) : 0;
}

uint32_t a64_writes(uint32_t word)
{
	switch (field(word, 25, 4)) {
	case 8:
	case 9:
		return number_writes(word);
	case 10:
	case 11:
		return system_writes(word);
	case 4:
	case 6:
	case 12:
	case 14:
		return access_writes(word);
	case 5:
	case 13:
		return register_writes(word);
	case 7:
	case 15:
		return vector_writes(word);
	}
	return ~0u; /* SVE, SME */
}

bool a64_address(uint32_t word, uint64_t vaddr, uint64_t *ret)
{
	int64_t distance = signed_field(word, 5, 19) * 4 + (int64_t)field(word, 29, 2);

	if ((word & 0x1f000000) != 0x10000000)
		return false;
	*ret = word >> 31 ? (vaddr & ~0xfffull) + (uint64_t)(distance * 4096)
			  : vaddr + (uint64_t)distance;
	return true;
}

bool a64_add(uint32_t word, int64_t *ret)
{
	int64_t number = field(word, 10, 12);

	if ((word & 0x1f800000) != 0x11000000)
		return false;
	if (field(word, 22, 1))
		number <<= 12;
	*ret = field(word, 30, 1) ? -number : number;
	return true;
}
