/* The elf room on this very program, on cut, patched and shrinking copies of it, and on its debug
 * file. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_file.h"
#include "elf_usdt.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);
#define _cleanup_elf_ _cleanup_(cleanup_elf_file_free)

/* Functions whose every byte the tests know. */
#define FUNCTION(name, body)                                                                       \
	__asm__(".pushsection .text\n.p2align 4\n.globl " name "\n.hidden " name "\n.type " name   \
		",@function\n" name ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name         \
		",.-" name "\n.popsection\n")

FUNCTION("fixture_leaf", "ret\n");
FUNCTION("fixture_calls", "endbr64\n"
			  "mov $2,%esi\n"
			  "mov $3,%edx\n"
			  "call fixture_leaf\n" /* 0: 2, 3 */
			  "call fixture_leaf\n" /* 1: a call clobbers */
			  "xor %esi,%esi\n"
			  "mov $7,%rdx\n"
			  "jne 1f\n"
			  "call fixture_leaf\n" /* 2: 0, 7 */
			  "mov $5,%esi\n"
			  "1: call fixture_leaf\n" /* 3: reached from two sides */
			  "lea fixture_text(%rip),%rsi\n"
			  "call fixture_push\n" /* 4: an address */
			  "jmp 2f\n"		/* stays inside: no call */
			  "2: mov $2,%esi\n"
			  "mov %al,%sil\n"
			  "mov $9,%edx\n"
			  "cqo\n"
			  "call fixture_push\n" /* 5: partly and implicitly overwritten */
			  "call *%rax\n"
			  "mov $11,%esi\n"
			  "jmp fixture_leaf\n"); /* 6: a tail call */
FUNCTION("fixture_inner", "ret\n");
FUNCTION("fixture_outer", "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3, -16\n"
			  "sub $0x120,%rsp\n.cfi_def_cfa_offset 304\n"
			  "call fixture_inner\n" /* 304 */
			  "test %eax,%eax\n"
			  "je 1f\n"
			  ".cfi_remember_state\nadd $0x120,%rsp\n.cfi_def_cfa_offset 16\n"
			  "pop %rbx\n.cfi_def_cfa_offset 8\n"
			  "ret\n"
			  "1:\n.cfi_restore_state\n"
			  "call fixture_inner\n" /* 304 */
			  "lea 0x120(%rsp),%rbp\n.cfi_def_cfa 6, 16\n"
			  "call fixture_inner\n" /* by another register */
			  "ud2\n");
FUNCTION("fixture_stack", "push %rbp\n"
			  "lea 8(%rbp),%rsi\n" /* not yet a frame pointer */
			  "lea 8(%rsp),%rdx\n"
			  "mov %rsp,%rcx\n"
			  "xor %r8d,%r8d\n"
			  "mov %esp,%r9d\n" /* half an address */
			  "call fixture_leaf\n"
			  "mov %rsp,%rbp\n"
			  "lea 8(%rbp),%rsi\n"
			  "mov %rbp,%rdx\n"
			  "call fixture_leaf\n"
			  "lea 8(%rsp,%rax),%rsi\n"
			  "mov $-23,%rdx\n"
			  "call fixture_leaf\n"
			  "pop %rbp\n"
			  "ret\n");
FUNCTION("fixture_push", "push %r12\npop %r12\nret\n");
FUNCTION("fixture_endbr", "endbr64\npush %rbp\npop %rbp\nret\n");
FUNCTION("fixture_frame", "endbr64\nsub $24,%rsp\nnop\nadd $24,%rsp\nret\n");
FUNCTION("fixture_argument", "endbr64\nmov $1,%r8d\nnop\nret\n");
FUNCTION("fixture_loop", "endbr64\n1: mov %rax,%rbx\nnop\ndec %eax\njnz 1b\nret\n");
FUNCTION("fixture_late", "mov %rdi,%rbx\nxor %eax,%eax\nnop\nret\n");
FUNCTION("fixture_branch", "test %rdi,%rdi\njz 1f\nnop\n1: ret\n");
FUNCTION("fixture_bad", "mov $1,%esi\ncall fixture_leaf\n.byte 0x06\ncall fixture_leaf\nret\n");

