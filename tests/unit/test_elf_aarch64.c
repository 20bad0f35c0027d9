/* AArch64's machine code, in an ELF file made here, so that any machine can read it: what it says, where probes are cheap. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cleanup.h"
#include "elf_aarch64.h"
#include "elf_code.h"
#include "elf_ends.h"
#include "elf_machine.h"
#include "elf_returns.h"
#include "elf_syscall.h"
#include "elf_usdt.h"

/*
 * Functions as GCC makes them. The collector is like CPython's since 3.13: it gives up where another collection is under
 * way, copies a word, gives up, works, counts, goes on by way of a nop where somebody listens, stores a zero.
 */
static const uint32_t code_other[] = {
	0xd65f03c0, /* ret */
};
static const uint32_t code_cas[] = {
	0xd503245f, /* bti c */
	0x90000010, /* adrp x16, 0x0 */
	0x39400210, /* ldrb w16, [x16] */
	0x34000070, /* cbz w16, 0x28 */
	0x88e0fc41, /* casal w0, w1, [x2] */
	0xd65f03c0, /* ret */
	0x2a0003f0, /* mov w16, w0 */
	0x885ffc40, /* ldaxr w0, [x2] */
	0x6b10001f, /* cmp w0, w16 */
	0x54000061, /* b.ne 0x40 */
	0x8811fc41, /* stlxr w17, w1, [x2] */
	0x35ffff91, /* cbnz w17, 0x2c */
	0xd65f03c0, /* ret */
};
static const uint32_t code_count[] = {
	0xb8e00020, /* ldaddal w0, w0, [x1] */
	0xd65f03c0, /* ret */
};
static const uint32_t code_collector[] = {
	0xd503233f, /* paciasp */
	0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	0x910003fd, /* mov x29, sp */
	0xf9000bf3, /* str x19, [sp, #16] */
	0xaa0003f3, /* mov x19, x0 */
	0x52800000, /* mov w0, #0 */
	0x52800021, /* mov w1, #1 */
	0x97ffffe5, /* bl 0x10 */
	0x35000180, /* cbnz w0, 0xb0 */
	0xf9402660, /* ldr x0, [x19, #72] */
	0xf900b260, /* str x0, [x19, #352] */
	0x3100043f, /* cmn w1, #1 */
	0x54000100, /* b.eq 0xb0 */
	0x97ffffdb, /* bl 0x0 */
	0xf9404260, /* ldr x0, [x19, #128] */
	0x91000400, /* add x0, x0, #1 */
	0xf9004260, /* str x0, [x19, #128] */
	0x350000e1, /* cbnz w1, 0xc0 */
	0x97ffffd6, /* bl 0x0 */
	0x889ffe7f, /* stlr wzr, [x19] */
	0xf9400bf3, /* ldr x19, [sp, #16] */
	0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
	0xd50323bf, /* autiasp */
	0xd65f03c0, /* ret */
	0xd503201f, /* nop */
	0x17fffff9, /* b 0xa8 */
};
static const uint32_t code_counting[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x97ffffdf, /* bl 0x50 */
	0x350000e0, /* cbnz w0, 0xf4 */
	0x97ffffc9, /* bl 0x0 */
	0xf9404260, /* ldr x0, [x19, #128] */
	0x91000400, /* add x0, x0, #1 */
	0xf9004260, /* str x0, [x19, #128] */
	0x35000021, /* cbnz w1, 0xf0 */
	0x97ffffc4, /* bl 0x0 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_joined[] = {
	0xb4000040, /* cbz x0, 0x108 */
	0xf9402660, /* ldr x0, [x19, #72] */
	0xf900b260, /* str x0, [x19, #352] */
	0xd65f03c0, /* ret */
};
static const uint32_t code_framed[] = {
	0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	0x910003fd, /* mov x29, sp */
	0x97ffffba, /* bl 0x0 */
	0xf9400260, /* ldr x0, [x19] */
	0x91000400, /* add x0, x0, #1 */
	0xf9000260, /* str x0, [x19] */
	0x90000001, /* adrp x1, 0x0 */
	0xf9000ba0, /* str x0, [x29, #16] */
	0xb9001be0, /* str w0, [sp, #24] */
	0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_table[] = {
	0x97ffffb0, /* bl 0x0 */
	0xd61f0000, /* br x0 */
};
static const uint32_t code_data[] = {
	0x97ffffac, /* bl 0x0 */
	0x00000000, /* 00 00 00 00 .word 0x00000000 */
};
static const uint32_t code_first[] = {
	0xa9bd7bfd, /* stp x29, x30, [sp, #-48]! */
	0x910003fd, /* mov x29, sp */
	0x910063e2, /* add x2, sp, #24 */
	0x910083e3, /* add x3, sp, #32 */
	0x52800024, /* mov w4, #1 */
	0x97ffffbb, /* bl 0x60 */
	0xaa0003f3, /* mov x19, x0 */
	0xa8c37bfd, /* ldp x29, x30, [sp], #48 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_second[] = {
	0xf81f0ffe, /* str x30, [sp, #-16]! */
	0x52800042, /* mov w2, #2 */
	0x2a0203e1, /* mov w1, w2 */
	0x97ffffb1, /* bl 0x60 */
	0xf84107fe, /* ldr x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_tail[] = {
	0x17ffffd4, /* b 0x100 */
};
static const uint32_t code_joiner[] = {
	0x97ffffd0, /* bl 0x100 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_taken[] = {
	0x97ffffdc, /* bl 0x140 */
	0x10fffb60, /* adr x0, #-148 */
	0xd65f03c0, /* ret */
};
static const uint32_t code_page[] = {
	0x97ffffdc, /* bl 0x150 */
	0x90000001, /* adrp x1, 0x0 */
	0x91054020, /* add x0, x1, #0 */
	0xd65f03c0, /* ret */
	0xd65f03c0, /* ret */
};

#define TEXT	   0x10000
#define FRAMES	   0x20000
#define TEXT_AT	   0x1000 /* in the file */
#define FRAMES_AT  0x2000
#define FRAMES_MAX 0x1000

static const struct function {
	const uint32_t *words;
	size_t bytes;
	uint64_t vaddr;
} functions[] = {
#define FUNCTION(name, at) {code_##name, sizeof(code_##name), TEXT + (at)}
	FUNCTION(other, 0x0),
	FUNCTION(cas, 0x10),
	FUNCTION(count, 0x50),
	FUNCTION(collector, 0x60),
	FUNCTION(counting, 0xd0),
	FUNCTION(joined, 0x100),
	FUNCTION(framed, 0x110),
	FUNCTION(table, 0x140),
	FUNCTION(data, 0x150),
	FUNCTION(first, 0x160),
	FUNCTION(second, 0x190),
	FUNCTION(tail, 0x1b0),
	FUNCTION(joiner, 0x1c0),
	FUNCTION(taken, 0x1d0),
	FUNCTION(page, 0x1e0),
};

enum {
	CAS = TEXT + 0x10,
	COUNT = TEXT + 0x50,
	COLLECTOR = TEXT + 0x60,
	COLLECTOR_END = TEXT + 0xa4,
	COUNTING = TEXT + 0xd0,
	JOINED = TEXT + 0x100,
	JOINED_END = TEXT + 0x10c,
	FRAMED = TEXT + 0x110,
	FRAMED_END = TEXT + 0x128,
	TABLE = TEXT + 0x140,
	DATA = TEXT + 0x150,
	FIRST = TEXT + 0x160,
	FIRST_CALL = TEXT + 0x174,
	FIRST_PLACE = TEXT + 0x180,
	SECOND = TEXT + 0x190,
};

static _Alignas(16) uint8_t image[FRAMES_AT + FRAMES_MAX];
static struct elf_file *file;

/*
 * Call frame instructions: as in first(), 48 bytes from its second instruction on, x30 8 above the stack pointer; with a
 * note that the return address is signed.
 */
static const uint8_t rules[] = {0x2d, 0x41, 0x0e, 48, 0x9d, 6, 0x9e, 5};

/* .eh_frame: a CIE ("zR", addresses relative and of four bytes), an FDE for each function. Returns its size. */
static size_t put_frames(uint8_t *to, uint64_t vaddr, int32_t (*ret_table)[2])
{
	static const uint8_t cie[] = {
		16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0};
	size_t used = sizeof(cie);

	memcpy(to, cie, sizeof(cie));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const int32_t start = (int32_t)(functions[i].vaddr - (vaddr + used + 8));
		const int32_t head[] = {13 + 3 + (int32_t)sizeof(rules), (int32_t)used + 4, start,
			(int32_t)functions[i].bytes};

		ret_table[i][0] = (int32_t)functions[i].vaddr;
		ret_table[i][1] = (int32_t)(vaddr + used);
		memcpy(to + used, head, sizeof(head)); /* then no augmentation, the rules, nops */
		memcpy(to + used + 17, rules, sizeof(rules));
		used += 4 + (size_t)head[0];
	}
	return used + 4; /* and an end */
}

