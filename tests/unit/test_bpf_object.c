/*
 * The BPF object, not loaded: no program calls what Linux 5.15 does not have, no map is of a kind
 * that it does not know or allocates memory where a uprobe or a watchpoint may not.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <libelf.h>

#include "cleanup.h"
#include "gctrace.skel.h"
#include "trace_runtime.h"

/*
 * The last of each in include/uapi/linux/bpf.h of Linux 5.15: 5.16 has bpf_get_branch_snapshot()
 * and BPF_MAP_TYPE_BLOOM_FILTER next.
 */
#define LAST_HELPER BPF_FUNC_task_pt_regs
#define LAST_MAP    BPF_MAP_TYPE_TASK_STORAGE

_Static_assert(BPF_FUNC_task_pt_regs == 175 && BPF_MAP_TYPE_TASK_STORAGE == 29, "as in 5.15");

/* What came with -mcpu=v4, in Linux 6.6, and later. */
#define INSN_MEMSX 0x80 /* mode of a load that extends the sign */
#define INSN_JCOND 0xe0 /* may_goto */

struct object {
	Elf *elf;
	size_t names; /* section index */
	Elf_Data *symbols;
	size_t symbol_names;
};

static void open_object(struct object *ret)
{
	size_t size;
	const void *bytes = gctrace_bpf__elf_bytes(&size);
	Elf_Scn *section = NULL;

	elf_version(EV_CURRENT);
	ret->elf = elf_memory((char *)(uintptr_t)bytes, size);
	assert_non_null(ret->elf);
	assert_int_equal(elf_getshdrstrndx(ret->elf, &ret->names), 0);
	while ((section = elf_nextscn(ret->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);

		if (header->sh_type != SHT_SYMTAB)
			continue;
		ret->symbols = elf_getdata(section, NULL);
		ret->symbol_names = header->sh_link;
	}
	assert_non_null(ret->symbols);
}

static const Elf64_Sym *symbol(const struct object *object, size_t i)
{
	size_t count = object->symbols->d_size / sizeof(Elf64_Sym);

	return i < count ? (const Elf64_Sym *)object->symbols->d_buf + i : NULL;
}

static const char *symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
	return elf_strptr(object->elf, object->symbol_names, symbol->st_name);
}

/* The function that holds byte @offset of a section. */
static const char *function_at(const struct object *object, size_t section, size_t offset)
{
	const Elf64_Sym *it;

	for (size_t i = 1; (it = symbol(object, i)); i++)
		if (ELF64_ST_TYPE(it->st_info) == STT_FUNC && it->st_shndx == section &&
			offset - it->st_value < it->st_size)
			return symbol_name(object, it);
	return "code without a name"; /* the second copy of a weak function: the linker leaves it */
}

typedef void (*check_insn)(const char *function, const struct bpf_insn *insn);

/* Calls @check with every instruction of every program and subprogram. */
static void each_insn(check_insn check)
{
	struct object object = {};
	Elf_Scn *section = NULL;
	size_t total = 0;

	open_object(&object);
	while ((section = elf_nextscn(object.elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const Elf_Data *data = elf_getdata(section, NULL);
		const struct bpf_insn *insns = data ? data->d_buf : NULL;

		if (header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_EXECINSTR))
			continue;
		for (size_t i = 0; i < header->sh_size / sizeof(*insns); i++) {
			check(function_at(&object, elf_ndxscn(section), i * sizeof(*insns)),
				&insns[i]);
			/* the second half of a constant of 64 bits is no instruction */
			i += insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
			total++;
		}
	}
	assert_true(total > 1000);
	elf_end(object.elf);
}

/* A call of one of the kernel's helpers: its number, else 0. */
static int helper(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg ? insn->imm : 0;
}

static void check_helper(const char *function, const struct bpf_insn *insn)
{
	if (helper(insn) > LAST_HELPER)
		fail_msg("%s calls helper %d, which is newer than Linux 5.15", function,
			helper(insn));
	if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_KFUNC_CALL)
		fail_msg("%s calls a function of the kernel", function);
}

static void helpers_are_those_of_5_15(void **state)
{
	each_insn(check_helper);
}

static void check_func_ip(const char *function, const struct bpf_insn *insn)
{
	static const char suffix[] = "_session";
	const char *end = strstr(function, suffix);

	if (helper(insn) == BPF_FUNC_get_func_ip && (!end || strcmp(end, suffix) != 0))
		fail_msg("%s calls bpf_get_func_ip(), which tells nothing at a uprobe before 6.6",
			function);
}

static void only_sessions_ask_for_the_function(void **state)
{
	each_insn(check_func_ip);
}