/* What <sys/sdt.h> would leave: a site, a semaphore, and the anchor of .stapsdt.base. */
__asm__(".pushsection .rodata\n.globl fixture_text\n.hidden fixture_text\n"
	"fixture_text: .asciz \"start\"\n.popsection\n"
	".pushsection .data\nfixture_semaphore: .2byte 0\n.popsection\n"
	".pushsection .text\nfixture_site: nop\nret\n.popsection\n"
	".pushsection .stapsdt.base,\"a\",@progbits\nfixture_base: .space 1\n.popsection\n");
#define NOTE(owner, site, semaphore, name)                                                         \
	__asm__(".pushsection .note.stapsdt,\"\",@note\n.balign 4\n"                               \
		".4byte 2f-1f, 4f-3f, 3\n1: .asciz \"" owner "\"\n2: .balign 4\n"                  \
		"3: .8byte " site ", fixture_base, " semaphore "\n"                                \
		".asciz \"gctrace\"\n.asciz \"" name "\"\n.asciz \"-4@%edi\"\n4: .balign 4\n"      \
		".popsection\n")
NOTE("stapsdt", "fixture_site", "fixture_semaphore", "fixture");
NOTE("stapsdt", "fixture_site", "0", "fixture");
NOTE("stapsdt", "fixture_text", "0", "fixture");		  /* not code */
NOTE("stapsdt", "fixture_site", "0x7000000000000000", "fixture"); /* outside the file */
NOTE("another", "fixture_site", "0", "fixture");
NOTE("stapsdt", "fixture_site", "0", "other");

extern char **environ;

/* This program's file, read once; the tests patch copies. */
static uint8_t *self;
static size_t self_size;

static struct elf_file *open_bytes(const void *bytes, size_t size)
{
	struct elf_file *file = NULL;

	assert_int_equal(elf_file_open_memory(bytes, size, "copy", &file, NULL), 0);
	return file;
}

static uint64_t vaddr_of(const struct elf_file *file, const char *name)
{
	struct elf_symbol symbol = {};

	assert_int_equal(elf_file_symbol(file, name, true, &symbol), 0);
	return symbol.vaddr;
}

/* The section header called @name inside a copy, to be patched. */
static Elf64_Shdr *section_of(uint8_t *bytes, const char *name)
{
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Shdr *sections = (void *)(bytes + header->e_shoff);
	const char *names = (char *)bytes + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	fail_msg("no section %s", name);
	return NULL;
}

static uint8_t *copy_self(void)
{
	uint8_t *copy = malloc(self_size);

	assert_non_null(copy);
	return memcpy(copy, self, self_size);
}

static int count_symbol(const struct elf_symbol *symbol, void *arg)
{
	size_t *count = arg;

	assert_true(strlen(symbol->name) > 0);
	return ++*count == 23 ? 23 : 0;
}

/* Calls every function on a file, for files of which nothing may be assumed. */
static void exercise(const struct elf_file *file)
{
	struct elf_usdt probes[2];
	struct elf_call calls[8];
	struct elf_symbol symbol;
	enum elf_step step;
	uint64_t start, end, site;
	uint8_t id[64];
	char text[32];

	elf_file_build_id(file, id, sizeof(id));
	elf_usdt_find(file, "gctrace", "fixture", probes, 2);
	elf_file_has_symtab(file);
	if (!elf_file_symbol(file, "fixture_calls", true, &symbol)) {
		elf_code_mnemonic(file, symbol.vaddr, text, sizeof(text));
		elf_code_probe_site(file, symbol.vaddr, &site, &step);
		if (!elf_code_bounds(file, symbol.vaddr, &start, &end))
			elf_code_calls(file, start, end, calls, ARRAY_SIZE(calls));
	}
	elf_file_symbol(file, "no such symbol", true, &symbol);
}