/* .eh_frame_hdr: a sorted table of functions, relative to itself. */
static void put_header(uint8_t *to, uint64_t vaddr, uint64_t frames, int32_t (*table)[2])
{
	const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};
	int32_t head[] = {(int32_t)(frames - (vaddr + 4)), ARRAY_SIZE(functions)};

	memcpy(to, encodings, sizeof(encodings));
	memcpy(to + 4, head, sizeof(head));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const int32_t entry[] = {
			table[i][0] - (int32_t)vaddr, table[i][1] - (int32_t)vaddr};

		memcpy(to + 12 + sizeof(entry) * i, entry, sizeof(entry));
	}
}

static int make_file(void **state)
{
	const uint32_t nop = 0xd503201f;
	int32_t table[ARRAY_SIZE(functions)][2];
	const Elf64_Phdr segments[] = {
		{PT_LOAD, PF_R | PF_X, TEXT_AT, TEXT, TEXT, 0x1000, 0x1000, 0x1000},
		{PT_LOAD, PF_R, FRAMES_AT, FRAMES, FRAMES, FRAMES_MAX, FRAMES_MAX, 0x1000},
		{PT_GNU_EH_FRAME, PF_R, FRAMES_AT, FRAMES, FRAMES, 0x200, 0x200, 4},
	};
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_AARCH64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(*segments),
		.e_phnum = ARRAY_SIZE(segments)};
	struct err err = {};

	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), segments, sizeof(segments));
	for (size_t at = TEXT_AT; at < FRAMES_AT; at += sizeof(nop))
		memcpy(image + at, &nop, sizeof(nop));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		memcpy(image + TEXT_AT + functions[i].vaddr - TEXT, functions[i].words,
			functions[i].bytes);
	put_frames(image + FRAMES_AT + 0x200, FRAMES + 0x200, table);
	put_header(image + FRAMES_AT, FRAMES, FRAMES + 0x200, table);
	if (elf_file_open_memory(image, sizeof(image), "the fixture", &file, &err))
		print_message("# %s\n", err.text);
	return !file;
}