static void check_code(const char *function, const struct bpf_insn *insn)
{
	unsigned int class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	bool alu = class == BPF_ALU || class == BPF_ALU64;

	if ((class == BPF_LDX && BPF_MODE(insn->code) == INSN_MEMSX) ||	  /* loads with a sign */
		(alu && op == BPF_MOV && insn->off) ||			  /* moves with a sign */
		(alu && (op == BPF_DIV || op == BPF_MOD) && insn->off) || /* signed division */
		(class == BPF_ALU64 && op == BPF_END) ||		  /* bswap */
		(class == BPF_JMP32 && op == BPF_JA) ||			  /* gotol */
		((class == BPF_JMP || class == BPF_JMP32) && op == INSN_JCOND))
		fail_msg("%s has an instruction of code %#x, which is newer than Linux 5.15",
			function, insn->code);
}

static void instructions_are_those_of_5_15(void **state)
{
	each_insn(check_code);
}

/* What is the kernel's, its functions and its configuration, are symbols without a place. */
static void nothing_is_taken_from_the_kernel(void **state)
{
	struct object object = {};
	const Elf64_Sym *it;

	open_object(&object);
	for (size_t i = 1; (it = symbol(&object, i)); i++)
		if (it->st_shndx == SHN_UNDEF)
			fail_msg("%s is not defined in the object", symbol_name(&object, it));
	elf_end(object.elf);
}

static void maps_are_those_of_5_15(void **state)
{
	struct gctrace_bpf *bpf = gctrace_bpf__open();
	const struct bpf_map *map;
	size_t count = 0;

	assert_non_null(bpf);
	bpf_object__for_each_map(map, bpf->obj) {
		enum bpf_map_type type = bpf_map__type(map);
		bool on_demand = bpf_map__map_flags(map) & BPF_F_NO_PREALLOC;

		if (type > LAST_MAP)
			fail_msg("map %s is of type %d, which is newer than Linux 5.15",
				bpf_map__name(map), type);
		/* Kernels before 6.1 refuse others to programs of perf events. */
		if (on_demand != (type == BPF_MAP_TYPE_TASK_STORAGE))
			fail_msg("map %s of type %d is%s allocated in full", bpf_map__name(map),
				type, on_demand ? " not" : "");
		count++;
	}
	assert_true(count > 5);
	gctrace_bpf__destroy(bpf);
}

static void each_program_has_its_type(void **state)
{
	struct gctrace_bpf *bpf = gctrace_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bpf_object__for_each_program(program, bpf->obj) {
		enum bpf_prog_type type = bpf_program__type(program);

		if (type != BPF_PROG_TYPE_KPROBE && type != BPF_PROG_TYPE_TRACING &&
			type != BPF_PROG_TYPE_PERF_EVENT)
			fail_msg("program %s is of type %d", bpf_program__name(program), type);
	}
	gctrace_bpf__destroy(bpf);
}

static bool has_tail_call(const struct bpf_program *program)
{
	const struct bpf_insn *insns = bpf_program__insns(program);

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
		if (helper(&insns[i]) == BPF_FUNC_tail_call)
			return true;
	return false;
}

/* OWN_STACK(): without it runs of one program share a stack from Linux 6.13 on, of which it dies. 1: a uprobe's. */
static size_t check_stack(const struct gctrace_bpf *bpf, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(bpf->obj, name);

	assert_non_null(program);
	if (bpf_program__type(program) != BPF_PROG_TYPE_KPROBE)
		return 0;
	if (!has_tail_call(program))
		fail_msg("program %s lacks OWN_STACK()", name);
	return 1;
}

/* Those of no runtime and those that this build's runtimes list are all there are. */
static void each_uprobe_keeps_its_stack(void **state)
{
	static const char *const general[] = {"on_step", "on_wait_call", "on_wait_return",
		"on_receive", "on_received", "on_received_here", "on_send", "on_accepted",
		"on_encrypted", "on_maps_changed", "on_gpu", "on_driver_launch", "on_driver_call",
		"on_driver_return"};
	struct gctrace_bpf *bpf = gctrace_bpf__open();
	struct bpf_program *program;
	size_t uprobes = 0, checked = 0;

	assert_non_null(bpf);
	for (size_t i = 0; i < ARRAY_SIZE(general); i++)
		checked += check_stack(bpf, general[i]);
	assert_int_equal(checked, ARRAY_SIZE(general));
	for (size_t i = 0; probe_runtimes[i]; i++) {
		const struct capture_program *own = probe_runtimes[i]->capture->programs;
		size_t before = checked;

		for (; own->name; own++)
			checked += check_stack(bpf, own->name);
		assert_true(checked > before); /* no runtime is traced without one */
	}
	bpf_object__for_each_program(program, bpf->obj)
		uprobes += bpf_program__type(program) == BPF_PROG_TYPE_KPROBE;
	assert_int_equal(checked, uprobes);
	gctrace_bpf__destroy(bpf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(helpers_are_those_of_5_15),
		cmocka_unit_test(only_sessions_ask_for_the_function),
		cmocka_unit_test(instructions_are_those_of_5_15),
		cmocka_unit_test(nothing_is_taken_from_the_kernel),
		cmocka_unit_test(maps_are_those_of_5_15),
		cmocka_unit_test(each_program_has_its_type),
		cmocka_unit_test(each_uprobe_keeps_its_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