static void test_symbols(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	struct elf_symbol symbol = {.vaddr = 23};
	size_t count = 0;
	char found[6];

	assert_string_equal(elf_file_name(file), "copy");
	assert_true(elf_file_has_symtab(file));
	assert_int_equal(elf_file_symbols(file, true, count_symbol, &count), 23);
	assert_int_equal(count, 23);
	assert_int_equal(elf_file_symbol(file, "fixture_call", true, &symbol), -ENOENT);
	/* Hidden: not in .dynsym. */
	assert_int_equal(elf_file_symbol(file, "fixture_calls", false, &symbol), -ENOENT);
	assert_int_equal(symbol.vaddr, 23);
	assert_int_equal(elf_file_symbol(file, "fixture_push", true, &symbol), 0);
	assert_true(symbol.function && !symbol.dynamic);
	assert_int_equal(symbol.size, 5);
	assert_int_equal(elf_file_symbol(file, "fixture_text", true, &symbol), 0);
	assert_false(symbol.function);
	assert_int_equal(elf_file_read(file, symbol.vaddr, found, sizeof(found)), 0);
	assert_string_equal(found, "start");
}

static void test_addresses(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	uint64_t vaddr = vaddr_of(file, "fixture_endbr"), offset, back;
	const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[4];

	assert_int_equal(elf_file_offset(file, vaddr, &offset), 0);
	assert_memory_equal(self + offset, endbr64, sizeof(endbr64));
	assert_int_equal(elf_file_vaddr(file, offset, &back), 0);
	assert_int_equal(back, vaddr);
	assert_int_equal(elf_file_read(file, vaddr, code, sizeof(code)), 0);
	assert_memory_equal(code, endbr64, sizeof(endbr64));
	/* Data has an offset, but an offset of data has no code address. */
	assert_int_equal(elf_file_offset(file, vaddr_of(file, "fixture_text"), &offset), 0);
	assert_int_equal(elf_file_vaddr(file, offset, &back), -ENOENT);
	assert_int_equal(elf_file_offset(file, UINT64_MAX, &offset), -ENOENT);
	assert_int_equal(elf_file_vaddr(file, self_size, &offset), -ENOENT);
	assert_int_equal(elf_file_read(file, UINT64_MAX - 1, code, 4), -EFAULT);
	assert_int_equal(elf_file_read(file, vaddr, code, SIZE_MAX), -EFAULT);
}

static void test_bounds(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	_cleanup_free_ uint8_t *copy = copy_self();
	struct elf_symbol symbol;
	uint64_t start, end;

	assert_int_equal(elf_file_symbol(file, "fixture_calls", true, &symbol), 0);
	for (uint64_t at = symbol.vaddr; at < symbol.vaddr + symbol.size; at++) {
		assert_int_equal(elf_code_bounds(file, at, &start, &end), 0);
		assert_int_equal(start, symbol.vaddr);
		assert_int_equal(end, symbol.vaddr + symbol.size);
	}
	assert_int_equal(elf_code_bounds(file, 0, &start, &end), -ENOENT);
	assert_int_equal(elf_code_bounds(file, UINT64_MAX, &start, &end), -ENOENT);
	assert_int_equal(elf_code_bounds(file, vaddr_of(file, "fixture_text"), &start, &end),
		-ENOENT);
	/* Without sections, as after a thorough strip, the segments still lead there. */
	((Elf64_Ehdr *)(void *)copy)->e_shoff = 0;
	elf_file_free(steal_ptr(file));
	file = open_bytes(copy, self_size);
	assert_false(elf_file_has_symtab(file));
	assert_int_equal(elf_code_bounds(file, symbol.vaddr + 1, &start, &end), 0);
	assert_int_equal(start, symbol.vaddr);
}

#define UNKNOWN UINT64_MAX
#define STACK	(UINT64_MAX - 1)