static int free_file(void **state)
{
	elf_file_free(file);
	return 0;
}

static void test_bounds(void **state)
{
	uint64_t start, end;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		assert_int_equal(elf_code_bounds(file, functions[i].vaddr, &start, &end), 0);
		assert_int_equal(start, functions[i].vaddr);
		assert_int_equal(end, start + functions[i].bytes);
	}
	assert_int_equal(elf_file_machine(file), EM_AARCH64);
	assert_true(elf_code_links(file));
}

/* Which registers an instruction writes, as the Arm ARM says. */
static void test_writes(void **state)
{
	static const struct {
		uint32_t word, set;
	} cases[] = {
		{0xd2800041, 1 << 1},		  /* mov x1, #2 */
		{0x910003fd, 1 << 29},		  /* mov x29, sp */
		{0x9100081f, 1u << 31},		  /* add sp, x0, #2 */
		{0xf100081f, 0},		  /* cmp x0, #2 */
		{0xeb01001f, 0},		  /* cmp x0, x1 */
		{0x8b2063ff, 1u << 31},		  /* add sp, sp, x0 */
		{0xfa410800, 0},		  /* ccmp x0, x1, #0, eq */
		{0xf9400001, 1 << 1},		  /* ldr x1, [x0] */
		{0xf8408401, 1 << 1 | 1 << 0},	  /* ldr x1, [x0], #8 */
		{0xf9000001, 0},		  /* str x1, [x0] */
		{0xf81f0fe1, 1u << 31},		  /* str x1, [sp, #-16]! */
		{0xa8c17bfd, 1u << 31 | 3 << 29}, /* ldp x29, x30, [sp], #16 */
		{0xa9bf7bfd, 1u << 31},		  /* stp x29, x30, [sp, #-16]! */
		{0x3dc00000, 0},		  /* ldr q0, [x0] */
		{0x4ee18400, 0},		  /* add v0.2d, v0.2d, v1.2d */
		{0x9e660001, 1 << 1},		  /* fmov x1, d0 */
		{0x4e183c01, 1 << 1},		  /* mov x1, v0.d[1] */
		{0xd503233f, 1 << 30},		  /* paciasp */
		{0xd50323bf, 1 << 30},		  /* autiasp */
		{0xd503245f, 0},		  /* bti c */
		{0xd53bd041, 1 << 1},		  /* mrs x1, TPIDR_EL0 */
		{0xd51bd041, 0},		  /* msr TPIDR_EL0, x1 */
		{0x88e0fc41,
			1 << 0 | 1 << 1}, /* casal w0, w1, [x2]: and what it stores, for safety */
		{0xb8e10020, 1 << 0},	  /* ldaddal w1, w0, [x1] */
		{0xc85ffc41, 1 << 1},	  /* ldaxr x1, [x2] */
		{0xc803fc41, 1 << 3},	  /* stlxr w3, x1, [x2] */
		{0x90000001, 1 << 1},	  /* adrp x1, . */
		{0xd65f03c0, 0},	  /* ret */
		{0x04e0e3e0, ~0u},	  /* cntd x0, of SVE: all, as it is not understood */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (a64_writes(cases[i].word) != cases[i].set)
			fail_msg("%08x writes %x, not %x", cases[i].word, a64_writes(cases[i].word),
				cases[i].set);
	assert_false(a64_is_valid(0));
	assert_true(a64_is_valid(0xd503201f));
}

/* Branches, as far as they reach. */
static void test_branches(void **state)
{
	static const struct {
		uint32_t word;
		enum a64_branch kind;
		int64_t distance; /* 0: unknown */
	} cases[] = {
		{0x14000001, A64_JUMP, 4},
		{0x95ffffff, A64_CALL, 0x7fffffc},
		{0x96000000, A64_CALL, -0x8000000},
		{0x54ffffe1, A64_JUMP_IF, -4},
		{0xb4800000, A64_JUMP_IF, -0x100000},
		{0x377ffff0, A64_JUMP_IF, 0},
		{0xd61f0000, A64_JUMP, 0},
		{0xd63f0000, A64_CALL, 0},
		{0xd65f03c0, A64_RETURN, 0},
		{0xd65f0bff, A64_RETURN, 0},
		{0xd4000001, A64_EXCEPTION, 0},
		{0xd4200000, A64_TRAP, 0},
		{0xd503201f, A64_NONE, 0},
	};
	const uint64_t at = 1 << 30;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t target;

		if (a64_branch(cases[i].word, at, &target) != cases[i].kind)
			fail_msg("%08x", cases[i].word);
		if (cases[i].distance && target != at + (uint64_t)cases[i].distance)
			fail_msg("%08x goes to %llx", cases[i].word, (unsigned long long)target);
	}
}

