/* A copy of a stack → return addresses, by the rules of .eh_frame, each looked up once. */
#include <errno.h>
#include <string.h>

#include "jit_code.h"
#include "julia_stack_priv.h"
#include "julia_unwind.h"
#include "mem.h"

#define RULES_MOST (1u << 18) /* that are remembered: 80 bytes each */

/* What is known of the frame under way. */
struct frame_state {
	const struct julia_snapshot *snapshot;
	uint64_t ip, registers[ELF_REGISTERS];
};

/* 0 or -errno, as elf_rules_find(); -EAGAIN: the code is not known yet. */
static int find_rule(struct julia_stacks *stacks, uint64_t address, struct elf_rule *ret)
{
	const struct proc_map *map = code_files_map(&stacks->files, address);
	struct code_file *file;
	uint64_t vaddr;
	int r;

	if (!map) {
		r = jit_code_rule(stacks->jit, address, ret);
		if (r == -ENOENT && jit_code_look(stacks->jit, now_ns()))
			r = jit_code_rule(stacks->jit, address, ret);
		if (r != -ENOENT)
			return r;
		code_files_refresh(&stacks->files);
		map = code_files_map(&stacks->files, address);
		if (!map)
			return -EAGAIN;
	}
	file = code_files_open(&stacks->files, map);
	if (!file || !file->elf ||
		elf_file_vaddr(file->elf, address - map->start + map->offset, &vaddr) ||
		!code_file_rules(file))
		return -ENOENT;
	return elf_rules_find(file->rules, vaddr, ret);
}

static int known_rule(struct julia_stacks *stacks, uint64_t address, struct elf_rule *ret)
{
	const uint64_t *known = u64map_get(&stacks->ruled, address);
	struct known_rule *slot;
	int r;

	if (known) {
		*ret = stacks->rules.items[*known].rule;
		return stacks->rules.items[*known].result;
	}
	*ret = (struct elf_rule){};
	r = find_rule(stacks, address, ret);
	if (r == -EAGAIN || stacks->rules.count == RULES_MOST)
		return r;
	slot = vec_add(&stacks->rules);
	if (slot) {
		*slot = (struct known_rule){r, *ret};
		u64map_put(&stacks->ruled, address, stacks->rules.count - 1);
	}
	return r;
}

/* A word of the copy. */
static bool read_word(const struct julia_snapshot *snapshot, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - snapshot->registers[ELF_RSP];

	if (address < snapshot->registers[ELF_RSP] || offset > snapshot->size ||
		snapshot->size - offset < sizeof(*ret))
		return false;
	memcpy(ret, snapshot->stack + offset, sizeof(*ret));
	return true;
}

/* push %rbp; mov %rsp, %rbp */
static struct elf_rule by_frame_pointer(void)
{
	struct elf_rule rule = {
		.frame_register = ELF_RBP, .frame_offset = 16, .saved = 1 << ELF_RBP};

	rule.at[ELF_RBP] = -16;
	return rule;
}

/* To the caller. False: it lies beyond the copy, or nowhere. */
static bool step(struct frame_state *frame, const struct elf_rule *rule, bool *ret_cut)
{
	const uint64_t top = frame->snapshot->registers[ELF_RSP] + frame->snapshot->size;
	uint64_t base =
		frame->registers[rule->frame_register] + (uint64_t)(int64_t)rule->frame_offset;

	if (base <= frame->registers[ELF_RSP])
		return false; /* stacks grow downwards */
	*ret_cut = base > top;
	if (!read_word(frame->snapshot, base - 8, &frame->ip))
		return false;
	for (int i = 0; i < ELF_REGISTERS; i++)
		if (rule->saved >> i & 1 &&
			!read_word(frame->snapshot, base + (uint64_t)(int64_t)rule->at[i],
				&frame->registers[i]))
			return false;
	frame->registers[ELF_RSP] = base;
	return frame->ip;
}

size_t julia_unwind(struct julia_stacks *stacks, const struct julia_snapshot *snapshot,
	uint64_t *ret, size_t max, bool *ret_cut)
{
	struct frame_state frame = {.snapshot = snapshot, .ip = snapshot->ip};
	struct elf_rule rule;
	size_t count = 0;
	int r;

	memcpy(frame.registers, snapshot->registers, sizeof(frame.registers));
	*ret_cut = false;
	while (count < max) {
		ret[count] = frame.ip;
		r = known_rule(stacks, frame.ip - (count > 0), &rule);
		count++;
		if (r == -EAGAIN && !jit_code_holds(stacks->jit, frame.ip))
			return count; /* no code at all: the stack is not as it seems */
		if (r)
			rule = by_frame_pointer();
		if (!step(&frame, &rule, ret_cut))
			return count;
	}
	*ret_cut = true;
	return count;
}