static uint64_t argument(const struct elf_call *call, int index)
{
	switch (call->arguments[index].kind) {
	case ELF_VALUE_CONSTANT:
		return call->arguments[index].value;
	case ELF_VALUE_STACK:
		return STACK;
	case ELF_VALUE_UNKNOWN:
		break;
	}
	return UNKNOWN;
}

static void check_call(const struct elf_call *call, uint64_t target, uint64_t rsi, uint64_t rdx)
{
	assert_int_equal(call->target, target);
	assert_int_equal(argument(call, 1), rsi);
	assert_int_equal(argument(call, 2), rdx);
}

static void test_calls(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	uint64_t leaf = vaddr_of(file, "fixture_leaf"), push = vaddr_of(file, "fixture_push");
	struct elf_call calls[11];
	uint64_t start, end;

	assert_int_equal(elf_code_bounds(file, vaddr_of(file, "fixture_calls"), &start, &end), 0);
	assert_int_equal(elf_code_calls(file, start, end, calls, ARRAY_SIZE(calls)), 7);
	check_call(&calls[0], leaf, 2, 3);
	assert_int_equal(calls[0].vaddr, start + 14);
	check_call(&calls[1], leaf, UNKNOWN, UNKNOWN);
	check_call(&calls[2], leaf, 0, 7);
	check_call(&calls[3], leaf, UNKNOWN, UNKNOWN);
	check_call(&calls[4], push, vaddr_of(file, "fixture_text"), UNKNOWN);
	check_call(&calls[5], push, UNKNOWN, UNKNOWN);
	assert_false(calls[5].jump);
	check_call(&calls[6], leaf, 11, UNKNOWN);
	assert_true(calls[6].jump);
	assert_int_equal(elf_code_calls(file, start, end, calls, 3), 3);
	assert_int_equal(elf_code_calls(file, end, start, calls, 3), -EFAULT);
	assert_int_equal(elf_code_calls(file, 1ull << 60, 2ull << 60, calls, 3), -EFAULT);
	assert_int_equal(elf_code_bounds(file, vaddr_of(file, "fixture_stack"), &start, &end), 0);
	assert_int_equal(elf_code_calls(file, start, end, calls, ARRAY_SIZE(calls)), 3);
	check_call(&calls[0], leaf, UNKNOWN, STACK);
	assert_int_equal(argument(&calls[0], 3), STACK);
	assert_int_equal(argument(&calls[0], 4), 0);
	assert_int_equal(argument(&calls[0], 5), UNKNOWN);
	check_call(&calls[1], leaf, STACK, STACK);
	check_call(&calls[2], leaf, UNKNOWN, UINT64_MAX - 22);
	/* 0x06 is not an instruction in 64-bit mode: what follows is not trusted. */
	assert_int_equal(elf_code_bounds(file, vaddr_of(file, "fixture_bad"), &start, &end), 0);
	assert_int_equal(elf_code_calls(file, start, end, calls, ARRAY_SIZE(calls)), 1);
}

extern void fixture_inner(void);

/* As CPython's PyMethodDef. */
static const struct {
	const char *name;
	void (*function)(void);
	int flags;
	const char *text;
} methods[] __attribute__((used)) = {{"other", NULL, 0, ""}, {"collect", fixture_inner, 0, ""}};

static void test_callers(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	uint64_t inner = vaddr_of(file, "fixture_inner"), outer = vaddr_of(file, "fixture_outer");
	uint64_t returns[4], frame = 0;

	assert_int_equal(elf_code_callers(file, inner, returns, ARRAY_SIZE(returns)), 3);
	assert_int_equal(returns[0], outer + 13);
	assert_int_equal(elf_code_callers(file, inner, returns, 2), 2);
	assert_int_equal(elf_code_callers(file, outer, returns, 2), 0);
	assert_int_equal(elf_code_frame(file, outer, &frame), 0);
	assert_int_equal(frame, 8);
	assert_int_equal(elf_code_callers(file, inner, returns, ARRAY_SIZE(returns)), 3);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(elf_code_frame(file, returns[i] - 1, &frame), 0);
		assert_int_equal(frame, 304);
	}
	assert_int_equal(elf_code_frame(file, returns[2] - 1, &frame), -ENOENT);
	assert_int_equal(elf_code_frame(file, 1ull << 60, &frame), -ENOENT);
	assert_ptr_equal(methods[1].function, fixture_inner);
	assert_true(elf_code_is_method(file, inner, "collect"));
	assert_false(elf_code_is_method(file, inner, "other"));
	assert_false(elf_code_is_method(file, outer, "collect"));
}