static void check_ends(uint64_t vaddr, uint64_t end)
{
	uint64_t found[8] = {};
	struct err err = {};

	if (elf_ends_find(file, vaddr, found, ARRAY_SIZE(found), &err) != 1)
		fail_msg("%llx: %s", (unsigned long long)vaddr, err.text);
	assert_int_equal(found[0], end);
}

static void check_no_ends(uint64_t vaddr, const char *why)
{
	uint64_t found[8];
	struct err err = {};

	assert_int_equal(elf_ends_find(file, vaddr, found, ARRAY_SIZE(found), &err), -ENOTSUP);
	if (!strstr(err.text, why))
		fail_msg("%s", err.text);
}

static void test_ends(void **state)
{
	check_ends(COLLECTOR, COLLECTOR_END);
	check_ends(FRAMED, FRAMED_END);
	check_ends(JOINED, JOINED_END); /* what it stores was not loaded just before on every way */
	check_no_ends(COUNTING, "ends where no probe is cheap");
	check_no_ends(TABLE, "jumps to an address known only at run time");
	check_no_ends(DATA, "is not an instruction");
	assert_true(elf_machine_of(file)->exchanges(file, CAS));
	assert_false(elf_machine_of(file)->exchanges(file, COUNT));
	assert_false(elf_machine_of(file)->exchanges(file, COLLECTOR));
}