static void test_probe_site(void **state)
{
	static const struct {
		const char *function;
		unsigned int skip;
		enum elf_step step;
		const char *mnemonic;
	} cases[] = {
		{"fixture_push", 0, ELF_STEP_EMULATED, "push"},
		{"fixture_endbr", 4, ELF_STEP_EMULATED, "push"},
		{"fixture_frame", 0, ELF_STEP_SINGLE, "endbr64"},
		{"fixture_argument", 0, ELF_STEP_SINGLE, "endbr64"},
		{"fixture_loop", 0, ELF_STEP_SINGLE, "endbr64"},
		{"fixture_late", 5, ELF_STEP_EMULATED, "nop"},
		{"fixture_branch", 3, ELF_STEP_EMULATED, "je"},
		{"fixture_leaf", 0, ELF_STEP_SINGLE, "ret"},
	};
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	enum elf_step step;
	uint64_t vaddr, site;
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		vaddr = vaddr_of(file, cases[i].function);
		assert_int_equal(elf_code_probe_site(file, vaddr, &site, &step), 0);
		assert_int_equal(site - vaddr, cases[i].skip);
		assert_int_equal(step, cases[i].step);
		assert_string_equal(elf_code_mnemonic(file, site, text, sizeof(text)),
			cases[i].mnemonic);
	}
	assert_int_equal(elf_code_probe_site(file, 1ull << 60, &site, &step), -EFAULT);
	assert_string_equal(elf_code_mnemonic(file, 1ull << 60, text, sizeof(text)), "?");
}

static void test_usdt(void **state)
{
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	_cleanup_free_ uint8_t *copy = copy_self();
	uint64_t site = vaddr_of(file, "fixture_site");
	uint64_t semaphore = vaddr_of(file, "fixture_semaphore");
	struct elf_usdt found[7];

	assert_int_equal(elf_usdt_find(file, "gctrace", "fixture", found, ARRAY_SIZE(found)), 2);
	assert_int_equal(found[0].vaddr, site);
	assert_int_equal(found[0].semaphore, semaphore);
	assert_int_equal(found[1].semaphore, 0);
	assert_string_equal(found[0].provider, "gctrace");
	assert_string_equal(found[0].name, "fixture");
	assert_string_equal(found[0].args, "-4@%edi");
	assert_int_equal(elf_usdt_find(file, "gctrace", "fixture", found, 0), 2);
	assert_int_equal(elf_usdt_find(file, "gctrace", "other", found, 1), 1);
	assert_int_equal(elf_usdt_find(file, "gctrace", "fixtur", found, 1), 0);
	elf_file_free(steal_ptr(file));

	/* Prelink moved the anchor by one: so did the site and the semaphore. */
	section_of(copy, ".stapsdt.base")->sh_addr++;
	file = open_bytes(copy, self_size);
	assert_int_equal(elf_usdt_find(file, "gctrace", "fixture", found, ARRAY_SIZE(found)), 2);
	assert_int_equal(found[0].vaddr, site + 1);
	assert_int_equal(found[0].semaphore, semaphore + 1);
	elf_file_free(steal_ptr(file));

	/* The last note, "other", runs out of a section that is one byte too short for its text. */
	section_of(copy, ".note.stapsdt")->sh_size -= 12;
	file = open_bytes(copy, self_size);
	assert_int_equal(elf_usdt_find(file, "gctrace", "other", found, 1), 0);
	assert_int_equal(elf_usdt_find(file, "gctrace", "fixture", found, 1), 2);
}

static void check_refused(const uint8_t *bytes, size_t size, const char *sentence)
{
	struct elf_file *file = NULL;
	struct err err = {};

	assert_int_equal(elf_file_open_memory(bytes, size, "the file", &file, &err), -ENOEXEC);
	assert_null(file);
	assert_true(strstr(err.text, "the file is ") == err.text);
	if (!strstr(err.text, sentence))
		fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
}

static void test_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *sentence;
	} cases[] = {
		{0, 'x', "not an ELF file"},
		{EI_DATA, ELFDATA2MSB, "big-endian"},
		{EI_CLASS, ELFCLASS32, "a 32-bit program"},
		{EI_CLASS, 7, "corrupt"},
		{offsetof(Elf64_Ehdr, e_machine), EM_PPC64, "built for POWER"},
		{offsetof(Elf64_Ehdr, e_machine), EM_RISCV, "built for RISC-V"},
		{offsetof(Elf64_Ehdr, e_machine), 11, "built for another architecture"},
		{offsetof(Elf64_Ehdr, e_type), ET_REL, "an object file"},
		{offsetof(Elf64_Ehdr, e_type), ET_CORE, "a core dump"},
		{offsetof(Elf64_Ehdr, e_type), ET_NONE, "corrupt"},
		{offsetof(Elf64_Ehdr, e_phentsize), 55, "corrupt"},
		{offsetof(Elf64_Ehdr, e_phnum) + 1, 0xff, "corrupt"},
		{offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff, "corrupt"},
	};
	_cleanup_free_ uint8_t *copy = copy_self();
	struct elf_file *file = NULL;
	struct err err = {};
	int pipes[2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		copy[cases[i].at] = cases[i].value;
		check_refused(copy, self_size, cases[i].sentence);
		copy[cases[i].at] = self[cases[i].at];
	}
	check_refused(self, 3, "not an ELF file");
	check_refused(self, sizeof(Elf64_Ehdr) - 1, "corrupt");
	check_refused((const uint8_t *)"#!/bin/sh\nexit 0\n   ", 20, "not an ELF file");
	assert_int_equal(pipe(pipes), 0);
	close(pipes[1]);
	assert_int_equal(elf_file_open(pipes[0], "a pipe", &file, &err), -ENOEXEC);
	assert_int_equal(fcntl(pipes[0], F_GETFD), -1); /* taken over on failure too */
	assert_int_equal(elf_file_open(-1, "nothing", &file, &err), -EBADF);
	elf_file_free(NULL);
}

/* Segments that claim more than the file has end where it ends. */
static void test_segments_too_long(void **state)
{
	_cleanup_elf_ struct elf_file *file = NULL;
	_cleanup_free_ uint8_t *copy = copy_self();
	Elf64_Ehdr *header = (void *)copy;
	Elf64_Phdr *segments = (void *)(copy + header->e_phoff), *last = NULL;
	uint64_t offset;
	uint8_t byte;

	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		last = &segments[i];
		last->p_filesz = UINT64_MAX / 2;
	}
	assert_non_null(last);
	offset = self_size - last->p_offset;
	file = open_bytes(copy, self_size);
	assert_int_equal(elf_file_read(file, last->p_vaddr + offset - 1, &byte, 1), 0);
	assert_int_equal(elf_file_read(file, last->p_vaddr + offset, &byte, 1), -EFAULT);
	assert_int_equal(elf_file_read(file, last->p_vaddr + offset - 1, &byte, 2), -EFAULT);
	assert_int_equal(elf_file_offset(file, last->p_vaddr + offset, &offset), -ENOENT);
}

static int count_all(const struct elf_symbol *symbol, void *arg)
{
	++*(size_t *)arg;
	return 0;
}