static void test_returns(void **state)
{
	struct elf_return found[4];
	struct err err = {};

	if (elf_returns_find(file, COLLECTOR, found, ARRAY_SIZE(found), &err) != 2)
		fail_msg("%s", err.text);
	assert_int_equal(found[0].call.vaddr, FIRST_CALL);
	assert_int_equal(found[0].vaddr, FIRST_PLACE);
	assert_true(found[0].emulated);
	assert_int_equal(found[0].call.arguments[2].kind, ELF_VALUE_STACK);
	assert_int_equal(found[0].call.arguments[3].kind, ELF_VALUE_STACK);
	assert_int_equal(found[0].call.arguments[4].kind, ELF_VALUE_CONSTANT);
	assert_int_equal(found[0].call.arguments[4].value, 1);
	assert_int_equal(found[1].call.arguments[0].kind, ELF_VALUE_UNKNOWN);
	assert_int_equal(found[1].call.arguments[1].value, 2);
	assert_int_equal(found[1].call.arguments[2].value, 2);
}

static void check_no_returns(uint64_t vaddr)
{
	struct elf_return found[4];
	struct err err = {};

	assert_int_equal(elf_returns_find(file, vaddr, found, ARRAY_SIZE(found), &err), -ENOTSUP);
	if (!strstr(err.text, "does not call it, but refers to it"))
		fail_msg("%s", err.text);
}

static void test_references(void **state)
{
	check_no_returns(JOINED); /* a tail call */
	check_no_returns(TABLE);  /* adr */
	check_no_returns(DATA);	  /* adrp and add */
}

static void test_callers(void **state)
{
	uint64_t returns[4], at;

	assert_int_equal(elf_code_callers(file, COLLECTOR, returns, ARRAY_SIZE(returns)), 2);
	assert_int_equal(returns[0], FIRST_CALL + 4);
	assert_int_equal(elf_code_frame(file, FIRST_CALL, &at), 0);
	assert_int_equal(at, 8);
	assert_int_equal(elf_code_frame(file, FIRST, &at), -ENOENT); /* in x30 */
}

/* Nothing is passed that writes or saves x30, as a return probe changes it. */
static void test_entries(void **state)
{
	enum elf_step step;
	uint64_t place;
	char text[16];

	assert_int_equal(elf_code_probe_site(file, CAS, &place, &step), 0);
	assert_int_equal(place, CAS + 4);
	assert_int_equal(step, ELF_STEP_EMULATED);
	assert_int_equal(elf_code_probe_site(file, COLLECTOR, &place, &step), 0);
	assert_int_equal(place, COLLECTOR);
	assert_int_equal(step, ELF_STEP_SINGLE);
	assert_int_equal(elf_code_probe_site(file, COUNTING, &place, &step), 0);
	assert_int_equal(place, COUNTING);
	assert_string_equal(elf_code_mnemonic(file, COUNTING, text, sizeof(text)), "stp");
	assert_int_equal(elf_syscall_results(file, COLLECTOR, &place, 1), -ENOENT);
}

static void test_registers(void **state)
{
	assert_int_equal(elf_usdt_register(file, "x0", 8), 0);
	assert_int_equal(elf_usdt_register(file, "x28", 4), 224);
	assert_int_equal(elf_usdt_register(file, "%rdi", 8), -ENOENT);
	assert_int_equal(elf_usdt_register(file, "[sp", 8), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_registers),
	};

	return cmocka_run_group_tests(tests, make_file, free_file);
}