/* All symbols share one name as long as the table: the scan gives up, or would take its square. */
static void test_shared_name(void **state)
{
	_cleanup_elf_ struct elf_file *file = NULL;
	_cleanup_free_ uint8_t *copy = copy_self();
	Elf64_Shdr *strings = section_of(copy, ".strtab"), *table = section_of(copy, ".symtab");
	Elf64_Sym *symbols = (void *)(copy + table->sh_offset);
	size_t count = 0, dynamic = 0;

	memset(copy + strings->sh_offset + 1, 'a', strings->sh_size - 2);
	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
		symbols[i].st_name = 1;
	file = open_bytes(copy, self_size);
	elf_file_symbols(file, false, count_all, &dynamic);
	elf_file_symbols(file, true, count_all, &count);
	assert_int_equal(count - dynamic, 8);
}

/* Every prefix of the file, in its own allocation so that ASan sees the first byte too many. */
static void test_truncated(void **state)
{
	size_t opened = 0;

	for (size_t size = 1; size < self_size; size += size < 4096 ? 7 : 1499) {
		_cleanup_elf_ struct elf_file *file = NULL;
		_cleanup_free_ uint8_t *copy = malloc(size);

		assert_non_null(copy);
		memcpy(copy, self, size);
		if (elf_file_open_memory(copy, size, "cut", &file, NULL))
			continue;
		opened++;
		exercise(file);
	}
	assert_true(opened > 23);
}

/* Another process truncates the file while it is mapped: it reads zeros and survives. */
static void test_shrinking(void **state)
{
	_cleanup_elf_ struct elf_file *file = NULL;
	int fd = memfd_create("shrinking", MFD_CLOEXEC), copy;
	struct elf_symbol symbol;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, self, self_size), self_size);
	copy = dup(fd);
	assert_int_equal(elf_file_open(fd, "shrinking", &file, NULL), 0);
	assert_int_equal(elf_file_symbol(file, "fixture_calls", true, &symbol), 0);
	assert_int_equal(ftruncate(copy, 4096), 0);
	close(copy);
	exercise(file);
	assert_int_equal(elf_file_symbol(file, "fixture_calls", true, &symbol), -ENOENT);
}

static int run(const char *const argv[])
{
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ))
		return -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_debug(const char *root, const char *path, bool expected)
{
	_cleanup_elf_ struct elf_file *file = NULL, *debug = NULL;
	struct elf_symbol symbol;
	struct err err = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC), result;

	assert_int_equal(elf_file_open(fd, path, &file, NULL), 0);
	assert_false(elf_file_has_symtab(file));
	result = elf_file_open_debug(file, root, path, &debug, &err);
	assert_int_equal(result, expected ? 0 : -ENOENT);
	if (!expected) {
		assert_non_null(strstr(err.text, "debug symbols"));
		return;
	}
	assert_int_equal(elf_file_symbol(debug, "fixture_endbr", true, &symbol), 0);
	assert_int_equal(elf_code_probe_site(file, symbol.vaddr, &symbol.vaddr,
				 &(enum elf_step){0}),
		0);
}

/* Splits this program with objcopy into @root/opt/it and @root/opt/it.debug. */
static bool split(const char *root, bool keep_build_id)
{
	char program[PATH_MAX], debug[PATH_MAX], link[PATH_MAX];
	const char *const extract[] = {
		"objcopy", "--only-keep-debug", "/proc/self/exe", debug, NULL};
	const char *const strip[] = {"objcopy", "--strip-all", link,
		keep_build_id ? "--remove-section=.none" : "--remove-section=.note.gnu.build-id",
		"/proc/self/exe", program, NULL};
	char self_path[PATH_MAX] = "";

	/* /proc/self in a child is the child. */
	if (readlink("/proc/self/exe", self_path, sizeof(self_path) - 1) < 0)
		return false;
	snprintf(program, sizeof(program), "%s/opt/it", root);
	snprintf(debug, sizeof(debug), "%s/opt/it.debug", root);
	snprintf(link, sizeof(link), "--add-gnu-debuglink=%s", debug);
	((const char **)extract)[2] = self_path;
	((const char **)strip)[4] = self_path;
	return !run(extract) && !run(strip);
}

static void move(const char *root, const char *from, const char *to)
{
	char old[PATH_MAX], new[PATH_MAX];

	snprintf(old, sizeof(old), "%s%s", root, from);
	snprintf(new, sizeof(new), "%s%s", root, to);
	assert_int_equal(rename(old, new), 0);
}

static void make(const char *root, const char *directory)
{
	char path[PATH_MAX];
	const char *const argv[] = {"mkdir", "-p", path, NULL};

	snprintf(path, sizeof(path), "%s%s", root, directory);
	assert_int_equal(run(argv), 0);
}

static void check_link(const char *root, const char *program)
{
	char path[PATH_MAX];
	int fd;

	check_debug(root, program, true);
	/* The path may come with the root before it or without. */
	make(root, "/opt/.debug");
	make(root, "/usr/lib/debug/opt");
	move(root, "/opt/it.debug", "/opt/.debug/it.debug");
	check_debug(root, program, true);
	move(root, "/opt/.debug/it.debug", "/usr/lib/debug/opt/it.debug");
	check_debug(root, program, true);
	/* One byte more, and the checksum is another. */
	snprintf(path, sizeof(path), "%s/usr/lib/debug/opt/it.debug", root);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "", 1), 1);
	close(fd);
	check_debug(root, program, false);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	check_debug(root, program, false);
	assert_int_equal(unlink(path), 0);
}

/* Whether it has one. */
static bool check_build_id(const char *root, const char *program)
{
	char path[PATH_MAX], hex[41] = "";
	_cleanup_elf_ struct elf_file *file = open_bytes(self, self_size);
	uint8_t id[32];
	size_t len = elf_file_build_id(file, id, sizeof(id));

	if (!len)
		return false;
	assert_int_equal(len, 20);
	assert_int_equal(elf_file_build_id(file, id, 3), 3);
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s", hex);
	make(root, path);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	move(root, "/opt/it.debug", path);
	check_debug(root, program, true);
	return true;
}

/* @link, below @root, leads to @target, which its reader looks for below @root as well. */
static void check_absolute(const char *root, const char *program)
{
	char link[PATH_MAX], target[PATH_MAX];

	make(root, "/elsewhere");
	move(root, "/usr/lib/debug/.build-id", "/elsewhere/by-id");
	snprintf(link, sizeof(link), "%s/usr/lib/debug/.build-id", root);
	assert_int_equal(symlink("/elsewhere/by-id", link), 0);
	check_debug(root, program, true);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../../../../../../../elsewhere/by-id", link), 0);
	check_debug(root, program, true);
	assert_int_equal(unlink(link), 0);
	/* There is such a file, outside. */
	snprintf(target, sizeof(target), "%s/elsewhere/by-id", root);
	assert_int_equal(symlink(target, link), 0);
	check_debug(root, program, false);
}

static void test_debug_file(void **state)
{
	char root[] = "/tmp/gctrace-elf-XXXXXX", program[PATH_MAX];
	const char *const clean[] = {"rm", "-rf", root, NULL};
	bool ready;

	assert_non_null(mkdtemp(root));
	make(root, "/opt");
	snprintf(program, sizeof(program), "%s/opt/it", root);
	ready = split(root, false);
	if (ready) {
		check_link(root, program);
		assert_true(split(root, true));
		if (check_build_id(root, program))
			check_absolute(root, program);
	}
	run(clean);
	if (!ready) {
		print_message("no objcopy: debug files are not tested\n");
		skip();
	}
}

static int read_self(void **state)
{
	struct stat info;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info))
		return -1;
	self_size = (size_t)info.st_size;
	self = malloc(self_size);
	if (!self || read(fd, self, self_size) != info.st_size)
		return -1;
	close(fd);
	return 0;
}

static int free_self(void **state)
{
	free(self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_probe_site),
		cmocka_unit_test(test_usdt),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_segments_too_long),
		cmocka_unit_test(test_shared_name),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_debug_file),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, read_self, free_self);
}
